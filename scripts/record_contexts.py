"""Record what the embedded pair says of the next token at some ten places in varied texts, into assets/contexts.

    python -m scripts.record_contexts            # half a minute on two cores; run it again when the draft changes

Of the places below it keeps those whose alpha comes nearest to LEVELS, so that the choice spans little agreement to
almost full agreement whatever draft is in use. The result is the same, byte for byte, for the same weights and machine.
"""

import argparse
import shutil
import tempfile
from pathlib import Path

import numpy as np

from specdec_core import contexts
from specdec_core.contexts import Context, store, store_index
from specdec_core.distributions import probabilities, total_variation
from specdec_core.models.pairs import load_pair
from specdec_core.models.protocol import Pair
from specdec_core.theory import acceptance_rate

LEVELS = (0.05, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99)
#: No more than this many of one kind.
MOST = 3
LIMIT = 3_000_000

CHAT = "<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n{answer}"

#: (name, kind, text)
PLACES = (
    ("capital", "fact", "The capital of France is"),
    ("planet", "fact", "The largest planet in our solar system is"),
    ("water", "fact", "Water boils at a temperature of 100 degrees"),
    ("wall", "fact", "The Berlin Wall fell in 1989, and one year later"),
    ("photosynthesis", "fact", "Photosynthesis is the process by which plants"),
    ("whale", "fact", "Whales are mammals. They breathe air, and they"),
    ("once", "story", "Once upon a time, there was a"),
    ("door", "story", "She opened the door slowly and saw"),
    ("dragon", "story", "The dragon looked down at the tiny knight and"),
    ("lamp", "story", "Every evening, the old keeper of the lighthouse lit the"),
    ("rain", "story", "It had been raining for three days when"),
    ("name", "story", "The boy's name was"),
    ("loop", "code", "for i in range(10):\n    print("),
    ("function", "code", "def add(a, b):\n    return a"),
    ("import", "code", "import numpy as np\nimport"),
    ("fibonacci", "code", "def fibonacci(n):\n    if n <= 1:\n        return n\n    return fibonacci(n -"),
    ("open", "code", 'with open("data.txt") as file:\n    for line in'),
    ("steps", "list", "How to make a cup of tea:\n1. Boil the water.\n2."),
    ("shopping", "list", "Shopping list:\n- milk\n- bread\n-"),
    ("days", "list", "Monday, Tuesday, Wednesday, Thursday,"),
    ("reasons", "list", "Three reasons to learn a new language:\n1."),
    ("dear", "letter", "Dear Professor Miller,\n\nThank you for"),
    ("hope", "letter", "I hope this email finds you"),
    ("sincerely", "letter", "I look forward to hearing from you.\n\nBest"),
    ("apply", "letter", "I am writing to apply for the position of"),
    ("hello", "dialogue", '"Where have you been?" she asked.\n"'),
    ("tom", "dialogue", "Anna: What did you think of the film?\nTom:"),
    ("doctor", "dialogue", "Doctor: How long have you had this pain?\nPatient: For about"),
    ("sky", "chat", CHAT.format(question="Why is the sky blue?", answer="The sky appears")),
    ("sum", "chat", CHAT.format(question="What is 12 + 30?", answer="The sum of 12 and 30 is")),
    ("poem", "chat", CHAT.format(question="Write a poem about autumn.", answer="")),
    ("sleep", "chat", CHAT.format(question="How can I sleep better?", answer="Here are some tips:\n\n1. **")),
    ("thirds", "numbers", "One half is 0.5 and one quarter is 0."),
    ("count", "numbers", "1, 2, 3, 4, 5, 6,"),
    ("primes", "numbers", "The first prime numbers are 2, 3, 5, 7, 11,"),
    ("million", "numbers", "The city has a population of about"),
)


def measured(pair: Pair, name: str, kind: str, text: str) -> tuple[Context, np.ndarray, np.ndarray]:
    """A place with its logits, target's and draft's, each of shape ``(V,)``."""
    ids = pair.tokenizer.encode(text)
    target, draft = (model.start().extend(ids)[-1] for model in (pair.target, pair.draft))
    # alpha is that of what is stored, not of what was rounded to it.
    p, q = (probabilities(contexts.packed(x)) for x in (target, draft))
    moved = max(total_variation(a, probabilities(x)) for a, x in ((p, target), (q, draft)))
    found = Context(
        name=name,
        kind=kind,
        text=text,
        ids=tuple(ids),
        alpha=round(acceptance_rate(p, q), 6),
        draft=pair.draft.info.name,
        target=pair.target.info.name,
        rounding=float(f"{moved:.2g}"),
    )
    return found, target, draft


def choose(places: list[Context]) -> list[Context]:
    """For each of LEVELS the place whose alpha is nearest, none twice, few of a kind; the rarest levels first."""
    chosen: list[Context] = []
    for level in sorted(LEVELS, key=lambda x: -abs(x - 0.55)):
        free = [x for x in places if x not in chosen and sum(y.kind == x.kind for y in chosen) < MOST]
        chosen.append(min(free, key=lambda x: (abs(x.alpha - level), x.name)))
    return chosen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pair", default="embedded")
    given = parser.parse_args()
    pair = load_pair(given.pair)
    found = [measured(pair, *place) for place in PLACES]
    for place, _, _ in sorted(found, key=lambda x: x[0].alpha):
        print(f"{place.alpha:.3f}  {place.kind:9} {place.name}")
    kept = choose([x[0] for x in found])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for place, target, draft in found:
            if place in kept:
                store(folder, place.name, target, draft)
        store_index(folder, kept, [pair.tokenizer.token_text(i) for i in range(pair.target.vocabulary_size)])
        size = sum(x.stat().st_size for x in folder.iterdir())
        if size > LIMIT:
            raise SystemExit(f"The contexts take {size:,} bytes, more than {LIMIT:,}: keep fewer.")
        contexts.FOLDER.mkdir(parents=True, exist_ok=True)
        for old in contexts.FOLDER.glob("*.npz"):
            old.unlink()
        for new in folder.iterdir():
            shutil.copyfile(new, contexts.FOLDER / new.name)
    print(f"{len(kept)} contexts, {size:,} bytes, in {contexts.FOLDER}")


if __name__ == "__main__":
    main()
