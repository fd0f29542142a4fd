"""Exports: written by us, read by readers that know only the formats, and the right answer is still the right one."""

import io
import re
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdec_core.exercises import (
    FORMATS,
    Answer,
    Kind,
    Option,
    Question,
    Step,
    Table,
    Text,
    Thinking,
    Wrong,
    entries,
    variant,
)
from specdec_core.exercises.formats.gift import to_gift
from specdec_core.exercises.formats.markdown import escape, to_markdown
from specdec_core.exercises.formats.moodle import to_moodle_xml
from specdec_core.exercises.formats.qti import to_qti
from specdec_core.exercises.formats.sheet import to_sheet
from specdec_core.exercises.question import SETS, answer_text
from specdec_core.exercises.values import decimal, visible
from tests.test_exercises_readers import Q, Read, correct_of, read_gift, read_moodle, read_qti, run_qti, text_of

F = Fraction
BANK = [variant(e.family, e.level, seed) for e in entries(needs_block=False) for seed in (3, 4)]
STEPS = [(question, step) for question in BANK for step in question.steps]
SPECIAL = [
    "<b>",
    "</p>",
    "$5",
    "$$x$$",
    "*",
    "~",
    "=",
    "#",
    "{",
    "}",
    ":",
    ":sun:",
    "&",
    "&amp;",
    "&#36;",
    '"',
    "'",
    "`",
]
SPECIAL += [
    "\\",
    "\\n",
    "//",
    "->",
    "[html]",
    "[a](b)",
    "_x_",
    "%50%",
    "::",
    "####",
    "é",
    "日本",
    "😀",
    "]]>",
    "<!--",
    "-->",
]
SPECIAL += [
    "␣the",
    "|",
    "\\\\",
    "&&058;",
    "T",
    "1:2",
    "<script>alert(1)</script>",
    "{{x}}",
    "${x}",
    "- a",
    "1. a",
    "^2^",
]


# --- GIFT and Moodle XML --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("write", "read"), [(to_gift, read_gift), (to_moodle_xml, read_moodle)])
def test_right_is_right_and_wrong_is_wrong_after_reading(write: Callable, read: Callable) -> None:
    found = read(write(BANK, "A set"))
    assert len(found) == len(STEPS)
    for item, (question, step) in zip(found, STEPS, strict=True):
        check_item(item, question, step)


def check_item(item: Read, question: Question, step: Step) -> None:
    assert item.name == f"{question.id} {step.name}"
    assert step.prompt in item.text
    if step.kind is Kind.SELF_CHECK:
        assert item.kind == "essay" and step.model_answer in item.feedback
        return
    if isinstance(step.answer, Fraction):
        check_number(item, step)
        return
    texts = {option.id: option.text for option in step.options}
    assert [answer[0] for answer in item.answers] == list(texts.values())
    if step.kind in SETS:
        check_set(item, step)
        return
    assert isinstance(step.answer, str)
    assert item.single and item.score(texts[step.answer]) == 100
    for wrong in step.wrong:
        assert isinstance(wrong.value, str)
        assert item.score(texts[wrong.value]) == 0 and item.feedback_for(texts[wrong.value]) == wrong.feedback


def check_number(item: Read, step: Step) -> None:
    assert isinstance(step.answer, Fraction)
    for value in (step.answer, step.answer - step.tolerance * F(99, 100), step.answer + step.tolerance * F(99, 100)):
        assert item.score(str(float(value))) == 100
    assert item.score(str(float(step.answer + step.tolerance * 2 + F(1, 1000)))) == 0
    for wrong in step.wrong:
        assert isinstance(wrong.value, Fraction)
        assert item.score(str(float(wrong.value))) == 0
        assert item.feedback_for(str(float(wrong.value))) == wrong.feedback


def check_set(item: Read, step: Step) -> None:
    """By place, because two tokens may have one text."""
    assert isinstance(step.answer, tuple) and not item.single
    share = {option.id: answer[1] for option, answer in zip(step.options, item.answers, strict=True)}
    right = set(step.answer)
    assert sum(share[id_] for id_ in right) == pytest.approx(100, abs=1e-3)
    for wrong in step.wrong:
        assert isinstance(wrong.value, tuple)
        assert sum(share[id_] for id_ in wrong.value) < 99


def test_moodle_carries_hints_and_tags() -> None:
    root = ET.fromstring(to_moodle_xml([variant("accept_or_reject", 2, 0)]))
    item = root.findall("question")[1]
    assert len(item.findall("hint")) == 2
    assert [tag.findtext("text") for tag in item.findall("tags/tag")] == ["the rule", "apply"]


# --- QTI ------------------------------------------------------------------------------------------------------------


def test_qti_items_grade_like_we_do() -> None:
    items = read_qti(to_qti(BANK, "A set"))
    assert len(items) == len(BANK)
    for item, question in zip(items, BANK, strict=True):
        responses = {f"R{i}": response(step, step.answer) for i, step in enumerate(question.steps, start=1)}
        score, shown = run_qti(item, responses)
        assert score == pytest.approx(question.max_points)
        assert not [name for name in shown if name.startswith("R") and "-" in name]
        for i, step in enumerate(question.steps, start=1):
            if step.answer is not None:
                check_declared(item, f"R{i}", step)
            check_wrong(item, question, i, responses)
        assert run_qti(item, {})[0] == 0


def response(step: Step, answer: Answer) -> list[str]:
    if isinstance(answer, Fraction):
        return [decimal(answer, 10)]
    return list(answer) if isinstance(answer, tuple) else [answer] if answer else ["text"]


def check_declared(item: ET.Element, name: str, step: Step) -> None:
    declared = correct_of(item, name)[: len(response(step, step.answer))]
    if isinstance(step.answer, Fraction):
        assert abs(F(declared[0]) - step.answer) < F(1, 10**9)
    else:
        assert set(declared) == set(response(step, step.answer))


def check_wrong(item: ET.Element, question: Question, i: int, responses: dict) -> None:
    step = question.steps[i - 1]
    for j, wrong in enumerate(step.wrong, start=1):
        score, shown = run_qti(item, {**responses, f"R{i}": response(step, wrong.value)})
        assert score < question.max_points - 1e-9 and f"R{i}-{j}" in shown
        says = [f for f in item.findall(f"{Q}modalFeedback") if f.get("identifier") == f"R{i}-{j}"]
        assert "".join(says[0].itertext()) == wrong.feedback


def test_qti_tolerance_and_partial_credit() -> None:
    question = variant("the_correction", 2, 1)
    (item,) = read_qti(to_qti([question]))
    answer = question.step("total").answer
    assert isinstance(answer, Fraction)
    assert run_qti(item, {"R1": [str(float(answer) + 0.0049)]})[0] == 1
    assert run_qti(item, {"R1": [str(float(answer) + 0.0051)]})[0] == 0
    marks = variant("what_the_draft_sees", 1, 1)
    (item,) = read_qti(to_qti([marks]))
    right = response(marks.steps[0], marks.steps[0].answer)
    assert 0 < run_qti(item, {"R1": right[:-1]})[0] < marks.max_points


def test_qti_is_the_same_twice_and_unpacks_nowhere_else() -> None:
    assert to_qti(BANK[:4]) == to_qti(BANK[:4])
    names = zipfile.ZipFile(io.BytesIO(to_qti(BANK[:4]))).namelist()
    assert all(re.fullmatch(r"imsmanifest\.xml|items/q\d{3}\.xml", name) for name in names)


# --- Markdown and the sheet -----------------------------------------------------------------------------------------


def test_answers_are_in_the_key_only() -> None:
    question = variant("why_random", 5, 2)
    for write in (to_markdown, to_sheet):
        plain, key = write([question]), write([question], answers=True)
        assert "never kept" not in plain and question.step("why").model_answer[:20] not in plain
        assert question.step("why").model_answer[:20] in key


def test_the_sheet_stands_alone() -> None:
    sheet = to_sheet(BANK, "A <title>", answers=True)
    text = text_of(sheet)
    assert "A <title>" in text and "@media print" in sheet and "<script" not in sheet
    assert not re.search(r"(?:src|href)=|url\(|@import", sheet)
    for question in BANK:
        for step in question.steps:
            assert step.prompt in text
            if step.kind is not Kind.SELF_CHECK:
                assert answer_text(step, step.answer) in text


def test_every_format_writes_every_question() -> None:
    for form in FORMATS.values():
        out = form.write(BANK, "Title")
        assert out and isinstance(out, bytes if form.name == "qti" else str)
        (out if isinstance(out, bytes) else out.encode("utf-8")).strip()
        assert form.write([], "") is not None


# --- special characters ---------------------------------------------------------------------------------------------


def with_text(text: str) -> Question:
    """A question with ``text`` everywhere where a token or a teacher's words can stand."""
    shown = visible(text)
    options = (Option("a", f"A {shown}"), Option("b", f"{shown} B"), Option("c", "C"))
    return Question(
        family="made",
        level=1,
        seed=0,
        title=f"T {shown}",
        thinking=Thinking.APPLY,
        topics=("t",),
        stem=(Text(f"{shown} stem {shown}"), Table(("token", shown), ((shown, "1"), ("x", shown)), "")),
        steps=(
            Step(
                "ratio",
                Kind.NUMBER,
                f"n {shown}",
                F(3, 4),
                tolerance=F(1, 200),
                wrong=(Wrong(F(4, 3), "inverted_ratio", f"f {shown}"),),
            ),
            Step("pick", Kind.CHOICE, f"{shown} c", "b", options=options, wrong=(Wrong("a", "off_by_one", shown),)),
            Step("marks", Kind.MULTI_CHOICE, f"m {shown}", ("a", "c"), options=options),
            Step("why", Kind.SELF_CHECK, "w", key_ideas=(Option("k1", shown),), model_answer=f"{shown} m", points=0),
        ),
        solution=(Text(f"s {shown}"),),
    )


def squeezed(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def survives(text: str) -> None:
    question = with_text(text)
    shown = squeezed(visible(text))
    for found in (read_gift(to_gift([question])), read_moodle(to_moodle_xml([question]))):
        ratio, pick, marks, why = found
        assert ratio.score("0.75") == 100 and squeezed(ratio.feedback_for("1.3333")) == squeezed(f"f {shown}")
        assert f"{shown} stem {shown}" in squeezed(ratio.text) and f"n {shown}" in squeezed(ratio.text)
        assert [squeezed(a[0]) for a in pick.answers] == [squeezed(o.text) for o in question.steps[1].options]
        assert [a[1] for a in pick.answers] == [0, 100, 0] and squeezed(pick.answers[0][2]) == shown
        assert [a[1] for a in marks.answers] == [50, -50, 50]
        assert shown in squeezed(why.feedback)
    (item,) = read_qti(to_qti([question]))
    assert f"{shown} stem {shown}" in squeezed("".join(item.itertext()))
    assert run_qti(item, {"R1": ["0.75"], "R2": ["b"], "R3": ["a", "c"]})[0] == 3
    assert f"{shown} stem {shown}" in squeezed(text_of(to_sheet([question], answers=True)))


@pytest.mark.parametrize("text", SPECIAL)
def test_special_characters_survive(text: str) -> None:
    survives(text)


@settings(max_examples=60, deadline=None)
@given(st.text(min_size=1, max_size=25))
def test_any_text_survives(text: str) -> None:
    survives(text)


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="\\#=~{}:$<>&[]*_`%/n-|\"' \n1", min_size=1, max_size=25))
def test_texts_of_nothing_but_trouble_survive(text: str) -> None:
    survives(text)


@settings(max_examples=200, deadline=None)
@given(
    st.text(max_size=30) | st.sampled_from(SPECIAL) | st.text(alphabet="\\#=~{}:$<>&[]*_`%/n-+|\"' \n1.)", max_size=20)
)
def test_markdown_shows_the_text_itself(text: str) -> None:
    markdown_it = pytest.importorskip("markdown_it")
    shown = visible(text)
    rendered = (
        markdown_it.MarkdownIt("commonmark").enable(["table", "strikethrough"]).render("x " + escape(shown) + " x")
    )
    assert squeezed(text_of(rendered)) == squeezed("x " + shown + " x")
    rendered = markdown_it.MarkdownIt("commonmark").enable("table").render(f"| a |\n| --- |\n| {escape(shown)} |")
    assert squeezed(text_of(rendered).split("\x1f")[-1]) == squeezed(shown)


def test_raw_controls_in_a_teachers_text_do_not_break_xml() -> None:
    question = replace(with_text("x"), stem=(Text("a\x00b\ud800c\ufffe"),))
    read_moodle(to_moodle_xml([question]))
    read_qti(to_qti([question]))
    to_sheet([question]).encode("utf-8")
    to_gift([question]).encode("utf-8")
    to_markdown([question]).encode("utf-8")
