"""The classroom's rules, the same on SQLite and on PostgreSQL: who may do what, when, and what comes of it."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

import pytest
from sqlalchemy import select

from specdec_core.classroom import (
    Assignment,
    Classroom,
    ClassroomError,
    Desk,
    Grade,
    GradeStep,
    Options,
    Seat,
    checks,
    limits,
    testing,
)
from specdec_core.classroom.database import Database
from specdec_core.classroom.tables import tries

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


# -- one lesson ----------------------------------------------------------------------------------------------------


def test_a_lesson_from_both_sides(room: Classroom, desk: Desk, clock: Clock) -> None:
    assignment = desk.create_assignment("Lesson 1", REFERENCES)
    assert (assignment.state, assignment.students, assignment.answers) == ("open", 0, 0)
    card = room.find(assignment.code)
    assert (card.title, card.question_count, card.state) == ("Lesson 1", 2, "open")
    ada, bob = room.join(assignment.code, "Ada"), room.join(assignment.code, "")
    assert (ada.number, bob.number, bob.name) == (1, 2, "")
    clock.pass_time(minutes=1)
    receipt = room.submit(ada.token, 0, {"ratio": "0,75"}, points(2), "ada-press-1")
    assert (receipt.replayed, receipt.attempts_left, receipt.submitted_at) == (False, 0, clock.now)
    room.submit(ada.token, 1, {"n_a": 2}, points(1, "off_by_one"), "ada-press-2")
    room.submit(bob.token, 0, {"ratio": "4/3"}, points(0, "inverted_ratio", "compared_with_half"), "bob-press-1")

    seen = desk.progress(assignment.id)
    assert [(s.name, s.scores, s.answered, s.score, s.max_score) for s in seen.students] == [
        ("Ada", (2.0, 1.0), 2, 3.0, 4.0),
        ("", (0.0, None), 1, 0.0, 2.0),
    ]
    assert (seen.started, seen.finished, seen.assignment.students, seen.assignment.answers) == (2, 1, 2, 3)
    first, second = seen.questions
    assert (first.answered, first.mean_share, first.full, first.none) == (2, 0.5, 1, 1)
    assert first.misconceptions == {"compared_with_half": 1, "inverted_ratio": 1}
    assert second.misconceptions == {"off_by_one": 1}

    view = room.student_view(ada.token)
    assert [q.answers[0].answers for q in view.questions] == [{"ratio": "0,75"}, {"n_a": 2}]
    assert view.questions[1].answers[0].result == points(1, "off_by_one").grade
    assert desk.reveal(assignment.id).state == "revealed"
    assert room.student_view(bob.token).revealed
    assert [a.title for a in desk.assignments()] == ["Lesson 1"]


def test_nothing_is_lost_by_a_restart(room: Classroom, desk: Desk) -> None:
    seat = room.join(whole(desk).code, "Ada")
    room.submit(seat.token, 0, [1, 2], points(1), "press-one")
    again = Classroom.open(room.settings)
    assert again.student_view(seat.token).questions[0].answers[0].answers == [1, 2]
    again.close()


# -- the doors -----------------------------------------------------------------------------------------------------


def test_wrong_keys_are_refused_and_limited(room: Classroom, clock: Clock) -> None:
    for _ in range(10):
        with refused("wrong_key"):
            room.open_desk("not the key at all", source="mallory")
    with refused("too_many_tries"):
        room.open_desk(testing.TEACHER_KEY, source="mallory")
    room.open_desk(testing.TEACHER_KEY, source="teacher")  # somebody else's tries are not hers
    clock.pass_time(minutes=16)
    room.open_desk(testing.TEACHER_KEY, source="mallory")


def test_right_keys_do_not_use_tries_up(room: Classroom) -> None:
    for _ in range(12):
        room.open_desk(f"  {testing.TEACHER_KEY}\n")


def test_tries_are_limited_in_total_too(room: Classroom, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specdec_core.classroom.keys.matches", lambda key, stored: False)
    for number in range(60):
        with refused("wrong_key"):
            room.open_desk("guess", source=f"address {number}")
    with refused("too_many_tries"):
        room.open_desk("guess", source="a fresh address")


def test_forged_codes_are_refused_and_limited(room: Classroom, desk: Desk, clock: Clock) -> None:
    assignment = whole(desk)
    for nonsense in ("", "hello", assignment.code[:-1], assignment.code + "C", "0000-0000-0000", "' OR 1=1 --"):
        with refused("unknown_code"):
            room.find(nonsense, source="mallory")
    for _ in range(100):
        with refused("unknown_code"):
            room.find("CCCC-CCCC-CCCC", source="mallory")
    with refused("too_many_tries"):
        room.join(assignment.code, source="mallory")
    room.join(assignment.code, source="a student")
    clock.pass_time(minutes=11)
    room.join(assignment.code, source="mallory")


def test_a_code_is_read_however_it_is_typed(room: Classroom, desk: Desk) -> None:
    code = whole(desk).code
    fullwidth = "".join(chr(ord(c) + 0xFEE0) for c in code)
    for typed in (code.lower(), code.replace("-", ""), code.replace("-", " – "), f" {code}\n", fullwidth):
        assert room.find(typed).title == "Why random?"


def test_forged_tokens_open_nothing(room: Classroom, desk: Desk) -> None:
    seat = room.join(whole(desk).code)
    for token in ("", "x", seat.token[:-1], seat.token + "A", seat.token.swapcase(), "' OR '1'='1", "\0", "\ud800"):
        with refused("unknown_seat"):
            room.student_view(token)
        with refused("unknown_seat"):
            room.submit(token, 0, 1, points(1), "press-one")
        with refused("unknown_seat"):
            room.attempt_question(token, 0, 1)


def test_a_full_class_is_full(room: Classroom, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "MOST_STUDENTS", 1)
    code = whole(desk).code
    room.join(code)
    with refused("full"):
        room.join(code)


# -- what a student may see ----------------------------------------------------------------------------------------


def test_a_token_sees_its_own_answers_and_class_only(room: Classroom, desk: Desk) -> None:
    one, other = whole(desk), desk.create_assignment("Another class", REFERENCES)
    ada, bob = room.join(one.code, "Ada"), room.join(one.code, "Bob")
    eve = room.join(other.code, "Eve")
    room.submit(ada.token, 0, {"secret": "ada's words"}, points(2), "press-one")
    for seat in (bob, eve):
        text = repr(room.student_view(seat.token))
        assert "ada's words" not in text and "Ada" not in text
    assert room.student_view(eve.token).title == "Another class"
    with refused("bad_input"):
        room.submit(eve.token, 2, 1, points(1), "press-one")  # one's third question is not other's
    # The same key and question from another seat is another answer, not a look at the first one's.
    receipt = room.submit(bob.token, 0, {"mine": 1}, points(0), "press-one")
    assert not receipt.replayed and receipt.result == points(0).grade


def test_solutions_are_held_back_until_the_reveal(room: Classroom, desk: Desk) -> None:
    assignment = whole(desk)
    seat = room.join(assignment.code)
    grader = points(1)
    room.submit(seat.token, 0, "p", grader, "press-one")
    assert grader.seen == [WHOLE]  # the grader needs it
    desk.close(assignment.id)
    assert room.student_view(seat.token).questions[0].question == {"question": WHOLE["question"]}
    assert "solution" not in room.attempt_question(seat.token, 0, 1)
    desk.reveal(assignment.id)
    assert room.student_view(seat.token).questions[0].question == WHOLE
    assert room.attempt_question(seat.token, 0, 1) == WHOLE
    with refused("bad_input"):
        room.attempt_question(seat.token, 1, 1)  # not answered


def test_points_can_be_held_back_too(room: Classroom, desk: Desk) -> None:
    assignment = whole(desk, feedback="after_reveal")
    seat = room.join(assignment.code)
    assert room.submit(seat.token, 0, "p", points(1), "press-one").result is None
    assert room.submit(seat.token, 0, "p", points(1), "press-one").result is None
    assert room.student_view(seat.token).questions[0].answers[0].result is None
    assert desk.progress(assignment.id).students[0].scores[0] == 1.0
    desk.reveal(assignment.id)
    assert room.student_view(seat.token).questions[0].answers[0].result == points(1).grade


def test_questions_are_hidden_before_the_opening(room: Classroom, desk: Desk, clock: Clock) -> None:
    opens, closes = START + timedelta(hours=1), START + timedelta(hours=2)
    assignment = desk.create_assignment("Later", [WHOLE], opens_at=opens, closes_at=closes)
    seat = room.join(assignment.code)
    view = room.student_view(seat.token)
    assert (view.state, view.questions, view.question_count) == ("waiting", (), 1)
    clock.now = opens
    assert len(room.student_view(seat.token).questions) == 1


# -- variants ------------------------------------------------------------------------------------------------------


def seeds(room: Classroom, seat: Seat) -> list[object]:
    return [q.question.get("seed") for q in room.student_view(seat.token).questions]


def test_one_variant_for_all(room: Classroom, desk: Desk) -> None:
    assignment = desk.create_assignment("Same", [*REFERENCES, {"family": "f", "level": "hard", "seed": 7}])
    ada, bob = room.join(assignment.code), room.join(assignment.code)
    assert seeds(room, ada) == seeds(room, bob)
    assert seeds(room, ada)[2] == 7 and len(set(seeds(room, ada))) == 3
    assert [desk.variant(assignment.id, i)["seed"] for i in range(3)] == seeds(room, ada)
    assert seeds(room, room.join(desk.duplicate(assignment.id).code))[:2] != seeds(room, ada)[:2]


def test_a_variant_for_each(room: Classroom, desk: Desk) -> None:
    entries = [{"family": "f", "level": 1, "seed": 7}, {"family": "f", "level": 1, "seed": 8}]
    assignment = desk.create_assignment("Own", entries, Options(per_student=True))
    ada, bob = room.join(assignment.code), room.join(assignment.code)
    drawn = seeds(room, ada) + seeds(room, bob)
    assert len(set(drawn)) == 4 and not {7, 8} & set(drawn)
    assert all(isinstance(seed, int) and 0 <= seed < 2**48 for seed in drawn)
    assert seeds(room, ada) == drawn[:2]  # stable
    assert desk.variant(assignment.id, 1, number=2)["seed"] == drawn[3]
    grader = points(1)
    room.submit(bob.token, 1, "x", grader, "press-one")
    assert grader.seen[0]["seed"] == drawn[3]  # type: ignore[index]
    for wrong in (None, 3):
        with refused("bad_input"):
            desk.variant(assignment.id, 1, number=wrong)


def test_a_new_variant_on_retry(room: Classroom, desk: Desk) -> None:
    assignment = desk.create_assignment("Retry", REFERENCES, Options(attempts=2, new_variant_on_retry=True))
    seat = room.join(assignment.code)
    before = room.student_view(seat.token).questions[0]
    room.submit(seat.token, 0, "x", points(0), "press-one", attempt=before.attempt)
    after = room.student_view(seat.token).questions[0]
    assert (before.attempt, after.attempt, after.attempts_left) == (1, 2, 1)
    assert before.question["seed"] != after.question["seed"]
    assert room.attempt_question(seat.token, 0, 1) == before.question
    with refused("answered"):  # the stale window still shows the first variant
        room.submit(seat.token, 0, "x", points(2), "press-two", attempt=before.attempt)
    desk.close(assignment.id)
    assert room.student_view(seat.token).questions[0].question == before.question  # the one that was answered


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
