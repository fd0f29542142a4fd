"""Grading: partial credit, follow-through, feedback that never gives the answer away, and hostile answers."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdec_core.exercises import Kind, Option, Question, Status, Step, Text, Thinking, Wrong, grade, variant
from specdec_core.exercises.question import Follow
from specdec_core.exercises.values import decimal

F = Fraction


def choose(*ids: str) -> tuple[Option, ...]:
    return tuple(Option(id_, id_) for id_ in ids)


def question(*steps: Step) -> Question:
    return Question("made", 1, 0, "Made", Thinking.APPLY, ("t",), (Text("s"),), steps, (Text("s"),))


RATIO = Step(
    "ratio",
    Kind.NUMBER,
    "p/q?",
    F(3, 4),
    points=2,
    tolerance=F(5, 1000),
    wrong=(Wrong(F(4, 3), "inverted_ratio", "This is q/p."),),
)
DECISION = Step(
    "decision",
    Kind.CHOICE,
    "Which?",
    "rejected",
    options=choose("accepted", "rejected"),
    wrong=(Wrong("accepted", "compared_with_half", "Not 0.5."),),
    follow=Follow("decide", ("ratio",), {"r": F(9, 10)}),
)
ONE = question(RATIO, DECISION)


def test_all_right() -> None:
    result = grade(ONE, {"ratio": "3/4", "decision": "rejected"})
    assert (result.score, result.max_points, result.all_right, result.share) == (3, 3, True, 1.0)
    assert result.unanswered == () and result.misconceptions == ()


def test_a_slip_is_paid_for_once() -> None:
    result = grade(ONE, {"ratio": "1.33", "decision": "accepted"})
    assert [s.status for s in result.steps] == [Status.WRONG, Status.FOLLOW_THROUGH]
    assert result.score == 1 and result.misconceptions == ("inverted_ratio",)
    assert "earlier answer" in result.steps[1].feedback


def test_right_after_a_slip_is_right_too() -> None:
    result = grade(ONE, {"ratio": "1.33", "decision": "rejected"})
    assert result.score == 1 and result.steps[1].status is Status.RIGHT


def test_without_a_slip_nothing_follows() -> None:
    result = grade(ONE, {"ratio": "0.75", "decision": "accepted"})
    assert result.steps[1].status is Status.WRONG and result.steps[1].misconception == "compared_with_half"


def test_an_unanswered_step_gives_nothing_to_follow() -> None:
    result = grade(ONE, {"decision": "accepted"})
    assert result.unanswered == ("ratio",) and result.steps[1].status is Status.WRONG


@pytest.mark.parametrize("text", ["0.745", "0.755", "75%", "0,75", ".75"])
def test_the_tolerance_includes_its_ends(text: str) -> None:
    assert grade(ONE, {"ratio": text}).steps[0].status is Status.RIGHT


@pytest.mark.parametrize(
    ("text", "word"), [("0.7449", "Close"), ("75", "percent"), ("0.1", "not the number"), ("3 / 0", "zero"), ("?", "?")]
)
def test_what_is_off_is_said(text: str, word: str) -> None:
    step = grade(ONE, {"ratio": text}).steps[0]
    assert step.points == 0 and word in step.feedback and "0.75" not in step.feedback.replace("like 0.75", "")


def test_whole_numbers_are_whole() -> None:
    count = question(Step("n", Kind.INTEGER, "n?", F(2)))
    assert grade(count, {"n": "2.0"}).all_right and grade(count, {"n": 2}).all_right
    assert grade(count, {"n": "2.5"}).steps[0].status is Status.UNREADABLE


MARKS = Step(
    "marks",
    Kind.TOKEN_LIST,
    "Which?",
    ("a", "b"),
    points=2,
    options=choose("a", "b", "c"),
    wrong=(Wrong(("a", "b", "c"), "sees_itself", "Not c."),),
)


@pytest.mark.parametrize(
    ("given", "points", "status"),
    [
        (["a", "b"], 2, Status.RIGHT),
        (["b", "a", "a"], 2, Status.RIGHT),
        (["a"], 1, Status.PARTLY),
        (["a", "b", "c"], 1, Status.PARTLY),
        (["a", "c"], 0, Status.WRONG),
        (["c"], 0, Status.WRONG),
        ([], 0, Status.UNANSWERED),
        (["x"], 0, Status.UNREADABLE),
        ("a", 0, Status.UNREADABLE),
        ([["a"]], 0, Status.UNREADABLE),
    ],
)
def test_sets_earn_their_share(given: Any, points: int, status: Status) -> None:
    step = grade(question(MARKS), {"marks": given}).steps[0]
    assert (step.points, step.status) == (points, status)


def test_a_listed_set_keeps_its_misconception() -> None:
    step = grade(question(MARKS), {"marks": ["a", "b", "c"]}).steps[0]
    assert (step.misconception, step.feedback) == ("sees_itself", "Not c.")


FREE = Step("why", Kind.SELF_CHECK, "Why?", points=0, key_ideas=choose("k1", "k2"), model_answer="Because.")


@pytest.mark.parametrize("given", ["text", {"text": "t", "ticked": ["k1"]}, {"ticked": ["k1", "zz"]}, None, {}, 7, [1]])
def test_free_text_is_never_graded(given: Any) -> None:
    result = grade(question(RATIO, FREE), {"ratio": "0.75", "why": given})
    assert (result.score, result.max_points) == (2, 2)
    assert result.steps[1].status is Status.SELF_CHECK and result.steps[1].max_points == 0


def test_only_free_text_is_worth_nothing_and_complete() -> None:
    assert grade(question(FREE), {}).share == 1.0


def test_results_are_plain() -> None:
    plain = grade(ONE, {"ratio": "4/3", "decision": "accepted"}).to_plain()
    assert plain["score"] == "1" and plain["steps"][0]["misconception"] == "inverted_ratio"


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=60),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.sampled_from(["ratio", "decision", "marks", "why", "n", "x"]), ANYTHING))
def test_hostile_answers_never_break(answers: dict) -> None:
    asked = question(RATIO, DECISION, MARKS, Step("n", Kind.INTEGER, "n?", F(2)), FREE)
    result = grade(asked, answers)
    assert 0 <= result.score <= result.max_points and len(result.steps) == 5
    assert all(s.feedback for s in result.steps if s.status not in (Status.UNANSWERED, Status.RIGHT))


@pytest.mark.parametrize(
    ("family", "level", "first", "second"),
    [
        # (step, the slip's size) and the step that follows from it with a rule worked out here
        ("the_correction", 2, "total", "x_residual"),
        ("how_far", 4, "alpha", "all"),
        ("first_rejected", 2, "first", "n_a"),
        ("counting", 1, "n_a", "emitted"),
    ],
)
def test_follow_through_in_the_bank(family: str, level: int, first: str, second: str) -> None:
    for seed in range(25):
        asked = variant(family, level, seed)
        wrong = slip(asked, first)
        follows = expected_after(asked, first, wrong)
        step = asked.step(second)
        if isinstance(step.answer, Fraction) and abs(follows - step.answer) <= step.tolerance:
            continue
        result = grade(asked, {first: as_text(wrong), second: decimal(follows, 8)})
        marks = {s.name: s for s in result.steps}
        assert marks[first].status is Status.WRONG and marks[second].status is Status.FOLLOW_THROUGH, asked.id
        assert marks[second].points == step.points


def slip(asked: Question, name: str) -> Any:
    step = asked.step(name)
    if isinstance(step.answer, Fraction):
        return step.answer + (1 if step.kind is Kind.INTEGER else F(7, 100))
    return next(option.id for option in step.options if option.id not in (step.answer, "none"))


def as_text(value: Any) -> Any:
    return decimal(value, 8) if isinstance(value, Fraction) else value


def expected_after(asked: Question, first: str, wrong: Any) -> Fraction:
    if asked.family == "first_rejected":
        return F(int(wrong[1:]) - 1)
    if asked.family == "counting":
        return wrong + 1
    if asked.family == "how_far":
        tau = int(str(asked.stem).split("tau = ")[1].split(" ")[0])
        return wrong**tau
    assert asked.distributions is not None
    token = asked.step("x_residual").prompt.split("“")[1].split("”")[0]
    i = asked.distributions["vocabulary"].index(token)
    return (F(repr(asked.distributions["p"][i])) - F(repr(asked.distributions["q"][i]))) / wrong
