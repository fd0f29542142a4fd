"""Lesson 5: both thresholds on one pair; picture, table, sentence and CSV say the same, for every c."""

import csv
import io
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdec_core.acceptance import Rule, typed_law
from specdec_core.distributions import total_variation
from specdec_core.figures.laws import candidates, candidates_text, law_bars, law_text
from specdec_core.lessons import why_random as lesson
from specdec_core.lessons.typed_pair import TypedPair, read, table
from specdec_core.lessons.why_random import Fate, best_threshold, compare, samples
from specdec_core.numbers import probability
from specdec_core.words import NOTATIONS

from .test_lesson_correction import pair, pairs

thresholds = st.integers(0, 100).map(lambda n: n / 100)


def test_a_token_vanishes_at_one_half() -> None:
    x = compare(pair("0.5 0.3 0.2", "0.1 0.6 0.3"), 0.5)
    assert [row.fate for row in x.rows] == [Fate.THROWN, Fate.KEPT, Fate.KEPT]
    assert [row.fixed for row in x.rows] == pytest.approx([0, 0.675, 0.325])
    assert [row.token for row in x.vanished] == ["w0"]
    assert x.fixed.tv == pytest.approx(0.1)
    assert "“w0”" in lesson.conclusion(x)


def test_the_drafts_text_comes_out() -> None:
    x = compare(pair("0.6 0.25 0.15", "0.4 0.35 0.25"), 0.5)
    assert x.keeps_all
    np.testing.assert_allclose(x.fixed.output, x.pair.q_array)
    assert "the draft's q" in lesson.conclusion(x)


@pytest.mark.parametrize(("q", "p", "c"), [("0.4", "0.2", 0.5), ("0.1", "0.07", 0.7), ("0.3", "0.03", 0.1)])
def test_a_tie_is_kept_as_on_paper(q: str, p: str, c: float) -> None:
    rest_q, rest_p = str(1 - Fraction(q)), str(1 - Fraction(p))
    found = read(table("abc", [q, rest_q, "0"], [p, rest_p, "0"])).pair
    assert found is not None
    assert compare(found, c).rows[0].fate is Fate.KEPT


def test_no_chance_involved() -> None:
    x = compare(pair("0.5 0.3 0.2", "0 0.6 0.4"), 0.5)
    assert x.exact
    assert x.rows[0].fate is Fate.IMPOSSIBLE
    assert "chance has no part" in lesson.conclusion(x)


@given(pairs(), thresholds)
def test_laws_are_those_of_the_engine(found: TypedPair, c: float) -> None:
    x = compare(found, c)
    np.testing.assert_allclose(x.random.output, found.p_array, atol=1e-12)
    if all((a * 100).denominator == 1 for a in (*found.p, *found.q)):
        np.testing.assert_allclose(
            x.fixed.output, typed_law(found.p_array, found.q_array, Rule("fixed", c)).output, atol=1e-12
        )
    assert x.fixed.output.sum() == pytest.approx(1)


@given(pairs(), thresholds)
def test_the_best_threshold_is_the_best(found: TypedPair, c: float) -> None:
    best_c, best_tv = best_threshold(found)
    assert 0 < best_c <= 1
    assert best_tv <= compare(found, c).fixed.tv + 1e-12
    # A fixed threshold is exact where the random rule has nothing to decide, and nowhere else.
    needless = all(not b or a == 0 or a >= b for a, b in zip(found.p, found.q, strict=True))
    assert (best_tv < 1e-12) == needless


@given(pairs(), thresholds)
def test_the_conclusion_is_true(found: TypedPair, c: float) -> None:
    x = compare(found, c)
    said = lesson.conclusion(x)
    tv = total_variation(x.fixed.output, found.p_array)
    if found.p == found.q:
        assert tv < 1e-12
    elif "exactly" in said:
        assert tv < 1e-12
        assert all(row.ratio is None or row.ratio == 0 or row.ratio >= 1 for row in x.rows)
    else:
        assert tv > 1e-12
        assert probability(x.fixed.tv) in said
        if "the draft's" in said:
            np.testing.assert_allclose(x.fixed.output, found.q_array, atol=1e-12)
        if "never appears" in said:
            assert x.vanished
        if "every candidate away" in said:
            assert x.fixed.residual is not None
            np.testing.assert_allclose(x.fixed.output, x.fixed.residual, atol=1e-12)
            assert all(row.fixed == 0 for row in x.rows if row.q >= row.p)
    assert (x.best_tv < 1e-12) == ("Change the table" in lesson.best_words(x))


@settings(max_examples=25)  # figures take their time
@given(pairs(), thresholds)
def test_picture_table_sentence_and_csv_agree(found: TypedPair, c: float) -> None:
    x = compare(found, c)
    rows = list(csv.DictReader(io.StringIO(lesson.to_csv(x))))
    p, out = [row.p for row in x.rows], [row.fixed for row in x.rows]
    figure = law_bars(found.tokens, p, out, "out", "light")
    said = law_text(found.tokens, p, out)
    for i, (line, row) in enumerate(zip(rows, x.rows, strict=True)):
        assert float(line["output_fixed"]) == row.fixed == figure.data[1].x[i]
        assert float(line["p"]) == row.p == figure.data[0].x[i]
        assert float(line["kept_random"]) == row.often
        assert (float(line["kept_fixed"]) == 1) == (row.fate is Fate.KEPT) == (lesson.fixed_words(row) == "always kept")
        assert f"comes out {probability(row.fixed)}" in said
        assert (lesson.random_words(row) == "always kept") == (row.often == 1)


@settings(max_examples=25)  # figures take their time
@given(pairs(), thresholds, st.integers(0, 9999))
def test_candidates_are_the_same_on_both_sides(found: TypedPair, c: float, seed: int) -> None:
    x = compare(found, c)
    drawn = samples(x, seed)
    assert drawn == samples(x, seed)
    fates = {row.token: row for row in x.rows}
    for s in drawn:
        row = fates[s.token]
        assert row.q > 0
        assert s.fixed_keeps == (row.fate is Fate.KEPT)
        assert s.bar == row.often
        assert s.random_keeps == (row.p > 0 and s.r <= (row.ratio or 0))
    for fixed in (False, True):
        figure = candidates(drawn, x, fixed, "light")
        kept = [s for s in drawn if (s.fixed_keeps if fixed else s.random_keeps)]
        assert list(figure.data[0].y) == [f"{s.n}" for s in kept]
        assert list(figure.data[0].x) == [s.bar for s in kept]
        assert list(figure.data[2].x) == [c if fixed else s.r for s in drawn]
        assert candidates_text(drawn, x, fixed).count(" kept") == len(kept)


def test_draws_and_thresholds_come_from_two_streams() -> None:
    """Were they one, r would follow from which token was drawn, and the random rule would be wrong."""
    x = compare(pair("0.5 0.5 0", "0.25 0.5 0.25"), 0.5)
    drawn = samples(x, 7, n=4000)
    kept = [s.random_keeps for s in drawn if s.token == "w0"]
    # 2000 trials at 0.5: four standard errors are 0.045; a false alarm has probability 6e-5, and the seed is fixed.
    assert np.mean(kept) == pytest.approx(0.5, abs=0.045)


def test_presets_do_what_their_titles_say() -> None:
    found = {name: read(x.rows).pair for name, x in lesson.presets().items()}
    at_half = {name: compare(x, 0.5) for name, x in found.items() if x is not None}
    assert len(at_half) == len(found)
    assert at_half["vanishes"].vanished
    assert at_half["drafts"].keeps_all
    assert any(row.ratio == 0.5 and row.fate is Fate.KEPT for row in at_half["tie"].rows)
    assert at_half["residual"].keeps_none
    assert at_half["certain"].exact
    for name in found:
        for notation in NOTATIONS.values():
            assert "{" not in lesson.preset_title(name, notation)
            assert "{" not in lesson.conclusion(at_half[name], notation)
