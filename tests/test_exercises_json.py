"""Our own JSON: unchanged both ways, and nothing hostile gets in."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdec_core.exercises import InvalidQuestions, entries, from_json, grade, right_answers, to_json, variant
from specdec_core.exercises.formats.own import MAX_BYTES

BANK = [variant(e.family, e.level, seed) for e in entries(needs_block=False) for seed in (0, 1, 2)]


def test_there_and_back_unchanged() -> None:
    again = from_json(to_json(BANK, "A set"))
    assert again.title == "A set" and again.questions == tuple(BANK)
    assert to_json(again.questions, again.title) == to_json(BANK, "A set")
    for question in again.questions:
        assert grade(question, right_answers(question)).all_right


def change(path: str, value: Any) -> Callable[[dict], None]:
    """Sets the field at a path like questions.0.steps.0.kind."""

    def apply(data: dict) -> None:
        *way, last = [int(x) if x.isdigit() else x for x in path.split(".")]
        target: Any = data
        for name in way:
            target = target[name]
        target[last] = value

    return apply


STEP = "questions.0.steps.0"
FAULTS: list[tuple[Callable[[dict], None], str]] = [
    (change("format", "other/1"), "format"),
    (change("questions", []), "questions"),
    (change("questions", [1]), "object"),
    (change("questions", [{}] * 201), "200"),
    (change("title", 3), "title"),
    (change("title", "x" * 500), "too long"),
    (change("extra", 1), "extra"),
    (change("questions.0.family", "../etc/passwd"), "family"),
    (change("questions.0.level", 0), "level"),
    (change("questions.0.seed", -1), "seed"),
    (change("questions.0.seed", 2**70), "seed"),
    (change("questions.0.source", "zz"), "source"),
    (change("questions.0.thinking", "guess"), "thinking"),
    (change("questions.0.topics", "x"), "topics"),
    (change("questions.0.stem", []), "stem"),
    (change("questions.0.stem", [{"text": "x" * 5000}]), "too long"),
    (change("questions.0.stem", [{"text": "a\x00"}]), "character"),
    (change("questions.0.stem", [{"text": "\ud800"}]), "character"),
    (change("questions.0.stem", [{"columns": ["a", "b"], "rows": [["1"]], "caption": ""}]), "cells"),
    (change("questions.0.stem", [{"columns": ["a"], "rows": [["1"]] * 65, "caption": ""}]), "rows"),
    (change("questions.0.steps", []), "steps"),
    (change(f"{STEP}.kind", "essay"), "kind"),
    (change(f"{STEP}.name", "__class__"), "name"),
    (change(f"{STEP}.points", 1000), "points"),
    (change(f"{STEP}.points", True), "points"),
    (change(f"{STEP}.answer", 0.75), "answer"),
    (change(f"{STEP}.answer", "1/0"), "answer"),
    (change(f"{STEP}.answer", "1e999999"), "answer"),
    (change(f"{STEP}.answer", "9" * 100), "answer"),
    (change(f"{STEP}.answer", "NaN"), "answer"),
    (change(f"{STEP}.answer", "٣"), "answer"),
    (change(f"{STEP}.tolerance", "-1"), "tolerance"),
    (change(f"{STEP}.wrong.0.misconception", "nope"), "misconception"),
    (change(f"{STEP}.wrong.0.feedback", ""), "feedback"),
    (change(f"{STEP}.prompt", None), "prompt"),
    (change(f"{STEP}.hints", ["x"] * 11), "hints"),
    (change(f"{STEP}.follow", {"rule": "eval", "uses": ["x"], "numbers": {}}), "rule"),
    (change(f"{STEP}.follow", {"rule": "linear", "uses": ["later"], "numbers": {}}), "earlier"),
    (change("questions.0.steps.1.follow", {"rule": "decide", "uses": ["ratio"], "numbers": {}}), "needs"),
    (
        change("questions.0.steps.1.follow", {"rule": "power", "uses": ["ratio"], "numbers": {"exponent": "999999"}}),
        "range",
    ),
    (change("questions.0.steps.1.follow", {"rule": "linear", "uses": [], "numbers": {}}), "uses"),
    (change("questions.0.steps.1.answer", "perhaps"), "answer"),
    (change("questions.0.steps.1.options", [{"id": "a", "text": "x"}] * 2), "same id"),
    (change("questions.0.steps.1.options", [{"id": "<b>", "text": "x"}]), "id"),
    (change("questions.0.steps.1.name", "ratio"), "same name"),
    (change("questions.0.block", {"tokens": ["a"]}), "context"),
    (change("questions.0.block", {"tokens": ["a"], "context": [], "q": [2]}), "probability"),
    (change("questions.0.block", {"tokens": ["a"], "context": [], "q": []}), "numbers"),
    (change("questions.0.block", {"tokens": ["a"], "context": [], "html": "x"}), "html"),
    (change("questions.0.distributions", {"vocabulary": ["a"], "q": [1], "p": ["x"]}), "probability"),
]


@pytest.mark.parametrize("number", range(len(FAULTS)))
def test_a_fault_is_one_clear_sentence(number: int) -> None:
    apply, word = FAULTS[number]
    data = json.loads(to_json([variant("accept_or_reject", 2, 0)], "A set"))
    apply(data)
    with pytest.raises(InvalidQuestions) as caught:
        from_json(json.dumps(data))
    sentence = str(caught.value)
    assert word in sentence and "\n" not in sentence and len(sentence) < 250 and sentence.endswith(".")


def test_missing_fields_are_named() -> None:
    whole = json.loads(to_json([variant("accept_or_reject", 2, 0)]))
    for name in list(whole["questions"][0]):
        data = json.loads(json.dumps(whole))
        del data["questions"][0][name]
        with pytest.raises(InvalidQuestions, match=f"'{name}' is missing"):
            from_json(json.dumps(data))


def test_a_wrong_answer_that_is_right_is_refused() -> None:
    data = json.loads(to_json([variant("accept_or_reject", 2, 0)]))
    step = data["questions"][0]["steps"][0]
    step["wrong"][0]["value"] = step["answer"]
    with pytest.raises(InvalidQuestions, match="told from"):
        from_json(json.dumps(data))


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '"x"', "NaN", "[" * 100_000, '{"a":' * 50_000, "\x00", "1" * 5000]
)
def test_no_json_or_no_object(text: str) -> None:
    with pytest.raises(InvalidQuestions):
        from_json(text)


def test_too_big_is_refused_before_it_is_read() -> None:
    with pytest.raises(InvalidQuestions, match="too big"):
        from_json(" " * (MAX_BYTES + 1))


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(InvalidQuestions):
        from_json(b"\xff\xfe\x00{")


PLAIN = json.loads(to_json([variant("first_rejected", 3, 1)]))
PATHS: list[list[Any]] = []


def _walk(value: Any, way: list[Any]) -> None:
    PATHS.append(way)
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        _walk(inner, [*way, key])


_walk(PLAIN, [])
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(PATHS[1:]), ANYTHING)
def test_anything_anywhere_is_read_or_refused(way: list[Any], value: Any) -> None:
    data = json.loads(json.dumps(PLAIN))
    target = data
    for key in way[:-1]:
        target = target[key]
    target[way[-1]] = value
    try:
        (question,) = from_json(json.dumps(data)).questions
    except InvalidQuestions as error:
        assert str(error)
        return
    grade(question, right_answers(question))
