"""Recorded examples for lesson 3: candidate 3 given everything, and given the verified tokens only.

``scripts/record_lessons.py`` writes the file from a real pair; without it there are no examples.

Does not know: models, the screen.
"""

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from specdec_core.numbers import probability
from specdec_core.tokens import shown
from specdec_core.words import BOOK, Notation, _, ngettext

FILE = Path(__file__).resolve().parents[2] / "assets" / "lessons" / "context.json"
SCHEMA = 1


@dataclass(frozen=True)
class Likely:
    """A likely token: its probability for the draft that sees everything, for the blind one, and for the target."""

    token: str
    seen: float
    blind: float
    p: float


@dataclass(frozen=True)
class Example:
    """One recorded position. alphas: sum min(p, q) over the whole vocabulary, with and without its own candidates."""

    title: str
    x: str
    verified: str
    candidates: tuple[str, ...]
    alpha_seen: float
    alpha_blind: float
    top: tuple[Likely, ...]

    @property
    def better(self) -> bool:
        """Whether seeing its own candidates brings the draft nearer to the target."""
        return self.alpha_seen > self.alpha_blind


@dataclass(frozen=True)
class Examples:
    """All recorded examples, and the models they come from."""

    draft: str
    target: str
    examples: tuple[Example, ...]


NONE = Examples("", "", ())


@lru_cache(maxsize=1)
def load() -> Examples:
    """The recorded examples; none where the file is missing or of another schema."""
    try:
        data = json.loads(FILE.read_text(encoding="utf-8"))
        return _read(data) if data["schema"] == SCHEMA else NONE
    except (OSError, ValueError, KeyError, TypeError):
        return NONE


def _read(data: dict[str, Any]) -> Examples:
    return Examples(
        str(data["draft"]),
        str(data["target"]),
        tuple(
            Example(
                title=e["title"],
                x=e["x"],
                verified=e["verified"],
                candidates=tuple(e["candidates"]),
                alpha_seen=float(e["alpha_seen"]),
                alpha_blind=float(e["alpha_blind"]),
                top=tuple(Likely(t["token"], float(t["seen"]), float(t["blind"]), float(t["p"])) for t in e["top"]),
            )
            for e in data["examples"]
        ),
    )


def sentence(example: Example, notation: Notation = BOOK) -> str:
    """What the two pictures say. Plain text; tokens in it are literal."""
    first = max(example.top, key=lambda x: x.seen)
    blind = max(example.top, key=lambda x: x.blind)
    names = {
        "own": ", ".join(f"“{shown(c)}”" for c in example.candidates),
        "first": shown(first.token),
        "first_q": probability(first.seen),
        "blind": shown(blind.token),
        "blind_q": probability(blind.blind),
        "seen_alpha": probability(example.alpha_seen),
        "blind_alpha": probability(example.alpha_blind),
        "q": notation.q,
    }
    return _(
        "With {own} in view the draft's first choice is “{first}” ({q} = {first_q}); without them it is “{blind}”"
        " ({q} = {blind_q}). Its candidate would stay with probability {seen_alpha}, or {blind_alpha} without them."
    ).format(**names)


def tally(found: Examples) -> str:
    """In how many of the examples seeing its own candidates helps."""
    better = sum(e.better for e in found.examples)
    return ngettext(
        "In {better} of {n} recorded example the draft that sees its own candidates is nearer to the target.",
        "In {better} of {n} recorded examples the draft that sees its own candidates is nearer to the target.",
        len(found.examples),
    ).format(better=better, n=len(found.examples))
