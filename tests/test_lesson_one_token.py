"""Lesson 1's arithmetic: ties on paper, draws, words and picture that agree with the rule."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdec_core.acceptance import RANDOM
from specdec_core.figures.number_line import number_line, running_share
from specdec_core.lessons import one_token as core
from specdec_core.lessons.one_token import OneToken
from specdec_core.lessons.typed import is_short, read_probability, told_apart, written
from specdec_core.words import NOTATIONS

unit = st.fractions(0, 1, max_denominator=10_000)
above_zero = unit.filter(lambda x: x > 0)
tokens = st.builds(OneToken, q=above_zero, p=unit, r=unit)


def test_opens_on_the_classic() -> None:
    x = OneToken(Fraction(8, 10), Fraction(6, 10), Fraction(7, 10))
    assert x.ratio == Fraction(3, 4) and x.accepted and not x.tie
    assert core.arithmetic(x) == r"\frac{p}{q} = \frac{0.6}{0.8} = 0.75"
    assert core.comparison(x) == "r_t = 0.7 < 0.75"


@pytest.mark.parametrize(
    ("text", "value"),
    [("0.75", "3/4"), (".75", "3/4"), ("0,75", "3/4"), ("3/4", "3/4"), (" 75 % ", "3/4"), ("1", "1"), ("0", "0")],
)
def test_numbers_as_people_write_them(text: str, value: str) -> None:
    assert read_probability(text, "q") == (Fraction(value), "")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "blank"),
        ("   ", "blank"),
        ("abc", "“abc” is not a number"),
        ("nan", "not a number"),
        ("inf", "not a number"),
        ("1e999999999", "not a number"),
        ("1/0", "not a number"),
        ("-0.1", "below 0"),
        ("1.01", "above 1"),
        ("120 %", "above 1"),
        ("9" * 60, "not a number"),
    ],
)
def test_nonsense_gets_a_word_and_no_value(text: str, word: str) -> None:
    value, problem = read_probability(text, "q")
    assert value is None and word in problem and problem.startswith("q ")


@given(st.text(max_size=60))
def test_any_text_gives_a_probability_or_a_word(text: str) -> None:
    value, problem = read_probability(text, "p")
    assert (value is None) == bool(problem)
    assert value is None or 0 <= value <= 1


def test_ties_fall_as_on_paper() -> None:
    x = OneToken(Fraction("0.2"), Fraction("0.08"), Fraction("0.4"))
    assert 0.08 / 0.2 < 0.4, "in floats this is no tie"
    assert x.tie and x.accepted and "tie accepts" in core.verdict_words(x)


def test_p_zero_is_rejected_even_at_r_zero() -> None:
    x = OneToken(Fraction(1, 2), Fraction(0), Fraction(0))
    assert not x.accepted and "never" in core.verdict_words(x)


@given(tokens)
def test_verdict_sentence_and_comparison_agree_with_the_rule(x: OneToken) -> None:
    accepted = bool(RANDOM.accepts(x.p, x.q, x.r))
    assert x.accepted == accepted
    words = core.verdict_words(x)
    assert ("stays" in words) == accepted and ("falls" in words) == (not accepted)
    if x.p > 0:
        assert (">" in core.comparison(x)) == (not accepted)


@given(tokens, st.sampled_from(sorted(NOTATIONS)))
def test_every_notation_has_its_own_letters(x: OneToken, name: str) -> None:
    n = NOTATIONS[name]
    assert core.arithmetic(x, n).startswith(rf"\frac{{{n.tex['p']}}}{{{n.tex['q']}}}")
    assert n.r in core.picture_words(x, n)


@given(above_zero, unit, st.integers(0, 2**32 - 1))
def test_many_draws_are_judged_as_single_ones(q: Fraction, p: Fraction, seed: int) -> None:
    ticks = core.draws(seed, 30)
    one_by_one = [OneToken(q, p, Fraction(int(k), core.GRID)).accepted for k in ticks]
    assert core.stays(q, p, ticks).tolist() == one_by_one


@given(st.integers(0, 2**32 - 1), st.integers(0, 50), st.integers(0, 50))
def test_a_longer_series_begins_with_the_shorter(seed: int, n: int, more: int) -> None:
    long = core.draws(seed, n + more)
    assert (long[:n] == core.draws(seed, n)).all()
    assert not long.size or 1 <= long.min() <= long.max() <= core.GRID


@given(st.integers(1, core.GRID))
def test_a_drawn_number_is_typed_as_it_is(ticks: int) -> None:
    assert read_probability(core.draw_text(ticks), "r") == (Fraction(ticks, core.GRID), "")


def test_the_share_settles_at_the_length_of_the_bar() -> None:
    # 1000 draws, 5 standard errors of sqrt(0.375 * 0.625 / 1000) = 0.0153: a false alarm in 2 million seeds.
    share = core.running_frequency(core.stays(Fraction(8, 10), Fraction(3, 10), core.draws(7, core.MAX_DRAWS)))
    assert abs(share[-1] - 0.375) < 5 * 0.0153


@given(unit, unit)
def test_two_numbers_are_written_so_that_the_larger_looks_larger(a: Fraction, b: Fraction) -> None:
    left, right = told_apart(a, b)
    assert (Fraction(left) < Fraction(right)) == (a < b) and (left == right) == (a == b)


def test_written_is_short_and_honest() -> None:
    assert written(Fraction(3, 4)) == "0.75" and is_short(Fraction(3, 4))
    assert written(Fraction(2, 3)) == "0.6667" and not is_short(Fraction(2, 3))
    a, b = told_apart(Fraction(1, 10**30), Fraction(2, 10**30))
    assert a != b


@given(tokens)
def test_the_bar_and_the_mark_are_where_the_words_say(x: OneToken) -> None:
    ticks = core.draws(1, 20)
    kept = core.stays(x.q, x.p, ticks)
    draws = ((ticks / core.GRID).tolist(), kept.tolist())
    figure = number_line(float(x.bar), float(x.r), x.accepted, ("", ""), "light", draws=draws)
    widths = [bar.x[0] for bar in figure.data if bar.type == "bar"]
    assert sum(widths) == pytest.approx(1)
    points = {trace.name: len(trace.x) for trace in figure.data if trace.type == "scatter"}
    assert points == {f"accepted: {kept.sum()}": kept.sum(), f"rejected: {(~kept).sum()}": (~kept).sum()}
    assert f"{int(kept.sum())} lie inside the bar" in core.picture_words(x, kept=kept)
    assert any(("accepted" if x.accepted else "rejected") in str(a.text) for a in figure.layout.annotations)


def test_the_running_share_starts_at_the_first_draw() -> None:
    figure = running_share(np.array([1.0, 0.5]).tolist(), 0.75, "dark")
    assert list(figure.data[1].x) == [1, 2] and list(figure.data[0].y) == [0.75, 0.75]
