"""Submitting, what people type, and forgetting: the same on SQLite and on PostgreSQL."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import cast

import pytest
from sqlalchemy import select

from specdec_core.classroom import Classroom, Desk, Grade, GradeStep, Options, limits, testing
from specdec_core.classroom.database import Database
from specdec_core.classroom.tables import tries
from tests.classroom_fixtures import REFERENCES, START, Clock, Grader, clock, desk, points, refused, room, whole

__all__ = ["clock", "desk", "room"]  # fixtures


# -- submitting ----------------------------------------------------------------------------------------------------


def test_pressing_twice_stores_once(room: Classroom, desk: Desk, clock: Clock) -> None:
    assignment = whole(desk)
    seat = room.join(assignment.code)
    first = room.submit(seat.token, 0, "mine", points(1), "press-one")
    clock.pass_time(seconds=1)
    grader = points(2)
    again = room.submit(seat.token, 0, "changed", grader, "press-one")
    assert again.replayed and not grader.seen
    assert (again.submitted_at, again.result, again.attempt) == (first.submitted_at, first.result, 1)
    with refused("bad_input"):
        room.submit(seat.token, 1, "mine", points(1), "press-one")
    desk.close(assignment.id)
    assert room.submit(seat.token, 0, "mine", points(1), "press-one").replayed  # confirmed is confirmed
    assert [row.answers for row in desk.answers(assignment.id)] == ["mine"]


def test_the_first_answer_stands(room: Classroom, desk: Desk) -> None:
    assignment = whole(desk)
    seat = room.join(assignment.code)
    room.submit(seat.token, 0, "first", points(0), "press-one")
    with refused("answered"):
        room.submit(seat.token, 0, "second", points(2), "press-two")
    with refused("answered"):
        room.submit(seat.token, 0, "second", points(2), "press-two", attempt=2)
    assert [row.answers for row in desk.answers(assignment.id, question=0)] == ["first"]


@pytest.mark.parametrize(("counts", "score"), [("best", 2.0), ("last", 1.0)])
def test_which_attempt_counts(room: Classroom, desk: Desk, counts: str, score: float) -> None:
    assignment = whole(desk, attempts=3, counts=counts)
    seat = room.join(assignment.code)
    for attempt, gained in enumerate((0, 2, 1), 1):
        wrong = () if gained else ("off_by_one",)
        room.submit(seat.token, 0, attempt, points(gained, *wrong), f"press-no-{attempt}", attempt)
    seen = desk.progress(assignment.id)
    assert (seen.students[0].scores[0], seen.students[0].attempts[0]) == (score, 3)
    assert seen.questions[0].misconceptions == {"off_by_one": 1}  # a later right answer does not hide it
    assert [row.answers for row in desk.answers(assignment.id) if row.counts] == [2 if counts == "best" else 3]


def test_out_of_time_is_refused(room: Classroom, desk: Desk, clock: Clock) -> None:
    opens, closes = START + timedelta(minutes=5), START + timedelta(minutes=10)
    assignment = desk.create_assignment("Timed", REFERENCES, opens_at=opens, closes_at=closes)
    seat = room.join(assignment.code)
    with refused("early"):
        room.submit(seat.token, 0, 1, points(1), "press-one")
    clock.now = opens
    room.submit(seat.token, 0, 1, points(1), "press-one")
    clock.now = closes
    with refused("closed"):
        room.submit(seat.token, 1, 1, points(1), "press-two")
    with refused("closed"):
        room.join(assignment.code)
    assert desk.reopen(assignment.id).state == "open"
    room.submit(seat.token, 1, 1, points(1), "press-two")
    assert desk.close(assignment.id).state == "closed"
    desk.reveal(assignment.id)
    with refused("revealed"):
        desk.reopen(assignment.id)
    with refused("closed"):
        room.join(assignment.code)


def test_an_answer_cannot_slip_in_while_it_is_graded(room: Classroom, desk: Desk) -> None:
    """The grader takes its time; meanwhile the teacher reveals. What is asked before grading is asked again after."""
    assignment = whole(desk)
    seat = room.join(assignment.code)

    def slow(question: object, answers: object) -> Grade:
        desk.reveal(assignment.id)
        return Grade(2, 2)

    with refused("revealed"):
        room.submit(seat.token, 0, "copied", slow, "press-one")
    assert desk.answers(assignment.id) == ()


def test_a_broken_grader_stores_nothing(room: Classroom, desk: Desk) -> None:
    assignment = whole(desk)
    token = room.join(assignment.code).token
    out_of_range = [Grade(3, 2), Grade(-1, 2), Grade(float("nan"), 2), Grade(1, float("inf"))]
    for bad in [None, {"score": 1}, *out_of_range, Grade(1, 2, (1,)), Grade(1, 2, (GradeStep("s", 1, 2, "x"),))]:  # type: ignore[arg-type]
        with refused("bad_grade"):
            room.submit(token, 0, "x", Grader(bad), "press-one")
    assert desk.answers(assignment.id) == ()


def test_a_grade_may_come_as_json(room: Classroom, desk: Desk) -> None:
    grade = Grade(1.5, 2, (GradeStep("n_a", 1.5, 2, ("off_by_one",)),))
    receipt = room.submit(room.join(whole(desk).code).token, 0, "x", Grader(grade.to_json()), "press-one")
    assert receipt.result == grade


def test_submissions_that_make_no_sense(room: Classroom, desk: Desk) -> None:
    assignment = whole(desk)
    token = room.join(assignment.code).token
    for answers in (float("nan"), {"a": object()}, "x" * 20_001, {1: {2, 3}}):
        with refused("bad_input"):
            room.submit(token, 0, answers, points(1), "press-one")
    for key in ("", "short", "x" * 101, "with spaces in it", "päckchen-1", "a\0b\0c\0d\0e", "--------'", 7):
        with refused("bad_input"):
            room.submit(token, 0, 1, points(1), key)  # type: ignore[arg-type]
    for index in (-1, 3, 10**30, True, "0", None, 0.0):
        with refused("bad_input"):
            room.submit(token, index, 1, points(1), "press-one")  # type: ignore[arg-type]
    for attempt in (0, 2, -1, 10**30):
        with refused("answered"):
            room.submit(token, 0, 1, points(1), "press-one", attempt)
    assert desk.answers(assignment.id) == ()


# -- what people type ----------------------------------------------------------------------------------------------

NASTY = [
    "<script>alert(1)</script>",
    "Robert'); DROP TABLE students;--",
    '" OR ""="',
    "%s %(x)s {0} {name} :id",
    "=HYPERLINK(1)",
    "李明 👩‍🔬 Ωβ ‏",
    "\\x00 \\u0000",
]


def test_names_are_stored_as_typed(room: Classroom, desk: Desk) -> None:
    assignment = whole(desk)
    seats = [room.join(assignment.code, name) for name in NASTY]
    for seat, typed in zip(seats, NASTY, strict=True):
        assert room.student_view(seat.token).name == seat.name == typed.strip()
    assert [s.name for s in desk.progress(assignment.id).students] == [name.strip() for name in NASTY]


def test_any_text_survives_in_an_answer(room: Classroom, desk: Desk) -> None:
    assignment = whole(desk)
    for text in [*NASTY, "\0", "\ud800", "a\r\nb", "\u202e", "\x1b[31m"]:
        seat = room.join(assignment.code)
        room.submit(seat.token, 0, {text: [text]}, points(1), "press-one")
        assert room.student_view(seat.token).questions[0].answers[0].answers == {text: [text]}
    desk.export_csv(assignment.id, "answers")


def test_names_that_are_refused(room: Classroom, desk: Desk) -> None:
    assignment = whole(desk)
    for name in ("x" * 61, "a\0b", "a\nb", "\x1b[2J", "\u202egnp", "\ud800", "a\u2028b", 7, None):
        with refused("bad_input"):
            room.join(assignment.code, name)  # type: ignore[arg-type]
    room.join(assignment.code, "x" * 60)
    assert len(desk.progress(assignment.id).students) == 1


@pytest.mark.parametrize(
    ("title", "questions", "options", "times"),
    [
        ("", REFERENCES, {}, ()),
        ("   ", REFERENCES, {}, ()),
        ("x" * 201, REFERENCES, {}, ()),
        ("a\nb", REFERENCES, {}, ()),
        ("T", [], {}, ()),
        ("T", REFERENCES * 51, {}, ()),
        ("T", [{}], {}, ()),
        ("T", ["f"], {}, ()),
        ("T", [{"family": "f"}], {}, ()),
        ("T", [{"family": "", "level": 1}], {}, ()),
        ("T", [{"family": "f", "level": 1, "seed": "7"}], {}, ()),
        ("T", [{"family": "f", "level": 1, "question": {}}], {}, ()),
        ("T", [{"question": {"x": float("inf")}}], {}, ()),
        ("T", [{"question": {"x": "y" * 2_000_000}}], {}, ()),
        ("T", REFERENCES, {"attempts": 0}, ()),
        ("T", REFERENCES, {"attempts": 21}, ()),
        ("T", REFERENCES, {"counts": "worst"}, ()),
        ("T", REFERENCES, {"feedback": "never"}, ()),
        ("T", REFERENCES, {}, (START, START)),
        ("T", REFERENCES, {}, (datetime(2030, 1, 1), None)),
    ],
)
def test_assignments_that_are_refused(title: str, questions: list, options: dict, times: tuple) -> None:
    desk = Desk(cast(Database, None), Clock())  # refused before the database is asked
    with refused("bad_input"):
        desk.create_assignment(title, questions, Options(**options), *times)


def test_assignments_that_do_not_exist(desk: Desk) -> None:
    for method in (desk.progress, desk.reveal, desk.close, desk.reopen, desk.delete_assignment, desk.answers):
        with refused("unknown_assignment"):
            method("nope")


# -- forgetting ----------------------------------------------------------------------------------------------------


def test_deleting_really_deletes(room: Classroom, desk: Desk) -> None:
    keep = desk.create_assignment("Keep", REFERENCES)
    kept = room.join(keep.code, "KEPT-NAME")
    room.submit(kept.token, 0, "KEPT-ANSWER", points(1), "press-one")
    gone = whole(desk)
    for number in range(30):
        seat = room.join(gone.code, f"GONE-NAME-{number}")
        room.submit(seat.token, 0, "GONE-ANSWER " * 50, points(1), "press-one")
    assert desk.remove_student(gone.id, 30).students == 1
    deleted = desk.delete_class_data(gone.id)
    assert (deleted.students, deleted.answers, deleted.wiped) == (29, 29, True)
    with refused("unknown_seat"):
        room.student_view(seat.token)
    assert desk.assignment(gone.id).students == 0 and room.find(gone.code).title == "Why random?"
    assert room.student_view(kept.token).questions[0].answers[0].answers == "KEPT-ANSWER"
    assert desk.delete_assignment(gone.id).students == 0
    with refused("unknown_code"):
        room.find(gone.code)
    if room.database.is_sqlite:
        files = b"".join(file.read_bytes() for file in room.settings.data_folder.iterdir())
        assert b"KEPT-NAME" in files and b"GONE" not in files


def test_old_data_goes_by_itself(room: Classroom, desk: Desk, clock: Clock) -> None:
    assignment = whole(desk)
    old = room.join(assignment.code, "Old")
    room.submit(old.token, 0, 1, points(1), "press-one")
    clock.pass_time(days=100)
    young = room.join(assignment.code, "Young")
    clock.pass_time(days=81)
    room.join(assignment.code, "New")  # whoever comes next sets it off
    with refused("unknown_seat"):
        room.student_view(old.token)
    assert room.student_view(young.token).name == "Young"
    assert any("180 days" in str(sentence) for sentence in room.statement())


def test_addresses_of_wrong_tries_are_forgotten(room: Classroom, clock: Clock) -> None:
    with refused("unknown_code"):
        room.find("CCCC-CCCC-CCCC", source="192.0.2.7")
    clock.pass_time(minutes=5)
    with refused("unknown_code"):
        room.find("CCCC-CCCC-CCCC", source="192.0.2.8")
    clock.pass_time(minutes=11)
    room.purge_old()
    with room.database.read() as connection:
        assert connection.execute(select(tries.c.source_hash)).scalars().all() == [limits._hash("192.0.2.8")]


def test_the_statement_without_a_time_limit(tmp_path: Path) -> None:
    with testing.fresh_classroom("sqlite", tmp_path, retention_days=0) as room:
        assert room.purge_old() == 0
        assert str(room.statement()[-1]) == "It is kept until your teacher deletes it."
