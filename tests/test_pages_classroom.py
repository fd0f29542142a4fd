"""The exercises page and the teacher's desk through the app: right, wrong and nonsense, and both doors."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from specdec_core.classroom import Classroom, Desk, Options
from specdec_core.classroom.keys import make_hash
from specdec_core.classroom.settings import Settings
from specdec_core.exercises import Kind, Question, entries, right_answers, variant
from specdec_core.figures.answers import answers_figure, answers_text, bars
from specdec_core.ui import classroom as shared

KEY = "a key for tests only"
TOKEN = "<b>$5</b> *x* [a](b) :sun:"


def page(name: str, **query: str) -> AppTest:
    at = AppTest.from_file("../app.py", default_timeout=60).run()
    for key, value in query.items():
        at.query_params[key] = value
    at.switch_page(f"pages/{name}.py").run()
    assert not at.exception, at.exception
    return at


def said(at: AppTest) -> str:
    """Everything in words, titles of messages included, without the marks that keep texts literal."""
    kinds: tuple[Any, ...] = (at.markdown, at.error, at.warning, at.info, at.success, at.caption, at.header)
    found = [f"{getattr(x.proto, 'title', '')} {x.value}" for kind in kinds for x in kind]
    return "\n".join(found).replace("\\", "")


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Classroom]:
    """A classroom of this test's own, with a desk; the app opens the same one."""
    monkeypatch.setenv("SPECDEC_DATA", str(tmp_path))
    monkeypatch.setenv("SPECDEC_TEACHER_KEY_HASH", make_hash(KEY, cost=1024))
    here = Classroom.open(Settings.from_environment())
    yield here
    here.close()


@pytest.fixture
def desk(room: Classroom) -> Desk:
    return room.open_desk(KEY)


# --- Practice --------------------------------------------------------------------------------------------------------


def practice(question: Question) -> AppTest:
    return page("exercises", family=question.family, level=str(question.level), seed=str(question.seed))


def answer(at: AppTest, question: Question, step: str, given: Any) -> AppTest:
    key = f"answer_{question.id}_{step}"
    kind = question.step(step).kind
    if kind in (Kind.NUMBER, Kind.INTEGER):
        at.text_input(key=key).set_value(given)
    elif kind is Kind.CHOICE:
        at.radio(key=key).set_value(given)
    elif kind is Kind.TOKEN_LIST:
        at.pills(key=key).set_value(given)
    elif kind is Kind.SELF_CHECK:
        at.text_area(key=key).set_value(given)
    else:
        for option in question.step(step).options:
            at.checkbox(key=f"{key}_{option.id}").set_value(option.id in given)
    at.button(key=f"check_{key}").click().run()
    assert not at.exception, at.exception
    return at


@pytest.mark.parametrize(("family", "level"), sorted({(e.family, e.level) for e in entries(needs_block=False)})[::4])
def test_right_answers_end_in_the_solution(family: str, level: int) -> None:
    question = variant(family, level, 5)
    at = practice(question)
    assert "Solution" not in said(at)
    right = right_answers(question)
    for step in question.steps:
        given = right[step.name]
        answer(at, question, step.name, given["text"] if isinstance(given, dict) else given)
    assert "at the first try" in said(at) and "Solution" in said(at)
    assert not at.error and not at.warning


def test_a_wrong_answer_names_its_misconception_and_gives_nothing_away() -> None:
    question = variant("first_rejected", 2, 17)
    at = practice(question)
    answer(at, question, "ratio", "20/19")
    assert "Not right: Inverted ratio" in said(at) and "0 of 1 point" in said(at)
    assert "0.95" not in said(at)
    answer(at, question, "ratio", "0,95")
    assert "Inverted ratio" not in said(at) and at.text_input(key=f"answer_{question.id}_ratio").disabled
    answer(at, question, "first", "t3")
    answer(at, question, "n_a", "3")
    assert "Counted the rejected" in said(at)
    answer(at, question, "n_a", "2")
    answer(at, question, "not_reached", ["t4"])
    assert "**5 points of 5" not in said(at) and "5 of 5 points**; at the first try 3" in said(at)


@pytest.mark.parametrize("nonsense", ["dog", "1/0", "<b>1</b>", "NaN", "-", "9" * 39])
def test_nonsense_gets_a_word_and_no_crash(nonsense: str) -> None:
    question = variant("first_rejected", 2, 17)
    at = answer(practice(question), question, "ratio", nonsense)
    assert at.warning or at.error
    assert "Solution" not in said(at)


def test_nothing_answered_is_no_try() -> None:
    question = variant("first_rejected", 2, 17)
    at = answer(practice(question), question, "ratio", "  ")
    assert "Answer first" in said(at) and "Step 2" not in said(at)


def test_hints_come_one_after_the_other() -> None:
    question = variant("first_rejected", 2, 17)
    at = answer(practice(question), question, "ratio", "0.95")
    step = question.step("first")
    button = f"hint_answer_{question.id}_first"
    assert step.hints[0] not in said(at)
    at.button(key=button).click().run()
    assert step.hints[0] in said(at) and step.hints[1] not in said(at)
    at.button(key=button).click().run()
    assert step.hints[1] in said(at)
    assert button not in {b.key for b in at.button}


def test_the_solution_can_be_shown_and_a_new_variant_starts_afresh() -> None:
    question = variant("why_random", 2, 3)
    at = practice(question)
    at.button(key="show_solution").click().run()
    assert "Solution" in said(at) and not at.exception
    at.button(key="next_variant").click().run()
    assert at.number_input(key="seed").value != 3 and "Solution" not in said(at)


def test_a_broken_link_is_said() -> None:
    words = said(page("exercises", family="<b>no</b>", seed="-1"))
    assert "family = <b>no</b>" in words and "seed = -1" in words
    assert "level = 99" in said(page("exercises", family="how_far", level="99"))


def test_filters_leave_what_fits() -> None:
    at = page("exercises")
    at.pills(key="topics_wanted").set_value(["residual"]).run()
    assert at.selectbox(key="family_choice").value == "the_correction"
    at.pills(key="thinking_wanted").set_value(["remember"]).run()
    assert "The filters are ignored" in said(at) and not at.exception


def test_questions_of_real_blocks_say_where_blocks_come_from() -> None:
    at = page("exercises", family="real_block", level="2", seed="1")
    assert "Make it a question" in said(at)


def test_a_recorded_block_becomes_a_question() -> None:
    at = page("live_models", live_from="recorded")
    at.query_params["family"] = "real_block"  # as the link “Make it a question” does
    at.switch_page("pages/exercises.py").run()
    assert at.selectbox(key="family_choice").value == "real_block" and "draft" in said(at)


# --- The desk --------------------------------------------------------------------------------------------------------


def test_the_desk_is_off_without_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPECDEC_DATA", str(tmp_path))
    at = page("teachers_desk")
    assert "The desk is off" in said(at) and "teacher_key" not in {t.key for t in at.text_input}


def test_a_wrong_hash_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPECDEC_DATA", str(tmp_path))
    monkeypatch.setenv("SPECDEC_TEACHER_KEY_HASH", "hunter2")
    at = page("teachers_desk")
    assert "no key's hash" in said(at) and "hunter2" not in said(at)


def open_desk(key: str = KEY) -> AppTest:
    at = page("teachers_desk")
    at.text_input(key="teacher_key").set_value(key)
    at.button(key="open_desk").click().run()
    assert not at.exception, at.exception
    return at


def test_a_wrong_key_opens_nothing(room: Classroom) -> None:
    at = open_desk("not the key at all")
    assert "This is not the teacher key." in said(at) and "desk_view_choice" not in at.session_state
    at.text_input(key="teacher_key").set_value(KEY)
    at.button(key="open_desk").click().run()
    assert "No assignment yet" in said(at)
    at.button(key="lock_desk").click().run()
    assert "Teacher key" in {t.label for t in at.text_input}


def test_composing_makes_an_assignment_with_secret_seeds(room: Classroom, desk: Desk) -> None:
    at = open_desk()
    at.segmented_control(key="desk_view_choice").set_value("compose").run()
    at.button(key="desk_create").click().run()
    assert "Add a question first." in said(at)
    at.selectbox(key="desk_bank").set_value("first_rejected.2").run()
    at.button(key="desk_add").click().run()
    at.selectbox(key="desk_bank").set_value("how_far.1").run()
    at.button(key="desk_add").click().run()
    at.button(key="desk_down_0").click().run()
    at.button(key="desk_create").click().run()
    assert "needs a title" in said(at)
    at.text_input(key="desk_title").set_value(TOKEN)
    at.number_input(key="desk_attempts").set_value(2).run()
    at.button(key="desk_create").click().run()
    assert not at.exception, at.exception
    made = desk.assignments()[0]
    assert (
        made.title == TOKEN and made.options == Options(attempts=2) and made.code in "".join(x.value for x in at.code)
    )
    families = [(q["family"], q["level"]) for q in desk.questions(made.id)]
    assert families == [("how_far", 1), ("first_rejected", 2)]
    seeds = [str(q["seed"]) for q in desk.questions(made.id)]
    assert not any(seed in said(at) for seed in seeds)
    at.segmented_control(key="desk_view_choice").set_value("compose").run()
    assert at.text_input(key="desk_title").value == "" and at.number_input(key="desk_attempts").value == 2


def test_the_desk_shows_answers_and_the_misconception(room: Classroom, desk: Desk) -> None:
    made = desk.create_assignment("Class", [{"family": "first_rejected", "level": 2, "seed": 17}])
    seat = room.join(made.code, TOKEN)
    room.submit(seat.token, 0, {"ratio": "20/19"}, shared.grader, "press-0001")
    at = open_desk()
    assert "1 student has answered." in said(at) and TOKEN not in said(at)
    at.toggle(key="desk_names").set_value(True).run()
    assert TOKEN in at.dataframe[0].value.to_string()
    at.button(key="desk_reveal").click().run()
    assert desk.assignment(made.id).state == "revealed" and "The solutions are shown." in said(at)
    at.button(key="desk_copy").click().run()
    copy = desk.assignments()[0]
    assert copy.id != made.id and desk.questions(copy.id)[0]["seed"] != 17
    at.selectbox(key="desk_assignment").set_value(made.id).run()
    at.checkbox(key=f"desk_sure_{made.id}").set_value(True).run()
    at.button(key="desk_delete_class").click().run()
    assert "Deleted: 1 student, 1 answer." in said(at) and not desk.progress(made.id).students


# --- A seat ----------------------------------------------------------------------------------------------------------


def take_seat(code: str, name: str) -> AppTest:
    at = page("exercises", code=code)
    at.text_input(key="name_field").set_value(name)
    at.button(key="take_seat").click().run()
    assert not at.exception, at.exception
    return at


def hand_in(at: AppTest, index: int = 0, attempt: int = 1, **answers: Any) -> AppTest:
    for step, given in answers.items():
        at.text_input(key=f"seat_{index}_{attempt}_{step}").set_value(given)
    at.button(key=f"seat_{index}_{attempt}_hand_in").click().run()
    assert not at.exception, at.exception
    return at


def test_a_student_joins_answers_and_sees_the_solution_after_the_reveal(room: Classroom, desk: Desk) -> None:
    made = desk.create_assignment("Class", [{"family": "how_far", "level": 1, "seed": 40_000_000_007}])
    question = variant("how_far", 1, 40_000_000_007)
    at = page("exercises", code=made.code.lower())
    assert "Stored on this server" in said(at) and "180 days" in said(at)
    at = take_seat(made.code, TOKEN)
    assert TOKEN in said(at) and "40000000007" not in said(at)
    hand_in(at, all="")
    assert "nothing is answered yet" in said(at)
    hand_in(at, all="dog")
    assert "cannot be read" in said(at) and desk.progress(made.id).started == 0
    right = right_answers(question)["all"]
    hand_in(at, all=right)
    assert "Stored on the server at" in said(at) and desk.progress(made.id).finished == 1
    assert "Solution" not in said(at)
    again = page("exercises", seat=str(at.session_state["my_seat"]))
    assert "Stored on the server at" in said(again) and right in said(again)
    desk.reveal(made.id)
    again.run()
    assert "Solution" in said(again) and "No more answers are taken" in said(again)


def test_points_can_wait_and_attempts_are_counted(room: Classroom, desk: Desk) -> None:
    options = Options(attempts=2, feedback="after_reveal", hints=False)
    made = desk.create_assignment("Class", [{"family": "first_rejected", "level": 1, "seed": 3}], options)
    at = take_seat(made.code, "")
    assert "2 attempts left." in said(at) and not any("hint" in (b.key or "") for b in at.button)
    hand_in(at, n_a="1")
    assert "1 step is empty" in said(at) and desk.progress(made.id).started == 0
    hand_in(at, n_a="1")
    assert "The points come with the solutions." in said(at) and "1 attempt left." in said(at)
    assert "Not right" not in said(at)


def test_a_closed_door_and_forged_links_are_refused(room: Classroom, desk: Desk) -> None:
    made = desk.create_assignment("Class", [{"family": "how_far", "level": 1}])
    at = take_seat(made.code, "Ada")
    desk.close(made.id)
    hand_in(at, all="0.5")
    assert "this one was not stored" in said(at)
    assert "This assignment is closed." in said(at)
    assert "nobody can join it any more" in said(page("exercises", code=made.code))
    assert "no assignment with this code" in said(page("exercises", code="CCCC-CCCC-CCCC"))
    assert "This link is not valid" in said(page("exercises", seat="x" * 43))
    assert "no assignment with this code" in said(page("exercises", code="<script>alert(1)</script>"))


def test_whole_questions_with_hostile_tokens_are_literal(room: Classroom, desk: Desk) -> None:
    from specdec_core.exercises import question_to_plain

    plain = question_to_plain(variant("how_far", 1, 3))
    plain["title"] = TOKEN
    plain["stem"] = [{"text": TOKEN}]
    made = desk.create_assignment(TOKEN, [{"question": plain}])
    at = take_seat(made.code, TOKEN)
    assert said(at).count(TOKEN) >= 4
    assert not any(TOKEN in x.value for x in at.markdown), "shown without its escapes"


# --- The picture of answers ------------------------------------------------------------------------------------------


def test_bars_count_full_points_and_every_misconception() -> None:
    listed = bars(3, {"off_by_one": 1, "inverted_ratio": 2, TOKEN: 1}, {"inverted_ratio": "Inverted ratio"})
    assert [(b.name, b.students) for b in listed] == [
        ("Full points", 3),
        ("Inverted ratio", 2),
        (TOKEN, 1),
        ("off_by_one", 1),
    ]
    figure = answers_figure(listed, "dark", large=True)
    labels = list(figure.data[0].y)
    assert len(set(labels)) == 4 and "<b>" not in "".join(labels)
    assert "Inverted ratio: 2 students." in answers_text(listed)
