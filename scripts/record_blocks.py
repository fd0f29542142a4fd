"""Record real texts of the embedded pair under assets/recorded/, for everything that works without a model.

Run again whenever the draft changes: ``python scripts/record_blocks.py``. Same weights and seeds give the same texts on
one machine.
"""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from specdec_core.decoding import assemble, decode  # noqa: E402
from specdec_core.models.pairs import load_pair  # noqa: E402
from specdec_core.trace import Settings, Trace, totals, trace_to_json  # noqa: E402

FOLDER = ROOT / "assets" / "recorded"

# Name, title, settings. Seeds are the first from 0 on that --find accepts: a text whose blocks show every outcome.
TEXTS: tuple[tuple[str, str, Settings], ...] = (
    ("1-story", "A story", Settings("Once upon a time, a small robot found", max_new_tokens=40)),
    ("2-fact", "A fact", Settings("The water cycle begins when", max_new_tokens=40)),
    ("3-list", "A recipe", Settings("To bake bread you need the following ingredients:\n\n1.", max_new_tokens=40)),
    ("4-letter", "A letter", Settings("Dear Anna,\n\nThank you for", max_new_tokens=40)),
    ("5-code", "A program", Settings("def fibonacci(n):\n", max_new_tokens=40)),
    (
        "6-cool",
        "Temperature 0.7",
        Settings("The best thing about living near the sea is", temperature=0.7, max_new_tokens=40),
    ),
    ("7-greedy", "Temperature 0", Settings("The capital of France is", temperature=0.0, max_new_tokens=32)),
    ("8-long", "Eight candidates", Settings("The teacher opened the door and", tau=8, max_new_tokens=48)),
    ("9-fixed", "Fixed threshold 0.5", Settings("The teacher opened the door and", rule="fixed", parameter=0.5)),
)


def shows_much(trace: Trace) -> bool:
    """Whether its blocks show a fall in the middle, one at the first token, and one where all stay."""
    full = [b for b in trace.blocks if b.tau == trace.settings.tau and not b.ends]
    kinds = {"all" if b.first_rejected is None else "first" if b.n_a == 0 else "middle" for b in full}
    return len(kinds) == 3


def record(name: str, title: str, settings: Settings, seeds: int) -> Trace:
    """The first seed whose text shows much; the last one tried when none does."""
    pair = load_pair("embedded")
    trace = None
    for seed in range(seeds):
        now = replace(settings, seed=seed)
        trace = assemble(pair, now, list(decode(pair, now)), title)
        if shows_much(trace):
            break
    assert trace is not None
    (FOLDER / f"{name}.json").write_text(trace_to_json(trace), encoding="utf-8")
    return trace


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=12, help="how many seeds to try per text")
    arguments = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, title, settings in TEXTS:
        trace = record(name, title, settings, arguments.seeds)
        t = totals(trace.blocks)
        figures = f"alpha {t.alpha:.2f}  tokens/block {t.tokens_per_block:.2f}"
        print(f"{name:10} seed {trace.settings.seed:2}  {figures}", flush=True)


if __name__ == "__main__":
    main()
