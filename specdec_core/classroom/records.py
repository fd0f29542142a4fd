"""What the classroom takes and gives: frozen dataclasses, and the small protocol by which an answer comes graded.

A *question* is a JSON object, stored as the teacher composed it. Two forms:

    {"family": "accept_one", "level": 2}            a reference; "seed" is optional, other keys are kept
    {"question": {...}, "solution": {...}}          a whole question; "solution" is held back until the reveal

Does not know: question families, grading, or the database.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol

Json = Any
State = Literal["waiting", "open", "closed", "revealed"]


class GradedStep(Protocol):
    """One step of a graded answer: which step, its points, and the misconceptions it shows."""

    @property
    def id(self) -> str: ...
    @property
    def score(self) -> float: ...
    @property
    def max_score(self) -> float: ...
    @property
    def misconceptions(self) -> Sequence[str]: ...


class Graded(Protocol):
    """A graded answer. `Grade` below is one; so is any object with these attributes."""

    @property
    def score(self) -> float: ...
    @property
    def max_score(self) -> float: ...
    @property
    def steps(self) -> Sequence[GradedStep]: ...


class Grader(Protocol):
    """Grades an answer. It gets the stored question, solution and seed included, which the student's page does not."""

    def __call__(self, question: Mapping[str, Json], answers: Json) -> Graded: ...


@dataclass(frozen=True)
class GradeStep:
    """The points of one step."""

    id: str
    score: float
    max_score: float
    misconceptions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Grade:
    """The points of one answer, as they are stored."""

    score: float
    max_score: float
    steps: tuple[GradeStep, ...] = ()

    def to_json(self) -> dict[str, Json]:
        """{"score", "max", "steps": [{"id", "score", "max", "misconceptions"}]}"""
        steps = [
            {"id": s.id, "score": s.score, "max": s.max_score, "misconceptions": list(s.misconceptions)}
            for s in self.steps
        ]
        return {"score": self.score, "max": self.max_score, "steps": steps}

    @classmethod
    def from_json(cls, data: Mapping[str, Json]) -> "Grade":
        """The inverse of to_json."""
        steps = tuple(
            GradeStep(s["id"], s["score"], s["max"], tuple(s.get("misconceptions", ()))) for s in data["steps"]
        )
        return cls(data["score"], data["max"], steps)

    @property
    def misconceptions(self) -> tuple[str, ...]:
        """Every misconception of every step once, sorted."""
        return tuple(sorted({m for step in self.steps for m in step.misconceptions}))


@dataclass(frozen=True)
class Options:
    """How an assignment is run.

    per_student: everyone gets a variant of their own. hints: whether the page offers them.
    attempts: answers taken per question; counts: which of them counts. feedback: when a student sees the points.
    new_variant_on_retry: the second attempt is at another variant (of references; a whole question has but one).
    """

    per_student: bool = False
    hints: bool = True
    attempts: int = 1
    counts: Literal["best", "last"] = "best"
    feedback: Literal["at_once", "after_reveal"] = "at_once"
    new_variant_on_retry: bool = False


@dataclass(frozen=True)
class Assignment:
    """An assignment as the teacher sees it. `code` has its hyphens; `students` and `answers` are counts."""

    id: str
    code: str
    title: str
    question_count: int
    options: Options
    opens_at: datetime | None
    closes_at: datetime | None
    revealed_at: datetime | None
    created_at: datetime
    state: State
    students: int
    answers: int


@dataclass(frozen=True)
class Card:
    """What somebody with the join code sees before joining."""

    title: str
    question_count: int
    state: State
    opens_at: datetime | None
    closes_at: datetime | None


@dataclass(frozen=True)
class Seat:
    """A student's place. The token is shown once and stored only as a hash: keep it in the student's link."""

    token: str
    number: int
    name: str


@dataclass(frozen=True)
class OwnAnswer:
    """One of the student's answers. `result` is None while the points are held back."""

    attempt: int
    answers: Json
    submitted_at: datetime
    result: Grade | None


@dataclass(frozen=True)
class StudentQuestion:
    """A question as one student gets it: with this student's seed, without a "solution" until the reveal.

    attempt: the one that comes next, or the last one made when no more can be. Pass it back with the answer.
    The seed makes the solution computable: draw the question from it, but never show it or put it in a link.
    """

    index: int
    question: dict[str, Json]
    attempt: int
    attempts_left: int
    answers: tuple[OwnAnswer, ...]


@dataclass(frozen=True)
class StudentView:
    """Everything one student may see. `questions` is empty until the assignment opens."""

    title: str
    state: State
    opens_at: datetime | None
    closes_at: datetime | None
    options: Options
    number: int
    name: str
    questions: tuple[StudentQuestion, ...]
    question_count: int
    server_time: datetime

    @property
    def revealed(self) -> bool:
        """Whether solutions may be shown."""
        return self.state == "revealed"


@dataclass(frozen=True)
class Receipt:
    """An answer is on disk. replayed: it already was, this call stored nothing."""

    question: int
    attempt: int
    submitted_at: datetime
    attempts_left: int
    replayed: bool
    result: Grade | None


@dataclass(frozen=True)
class StudentProgress:
    """A row of the desk's table. Per question: the points that count (None: no answer yet) and the attempts made."""

    number: int
    name: str
    joined_at: datetime
    scores: tuple[float | None, ...]
    max_scores: tuple[float | None, ...]
    attempts: tuple[int, ...]
    last_answer_at: datetime | None

    @property
    def answered(self) -> int:
        """How many questions have an answer."""
        return sum(score is not None for score in self.scores)

    @property
    def score(self) -> float:
        """The points that count, over all questions answered."""
        return sum(score for score in self.scores if score is not None)

    @property
    def max_score(self) -> float:
        """The points that could be had in the questions answered."""
        return sum(score for score in self.max_scores if score is not None)


@dataclass(frozen=True)
class QuestionProgress:
    """How the room did on one question.

    mean_share: mean of score / max over the answers that count. full, none: how many got all points, how many none.
    misconceptions: how many students showed each one, in any attempt (a later right answer does not hide it).
    """

    index: int
    answered: int
    mean_share: float | None
    full: int
    none: int
    misconceptions: dict[str, int]


@dataclass(frozen=True)
class Progress:
    """The room at one moment. finished: students who answered every question."""

    assignment: Assignment
    at: datetime
    students: tuple[StudentProgress, ...]
    questions: tuple[QuestionProgress, ...]
    started: int
    finished: int


@dataclass(frozen=True)
class AnswerRow:
    """One stored answer with everything about it. counts: whether it is the attempt whose points count."""

    number: int
    name: str
    question: int
    attempt: int
    counts: bool
    answers: Json
    result: Grade
    submitted_at: datetime


@dataclass(frozen=True)
class Deleted:
    """What was deleted. wiped: also its remains in the database file; if not, the next deletion takes them along."""

    students: int
    answers: int
    wiped: bool
