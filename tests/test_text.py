"""Tokens made visible, numbers read and written, text kept literal."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdec_core.figures.overlap import overlap, overlap_text
from specdec_core.numbers import compared, probability, ratio, read_number
from specdec_core.tokens import shown, visible
from specdec_core.ui.literal import literal
from tests.strategies import NASTY


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (" on", "␣on"),
        ("a b", "a b"),
        ("  ", "␣␣"),
        ("\n\n", "⏎⏎"),
        ("", "∅"),
        ("<0xE2>", "<0xE2>"),
        ("<b>", "<b>"),
        ("\x00", "U+0000"),
        ("名", "名"),
        ("\u200b", "·"),
        ("\u202e", "U+202E"),
    ],
)
def test_shown(text: str, line: str) -> None:
    assert shown(text) == line


@given(st.text(max_size=30))
@settings(deadline=None)
def test_nothing_invisible_is_left(text: str) -> None:
    line = "".join(part.text for part in visible(text))
    assert line.isprintable() and line.strip() == line and line


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.75", "3/4"),
        (".75", "3/4"),
        ("0,75", "3/4"),
        ("3/4", "3/4"),
        ("75 %", "3/4"),
        ("75%", "3/4"),
        (" 1 ", "1"),
        ("−0.5", "-1/2"),
        ("1,5/3", "1/2"),
        ("7.5e-1", "3/4"),
        ("３／４", "3/4"),
    ],
)
def test_numbers_as_people_write_them(text: str, value: str) -> None:
    assert read_number(text) == Fraction(value)


@pytest.mark.parametrize(
    "text", ["", " ", "x", "1/0", "nan", "inf", "1e999", "1_0", "..", "--1", "1/2/3", "9" * 41, "٣"]
)
def test_nonsense_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        read_number(text)


@given(st.floats(0, 1))
@settings(deadline=None)
def test_a_probability_never_reads_as_certain_when_it_is_not(value: float) -> None:
    text = probability(value)
    assert (text == "0") == (value == 0)
    assert (text == "1") == (value == 1)


@given(st.floats(0, 1), st.floats(0, 3))
@settings(deadline=None)
def test_a_printed_comparison_is_true(a: float, b: float) -> None:
    left, right = compared(a, b)
    assert (float(left) > float(right)) == (a > b)


def test_ratio() -> None:
    assert [ratio(x) for x in (0.0, 0.75, 123.45, 1e6, float("inf"))] == ["0", "0.750", "123.5", "1,000,000", "∞"]


@given(st.text(max_size=40))
@settings(deadline=None)
def test_literal_leaves_no_live_character(text: str) -> None:
    out = literal(text)
    for special in "*_`$<>[]:~#|":
        assert out.replace("\\\\", "").count(special) == out.replace("\\\\", "").count("\\" + special)


@given(st.lists(st.sampled_from(NASTY), min_size=1, max_size=8))
@settings(max_examples=40, deadline=None)
def test_overlap_shows_p_and_q_and_keeps_labels_apart_and_literal(labels: list[str]) -> None:
    n = len(labels)
    p, q = [1 / n] * n, [(i + 1) / (n * (n + 1) / 2) for i in range(n)]
    figure = overlap(labels, p, q, "light", marked=0)
    kept, cut, lack = figure.data
    for i in range(n):
        assert kept.x[i] + cut.x[i] == pytest.approx(q[i])
        assert kept.x[i] + lack.x[i] == pytest.approx(p[i])
    assert len(set(kept.y)) == n
    assert all("<b>" not in y.replace("<b>▸", "") for y in kept.y)
    assert overlap_text(labels, p, q)
