"""Record what lesson 3 shows of a real pair: candidate 3 given everything, and given the verified tokens only.

    python scripts/record_lessons.py [--pair NAME]

Writes assets/lessons/context.json. Run it again whenever the draft's weights change; same weights, same file.
"""

import argparse
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from specdec_core.decoding import Streams  # noqa: E402
from specdec_core.distributions import Array, draw, probabilities, top_tokens, uniform  # noqa: E402
from specdec_core.lessons.context_examples import FILE, SCHEMA  # noqa: E402
from specdec_core.models.pairs import load_pair  # noqa: E402
from specdec_core.models.protocol import LanguageModel, ModelUnavailable, Pair  # noqa: E402
from specdec_core.theory import acceptance_rate  # noqa: E402

TOP = 6
DIGITS = 6
# Input, verified text, and candidates 1 and 2 where they are given; otherwise the draft draws them with the seed.
SITUATIONS: tuple[tuple[str, str, tuple[str, str] | None, int], ...] = (
    ("A story about my cat.", " The cat sat", (" on", " the"), 0),
    ("Question: What is the capital of France? Answer:", " The capital", None, 1),
    ("Here is a recipe for bread.", " First, mix the", None, 2),
    ("Once upon a time", " there was a little", None, 3),
    ("The water cycle explained for children.", " The sun", None, 4),
    ("def add(a, b):", " return", None, 5),
    ("The planets of the solar system are", " Mercury, Venus,", None, 6),
    ("Dear Sir or Madam,", " I am writing to", None, 7),
)


def law(model: LanguageModel, ids: list[int]) -> Array:
    """The model's distribution after ``ids``, at temperature 1, nothing cut off."""
    return probabilities(model.start().extend(ids)[-1])


def drawn(pair: Pair, ids: list[int], seed: int) -> list[int]:
    """Candidates 1 and 2 as the draft draws them."""
    rng = Streams.from_seed(seed).draft
    found: list[int] = []
    for _ in range(2):
        found.append(draw(law(pair.draft, ids + found), uniform(rng)))
    return found


def record(pair: Pair, x: str, verified: str, given: tuple[str, str] | None, seed: int) -> dict[str, Any]:
    """One example. The top tokens are the union of the three distributions' most likely ones."""
    tokenizer = pair.tokenizer
    ids = tokenizer.encode(x + verified)
    own = tokenizer.encode("".join(given)) if given else drawn(pair, ids, seed)
    seen, blind, p = law(pair.draft, ids + own), law(pair.draft, ids), law(pair.target, ids + own)
    top = {i for law_ in (seen, blind, p) for i in top_tokens(law_, TOP).tolist()[: TOP - 2]}
    order = sorted(top, key=lambda i: (-max(seen[i], blind[i], p[i]), i))
    return {
        "title": (x + verified).strip()[:60],
        "x": x,
        "verified": verified.strip(),
        "candidates": [tokenizer.token_text(i) for i in own],
        "alpha_seen": rounded(acceptance_rate(p, seen)),
        "alpha_blind": rounded(acceptance_rate(p, blind)),
        "top": [
            {"token": tokenizer.token_text(i), "seen": rounded(seen[i]), "blind": rounded(blind[i]), "p": rounded(p[i])}
            for i in order
        ],
    }


def rounded(value: float | np.floating) -> float:
    """Six significant digits: the last bits of a float32 pass differ between machines."""
    return float(f"{float(value):.{DIGITS}g}")


def weights() -> str:
    """Which weights of the embedded draft these numbers belong to: a test compares it with the file that is there."""
    return hashlib.sha256((ROOT / "assets" / "draft" / "draft.safetensors").read_bytes()).hexdigest()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--pair", default="embedded")
    arguments = parser.parse_args()
    try:
        pair = load_pair(arguments.pair, device="cpu", dtype="float32")
    except ModelUnavailable as error:
        print(error, file=sys.stderr)
        return 2
    examples = [record(pair, *situation) for situation in SITUATIONS]
    data = {
        "schema": SCHEMA,
        "draft": pair.draft.info.name,
        "target": pair.target.info.name,
        "weights": weights() if arguments.pair == "embedded" else "",
        "examples": examples,
    }
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text(json.dumps(data, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    for e in examples:
        print(f"{e['alpha_seen']:.3f} seen, {e['alpha_blind']:.3f} blind: {e['title']!r} + {e['candidates']}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
