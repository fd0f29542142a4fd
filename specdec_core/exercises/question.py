"""What a question is: frozen dataclasses, complete in themselves.

A ``Question`` holds everything that asking, grading, explaining and exporting need, so that one that was made by a
generator, read from a file or stored in a database behaves the same. All texts are plain: no markup is meant by any
character in them.

Does not know: how questions are made or graded, the screen.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Any

from specdec_core.exercises.values import decimal
from specdec_core.words import _


class Kind(StrEnum):
    """How a step is answered.

    NUMBER: a text that ``parse_number`` reads. INTEGER: a whole number. CHOICE: one option's id. MULTI_CHOICE: a set
    of option ids (statements). TOKEN_LIST: the same, where the options are tokens in their order in the text.
    SELF_CHECK: free text with key ideas to tick; never graded by machine.
    """

    NUMBER = "number"
    INTEGER = "integer"
    CHOICE = "choice"
    MULTI_CHOICE = "multi_choice"
    TOKEN_LIST = "token_list"
    SELF_CHECK = "self_check"


NUMERIC = frozenset({Kind.NUMBER, Kind.INTEGER})
SETS = frozenset({Kind.MULTI_CHOICE, Kind.TOKEN_LIST})


class Thinking(StrEnum):
    """Levels of thinking, after Bloom's revised taxonomy, easiest first."""

    REMEMBER = "remember"
    UNDERSTAND = "understand"
    APPLY = "apply"
    ANALYSE = "analyse"
    EVALUATE = "evaluate"
    CREATE = "create"


#: A right or wrong answer: a number, an option's id, a set of ids in option order, or None for free text.
Answer = Fraction | str | tuple[str, ...] | None


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Table:
    """Rows of short texts under column heads; ``caption`` may be empty."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""


Part = Text | Table


@dataclass(frozen=True)
class Option:
    """One thing to choose. ``id`` is stable and short; ``text`` is what is read."""

    id: str
    text: str


@dataclass(frozen=True)
class Wrong:
    """A known wrong answer, the misconception that leads there, and what to say about it."""

    value: Answer
    misconception: str
    feedback: str


@dataclass(frozen=True)
class Follow:
    """How a step's answer follows from the person's own answers to earlier steps (see ``follow.py``).

    rule: a name in the registry there. uses: the earlier steps' names. numbers: what else the rule needs.
    """

    rule: str
    uses: tuple[str, ...]
    numbers: Mapping[str, Fraction] = field(default_factory=dict)


@dataclass(frozen=True)
class Step:
    """One thing to answer.

    tolerance: a number counts as right within it, both ends included; 0 for everything else. wrong_tolerance: the same
    for known wrong answers, where it differs (a step that takes any number of a range has a wide tolerance).
    options: what can be chosen. wrong: known wrong answers, each unlike the right one and each other.
    hints: to be shown one after the other. right: a sentence for a right answer, may be empty.
    key_ideas: for SELF_CHECK, what a good text mentions; ``model_answer`` is one.
    """

    name: str
    kind: Kind
    prompt: str
    answer: Answer = None
    points: int = 1
    tolerance: Fraction = Fraction(0)
    wrong_tolerance: Fraction | None = None
    options: tuple[Option, ...] = ()
    wrong: tuple[Wrong, ...] = ()
    hints: tuple[str, ...] = ()
    right: str = ""
    follow: Follow | None = None
    key_ideas: tuple[Option, ...] = ()
    model_answer: str = ""

    def option(self, id_: str) -> Option:
        """The option or key idea with this id. Raises KeyError."""
        for option in (*self.options, *self.key_ideas):
            if option.id == id_:
                return option
        raise KeyError(id_)

    @property
    def takes_range(self) -> bool:
        """Whether any number of a range is right, rather than one number."""
        return self.wrong_tolerance is not None

    @property
    def tolerance_text(self) -> str:
        """How exact an answer must be, as a sentence; empty where that needs no saying."""
        if self.kind is not Kind.NUMBER or self.takes_range:
            return ""
        if self.tolerance == 0:
            return _("The exact number is asked for.")
        return _("Right within ±{tolerance}.").format(tolerance=decimal(self.tolerance, 6))


@dataclass(frozen=True)
class Question:
    """A question with numbers in it.

    family, level, seed: where it came from; the same three give the same question (``source`` adds the block's
    fingerprint when it was made from a real one). stem: what is given. solution: worked, with numbers.
    block: the picture's data in the form of a case (tokens, q, p, r and context, see ``specdec_core.cases``), or None.
    distributions: vocabulary, q and p as lists, or None.
    """

    family: str
    level: int
    seed: int
    title: str
    thinking: Thinking
    topics: tuple[str, ...]
    stem: tuple[Part, ...]
    steps: tuple[Step, ...]
    solution: tuple[Part, ...]
    block: Mapping[str, Any] | None = None
    distributions: Mapping[str, Any] | None = None
    source: str = ""

    @property
    def id(self) -> str:
        """A short stable name: family.level.seed, and the source's fingerprint where there is one."""
        return f"{self.family}.{self.level}.{self.seed}" + (f".{self.source}" if self.source else "")

    @property
    def max_points(self) -> int:
        """What the graded steps are worth together."""
        return sum(step.points for step in self.steps if step.kind is not Kind.SELF_CHECK)

    def step(self, name: str) -> Step:
        """The step with this name. Raises KeyError."""
        for step in self.steps:
            if step.name == name:
                return step
        raise KeyError(name)


def answer_text(step: Step, answer: Answer) -> str:
    """An answer as a person would write it: for solutions, keys and lists of wrong answers."""
    if answer is None:
        return step.model_answer
    if isinstance(answer, Fraction):
        return _range_text(step) if step.takes_range and answer == step.answer else decimal(answer, 4)
    if isinstance(answer, str):
        return step.option(answer).text
    return "; ".join(step.option(id_).text for id_ in answer)


def _range_text(step: Step) -> str:
    assert isinstance(step.answer, Fraction)
    low, high = step.answer - step.tolerance, step.answer + step.tolerance
    return _("any number from {low} to {high}").format(low=decimal(low), high=decimal(high))


def matches(step: Step, given: Answer, expected: Answer) -> bool:
    """Whether ``given`` is ``expected``, within the step's tolerance for numbers."""
    return _same(given, expected, step.tolerance)


def is_wrong(step: Step, given: Answer, wrong: Wrong) -> bool:
    """Whether ``given`` is this known wrong answer."""
    return _same(given, wrong.value, _wrong_tolerance(step))


def apart(step: Step, a: Answer, b: Answer) -> bool:
    """Whether no possible answer matches both known answers ``a`` and ``b``, of which one may be the right one."""
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        reach = [step.tolerance if value == step.answer else _wrong_tolerance(step) for value in (a, b)]
        return abs(a - b) > sum(reach)
    return not _same(a, b, Fraction(0))


def _wrong_tolerance(step: Step) -> Fraction:
    return step.tolerance if step.wrong_tolerance is None else step.wrong_tolerance


def _same(given: Answer, expected: Answer, tolerance: Fraction) -> bool:
    if isinstance(given, Fraction) and isinstance(expected, Fraction):
        return abs(given - expected) <= tolerance
    if isinstance(given, tuple) and isinstance(expected, tuple):
        return set(given) == set(expected)
    return type(given) is type(expected) and given == expected
