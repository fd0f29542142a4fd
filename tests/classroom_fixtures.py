"""What the tests of the classroom share: a clock that stands, an empty classroom in either database, its desk."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from specdec_core.classroom import (
    Assignment,
    Classroom,
    ClassroomError,
    Desk,
    Grade,
    GradeStep,
    Options,
    testing,
)

START = datetime(2030, 1, 7, 9, 0, tzinfo=UTC)
REFERENCES = [{"family": "accept_one", "level": 1}, {"family": "residual", "level": 2}]
WHOLE = {"question": {"ask": "why?"}, "solution": {"because": "p"}}


class Clock:
    """A clock that only moves when told."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def pass_time(self, **how_long: float) -> None:
        self.now += timedelta(**how_long)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=testing.DATABASES)
def room(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[Classroom]:
    try:
        with testing.fresh_classroom(request.param, tmp_path / "data", clock) as room:
            yield room
    except testing.NoPostgresql as reason:
        pytest.skip(str(reason))


@pytest.fixture
def desk(room: Classroom) -> Desk:
    return room.open_desk(testing.TEACHER_KEY)


def points(score: float, *misconceptions: str) -> "Grader":
    return Grader(Grade(score, 2.0, (GradeStep("ratio", score, 2.0, misconceptions),)))


class Grader:
    """Gives what it was told to, and remembers what it was shown."""

    def __init__(self, grade: object) -> None:
        self.grade = grade
        self.seen: list[object] = []

    def __call__(self, question: object, answers: object) -> Grade:
        self.seen.append(question)
        return self.grade  # type: ignore[return-value]


def refused(kind: str) -> "pytest.RaisesExc[ClassroomError]":
    return pytest.raises(ClassroomError, check=lambda error: error.kind == kind and str(error).count("\n") == 0)


def whole(desk: Desk, **options: object) -> Assignment:
    return desk.create_assignment("Why random?", [WHOLE, *REFERENCES], Options(**options))  # type: ignore[arg-type]
