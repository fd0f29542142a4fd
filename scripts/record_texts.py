"""Continue one prompt many times under several rules with the embedded pair; what was measured goes to assets/texts.

    python -m scripts.record_texts                      # about a quarter of an hour on two free cores
    python -m scripts.record_texts --minutes 10         # stop in time and keep what there is

The same seeds serve all rules. What was done so far lies in build/texts; the next start goes on from there, unless
settings or weights have changed since. The first rule is the exact one: the others are compared with it.
"""

import argparse
import hashlib
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from specdec_core import textstudy
from specdec_core.acceptance import Rule
from specdec_core.bias import rule_label
from specdec_core.models import embedded
from specdec_core.models.pairs import load_pair
from specdec_core.texts import TextTally, continue_texts
from specdec_core.textstudy import TextRecord, study_to_bytes
from specdec_core.trace import Settings, to_plain

PROMPTS = {
    "story": "Once upon a time, there was a little fox who",
    "advice": "The most important thing to remember when you learn a new language is",
}
RULES = (Rule(), Rule("fixed", 0.5), Rule("lenient", 0.5), Rule("always"), Rule(correction="target"))
WORK = Path(__file__).resolve().parents[1] / "build" / "texts"
SAVE_EVERY = 120.0


def fingerprint(settings: Settings) -> str:
    """Changes with everything that changes the texts."""
    weights = embedded.draft_dir() / embedded.DRAFT_WEIGHTS
    parts = [json.dumps(to_plain(settings)), repr(RULES), hashlib.sha256(weights.read_bytes()).hexdigest()]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def save(path: Path, tally: TextTally, done: int) -> None:
    """Put the tally where the next start finds it; the name appears only when the file is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    records = json.dumps([[to_plain(x) for x in of_rule] for of_rule in tally.records])
    part = path.with_suffix(".part.npz")
    np.savez(part, laws=tally.laws, counts=tally.counts, records=np.array(records), done=np.array(done))
    part.replace(path)


def restore(path: Path, tally: TextTally) -> int:
    """How many seeds the tally has behind it, once it is filled from ``path``."""
    if not path.is_file():
        return 0
    with np.load(path, allow_pickle=False) as kept:
        tally.laws[...], tally.counts[...] = kept["laws"], kept["counts"]
        rows: list[list[dict[str, Any]]] = json.loads(str(kept["records"]))
        tally.records = [[_record(x) for x in of_rule] for of_rule in rows]
        return int(kept["done"])


def _record(row: dict[str, Any]) -> TextRecord:
    floats = {k: tuple(float(x) for x in row[k]) for k in ("log_p", "bias")}
    return TextRecord(**(row | floats | {"ids": tuple(row["ids"])}))


def fill(tally: TextTally, texts: int, deadline: float, path: Path) -> None:
    """Add texts until there are ``texts`` of each rule or the time is up, saving now and then."""
    done, saved = restore(path, tally), time.monotonic()
    if done:
        print(f"Going on after {done} texts of each rule.")
    for seed in range(done, texts):
        if time.monotonic() > deadline:
            break
        for _ in continue_texts(tally, [seed]):
            pass
        print(f"\r{seed + 1} of {texts} ", end="", flush=True)
        if time.monotonic() - saved > SAVE_EVERY:
            save(path, tally, seed + 1)
            saved = time.monotonic()
    save(path, tally, tally.complete)
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", choices=list(PROMPTS), default="story")
    parser.add_argument("--texts", type=int, default=160, help="texts per rule")
    parser.add_argument("--tokens", type=int, default=24)
    parser.add_argument("--tau", type=int, default=4)
    parser.add_argument("--minutes", type=float, default=60.0)
    given = parser.parse_args()
    deadline = time.monotonic() + 60 * given.minutes
    settings = Settings(PROMPTS[given.name], "embedded", tau=given.tau, max_new_tokens=given.tokens)
    tally = TextTally(load_pair("embedded"), settings, RULES)
    fill(tally, given.texts, deadline, WORK / f"{given.name}-{fingerprint(settings)}.npz")
    study = tally.study()
    textstudy.FOLDER.mkdir(parents=True, exist_ok=True)
    packed = study_to_bytes(study)
    (textstudy.FOLDER / f"{given.name}.json.gz").write_bytes(packed)
    for x in study.rules:
        print(
            f"{rule_label(x.acceptance_rule):40} texts {len(x.texts)}, acceptance {x.acceptance.value:.3f},"
            f" tokens per block {x.tokens_per_block.value:.2f}, log-likelihood {x.log_likelihood.value:.3f}"
            f" ± {x.log_likelihood.error:.3f}, TV at the last token {x.law_tv.value[-1]:.3f}"
        )
    print(f"{len(packed):,} bytes; noise at the last token {study.floor[-1]:.3f}")


if __name__ == "__main__":
    main()
