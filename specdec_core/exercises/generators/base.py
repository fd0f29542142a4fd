"""What every generator of questions has in common: the draft it returns, friendly numbers, shared options and tables.

A generator draws numbers and works out answers and known wrong answers. It writes no sentences beyond those that
depend on the outcome; stems, prompts, hints and solutions stand in the family's data file.

Does not know: data files, grading.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from specdec_core.acceptance import RANDOM, Verdict
from specdec_core.exercises.question import Answer, Follow, Kind, Option, Table
from specdec_core.exercises.values import about, exact_text, visible
from specdec_core.words import _

ONE = Fraction(1)
HALF = Fraction(1, 2)
#: How far r stays from p/q unless the question is about ties, so that nobody's rounding flips a decision.
GAP = Fraction(4, 100)


class Redraw(Exception):
    """These numbers do not make a good question; draw others."""


@dataclass
class Asked:
    """A step's answer as a generator made it.

    wrong: (misconception id, answer), the likeliest mistake first; of two with one answer the first is kept.
    lenient: drop a wrong number that lies too close to another one, instead of drawing again.
    """

    kind: Kind
    answer: Answer
    wrong: list[tuple[str, Answer]] = field(default_factory=list)
    options: Sequence[Option] = ()
    follow: Follow | None = None
    tolerance: Fraction | None = None
    wrong_tolerance: Fraction | None = None
    lenient: bool = False


@dataclass
class Draft:
    """Everything a generator drew: texts for the placeholders, tables, answers by step name, data for the picture."""

    values: dict[str, str] = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)
    asked: dict[str, Asked] = field(default_factory=dict)
    block: Mapping[str, Any] | None = None
    distributions: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Pools:
    """Words to make examples of: sentences as (context tokens, continuation tokens), and small vocabularies."""

    sentences: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]
    vocabularies: tuple[tuple[str, ...], ...]


def number(answer: Fraction, *wrong: tuple[str, Fraction], follow: Follow | None = None) -> Asked:
    """A NUMBER step."""
    return Asked(Kind.NUMBER, answer, list(wrong), follow=follow)


def whole(answer: int, *wrong: tuple[str, int], follow: Follow | None = None) -> Asked:
    """An INTEGER step. Wrong answers below zero are nobody's and are left out."""
    known: list[tuple[str, Answer]] = [(name, Fraction(value)) for name, value in wrong if value >= 0]
    return Asked(Kind.INTEGER, Fraction(answer), known, follow=follow)


def choice(answer: str, options: Sequence[Option], *wrong: tuple[str, str], follow: Follow | None = None) -> Asked:
    """A CHOICE step."""
    return Asked(Kind.CHOICE, answer, list(wrong), options, follow)


def marked(
    kind: Kind,
    answer: Sequence[str],
    options: Sequence[Option],
    *wrong: tuple[str, Sequence[str]],
    follow: Follow | None = None,
) -> Asked:
    """A step with several marks. Empty wrong answers cannot be given and are left out."""
    order = [option.id for option in options]
    known: list[tuple[str, Answer]] = [(name, _ordered(ids, order)) for name, ids in wrong if ids]
    return Asked(kind, _ordered(answer, order), known, options, follow)


def _ordered(ids: Sequence[str], order: Sequence[str]) -> tuple[str, ...]:
    return tuple(id_ for id_ in order if id_ in ids)


def use(rule: str, *uses: str, **numbers: Fraction | int) -> Follow:
    """A follow-through rule with its numbers."""
    return Follow(rule, uses, {name: Fraction(value) for name, value in numbers.items()})


def stays(p: Fraction, q: Fraction, r: Fraction) -> bool:
    """The rule itself, on paper's numbers."""
    return bool(RANDOM.accepts(p, q, r))


def verdict_options() -> tuple[Option, Option]:
    """accepted and rejected."""
    return Option(Verdict.ACCEPTED.value, _("accepted")), Option(Verdict.REJECTED.value, _("rejected"))


def source_options() -> tuple[Option, Option]:
    """Where the next token comes from."""
    return (
        Option("residual", _("corrected: drawn from the residual at the rejected position")),
        Option("bonus", _("bonus: drawn from p at position tau + 1")),
    )


def because(p: Fraction, q: Fraction, r: Fraction) -> str:
    """One sentence that settles a position."""
    ratio = p / q
    if p == 0:
        return _("p = 0, so the token is rejected whatever r is.")
    if r == ratio:
        sentence = _("r = {r} equals p/q = {ratio}; equality accepts, so the token is accepted.")
    elif stays(p, q, r):
        sentence = _("r = {r} is not above p/q = {ratio}, so the token is accepted.")
    else:
        sentence = _("r = {r} is above p/q = {ratio}, so the token is rejected.")
    return sentence.format(r=exact_text(r), ratio=about(ratio))


def token_rows(tokens: Sequence[str], *columns: Sequence[Fraction]) -> tuple[tuple[str, ...], ...]:
    """Rows of a table: the token made visible, then its numbers."""
    numbers = zip(*columns, strict=True) if columns else [()] * len(tokens)
    return tuple((visible(t), *(exact_text(x) for x in row)) for t, row in zip(tokens, numbers, strict=True))


def quoted(token: str) -> str:
    """A token inside a sentence."""
    return f"“{visible(token)}”"


def as_floats(values: Sequence[Fraction]) -> list[float]:
    """For payloads and the numeric layers."""
    return [float(value) for value in values]
