"""Grading, step by step, with partial credit and a reason for every mark.

Policy:
- A right answer earns the step's points. So does one that is right *given the person's own earlier wrong answer*
  (follow-through): a mistake is paid for once, where it was made.
- A set earns (right marks - wrong marks) / right marks of its points, never less than nothing.
- Feedback names the misconception and never gives the right answer away, so that it can be shown before a retry.
- Free text is not graded: it is worth no points, and its key ideas are for the person to tick.

Answers may come from anybody: whatever cannot be read is "unreadable", with a sentence, and never an exception.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

from specdec_core.exercises.follow import followed
from specdec_core.exercises.question import SETS, Answer, Kind, Question, Step, answer_text, is_wrong, matches
from specdec_core.exercises.values import InvalidNumber, decimal, exact_text, parse_number
from specdec_core.words import _

MAX_FREE_TEXT = 4000


class Status(StrEnum):
    """What became of one step."""

    RIGHT = "right"
    FOLLOW_THROUGH = "follow-through"
    PARTLY = "partly right"
    WRONG = "wrong"
    UNANSWERED = "unanswered"
    UNREADABLE = "unreadable"
    SELF_CHECK = "self-check"


class Unreadable(ValueError):
    """An answer is not of the kind that was asked for. ``str(error)`` is one sentence for the person."""


@dataclass(frozen=True)
class StepResult:
    """One step's mark. ``misconception`` is an id of the registry, or None. ``given`` is the answer as it was read."""

    name: str
    status: Status
    points: Fraction
    max_points: int
    feedback: str = ""
    misconception: str | None = None
    given: Answer = None
    given_text: str = ""

    @property
    def good(self) -> bool:
        """Whether the step earned all its points."""
        return self.status in (Status.RIGHT, Status.FOLLOW_THROUGH)


@dataclass(frozen=True)
class Result:
    """A graded question."""

    question_id: str
    steps: tuple[StepResult, ...]
    score: Fraction
    max_points: int

    @property
    def unanswered(self) -> tuple[str, ...]:
        """Names of the steps without an answer."""
        return tuple(s.name for s in self.steps if s.status is Status.UNANSWERED)

    @property
    def misconceptions(self) -> tuple[str, ...]:
        """Ids of the misconceptions that were met, each once, in the order of the steps."""
        return tuple(dict.fromkeys(s.misconception for s in self.steps if s.misconception))

    @property
    def share(self) -> float:
        """score / max_points, 1 where nothing is graded."""
        return float(self.score / self.max_points) if self.max_points else 1.0

    @property
    def all_right(self) -> bool:
        """Whether every graded step earned all its points."""
        return self.score == self.max_points

    def to_plain(self) -> dict[str, Any]:
        """As what ``json`` writes."""
        return {
            "question": self.question_id,
            "score": decimal(self.score, 4),
            "max_points": self.max_points,
            "steps": [
                {
                    "name": s.name,
                    "status": s.status.value,
                    "points": decimal(s.points, 4),
                    "max_points": s.max_points,
                    "feedback": s.feedback,
                    "misconception": s.misconception,
                    "given": s.given_text,
                }
                for s in self.steps
            ],
        }


def grade(question: Question, answers: Mapping[str, Any]) -> Result:
    """Grades ``answers``, by step name.

    NUMBER and INTEGER take the text that was typed, CHOICE an option's id, MULTI_CHOICE and TOKEN_LIST a list of ids,
    SELF_CHECK a text or ``{"text": ..., "ticked": [ids]}``. Missing, None, "" and [] are unanswered.
    """
    results: list[StepResult] = []
    own: dict[str, Answer] = {}
    slipped: set[str] = set()
    for step in question.steps:
        result = _grade_step(step, answers.get(step.name), own, slipped)
        results.append(result)
        own[step.name] = result.given
        if result.given is not None and not matches(step, result.given, step.answer):
            slipped.add(step.name)
    graded = [r for r in results if r.status is not Status.SELF_CHECK]
    return Result(question.id, tuple(results), sum((r.points for r in graded), Fraction(0)), question.max_points)


def right_answers(question: Question) -> dict[str, Any]:
    """The right answers in the form that ``grade`` takes: for keys and tests. Free text gets the model answer."""
    return {step.name: as_given(step, step.answer) for step in question.steps}


def as_given(step: Step, answer: Answer) -> Any:
    """An answer in the form that ``grade`` takes."""
    if step.kind is Kind.SELF_CHECK:
        return {"text": step.model_answer, "ticked": [idea.id for idea in step.key_ideas]}
    if isinstance(answer, Fraction):
        return exact_text(answer)
    return list(answer) if isinstance(answer, tuple) else answer


def read_answer(step: Step, raw: Any) -> Answer:
    """What was given, as an Answer; None where nothing was. Raises Unreadable."""
    if raw is None or (isinstance(raw, str) and not raw.strip()) or (isinstance(raw, list | tuple | set) and not raw):
        return None
    if step.kind in (Kind.NUMBER, Kind.INTEGER):
        return _read_number(step, raw)
    if step.kind is Kind.CHOICE:
        if not isinstance(raw, str) or all(raw != option.id for option in step.options):
            raise Unreadable(_("Choose one of the options."))
        return raw
    if step.kind in SETS:
        known = [option.id for option in step.options]
        if not isinstance(raw, list | tuple | set | frozenset) or any(x not in known for x in raw):
            raise Unreadable(_("Mark some of the options."))
        return tuple(id_ for id_ in known if id_ in raw)
    return None


def _read_number(step: Step, raw: Any) -> Fraction:
    text = str(raw) if isinstance(raw, int | float) and not isinstance(raw, bool) else raw
    try:
        value = parse_number(text)
    except InvalidNumber as error:
        raise Unreadable(str(error)) from None
    if step.kind is Kind.INTEGER and value.denominator != 1:
        raise Unreadable(_("Type a whole number."))
    return value


def _grade_step(step: Step, raw: Any, own: Mapping[str, Answer], slipped: set[str]) -> StepResult:
    if step.kind is Kind.SELF_CHECK:
        return _self_check(step, raw)
    nothing = Fraction(0)
    try:
        given = read_answer(step, raw)
    except Unreadable as error:
        return StepResult(step.name, Status.UNREADABLE, nothing, step.points, str(error))
    if given is None:
        return StepResult(step.name, Status.UNANSWERED, nothing, step.points)
    status, points, feedback, why = _mark(step, given, own, slipped)
    return StepResult(step.name, status, points, step.points, feedback, why, given, answer_text(step, given))


def _mark(
    step: Step, given: Answer, own: Mapping[str, Answer], slipped: set[str]
) -> tuple[Status, Fraction, str, str | None]:
    full = Fraction(step.points)
    if matches(step, given, step.answer):
        return Status.RIGHT, full, step.right or _("Right."), None
    if _follows(step, given, own, slipped):
        return Status.FOLLOW_THROUGH, full, _("Right, given your earlier answer; the slip lies there."), None
    points = _share_of_set(step, given) * full
    status = Status.PARTLY if points > 0 else Status.WRONG
    for wrong in step.wrong:
        if is_wrong(step, given, wrong):
            return status, points, wrong.feedback, wrong.misconception
    return status, points, _what_is_off(step, given), None


def _follows(step: Step, given: Answer, own: Mapping[str, Answer], slipped: set[str]) -> bool:
    if step.follow is None or not slipped.intersection(step.follow.uses):
        return False
    expected = followed(step, step.follow, own)
    return expected is not None and matches(step, given, expected)


def _share_of_set(step: Step, given: Answer) -> Fraction:
    if not isinstance(given, tuple) or not isinstance(step.answer, tuple) or not step.answer:
        return Fraction(0)
    right = set(step.answer)
    hits = len(right.intersection(given))
    return max(Fraction(0), Fraction(hits - (len(given) - hits), len(right)))


def _what_is_off(step: Step, given: Answer) -> str:
    if isinstance(given, tuple) and isinstance(step.answer, tuple):
        extra, missing = len(set(given) - set(step.answer)), len(set(step.answer) - set(given))
        return _("Marked but wrong: {extra}. Missing: {missing}.").format(extra=extra, missing=missing)
    if isinstance(given, Fraction) and isinstance(step.answer, Fraction):
        if step.kind is Kind.NUMBER and matches(step, given / 100, step.answer):
            return _("Write it as a number between 0 and 1, or with a percent sign.")
        if step.tolerance and abs(given - step.answer) <= 10 * step.tolerance:
            return _("Close, but not exact enough: right within ±{tolerance}.").format(
                tolerance=decimal(step.tolerance, 6)
            )
        return _("This is not the number asked for.")
    return _("This is not the right choice.")


def _self_check(step: Step, raw: Any) -> StepResult:
    text, ticked = (raw.get("text"), raw.get("ticked")) if isinstance(raw, Mapping) else (raw, ())
    text = text.strip()[:MAX_FREE_TEXT] if isinstance(text, str) else ""
    known = [idea.id for idea in step.key_ideas]
    marks = tuple(id_ for id_ in known if isinstance(ticked, list | tuple | set) and id_ in ticked)
    if not text and not marks:
        return StepResult(step.name, Status.SELF_CHECK, Fraction(0), 0, _("Not answered; nothing is graded here."))
    feedback = _("You ticked {n} of {all} key ideas. Nothing is graded here.").format(n=len(marks), all=len(known))
    return StepResult(step.name, Status.SELF_CHECK, Fraction(0), 0, feedback, None, marks or None, text)
