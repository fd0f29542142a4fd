"""The classroom's rules, the same on SQLite and on PostgreSQL: doors, what a student may see, variants."""

from datetime import timedelta

import pytest

from specdec_core.classroom import Classroom, Desk, Options, Seat, checks, testing
from tests.classroom_fixtures import REFERENCES, START, WHOLE, Clock, clock, desk, points, refused, room, whole

__all__ = ["clock", "desk", "room"]  # fixtures


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
