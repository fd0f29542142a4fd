"""Lesson 4: typed pairs, the identity, wrong corrections; picture, table, sentence and CSV say the same."""

import csv
import io
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdec_core.acceptance import Verdict
from specdec_core.figures.laws import law_bars, residual_bars, residual_text
from specdec_core.figures.overlap import overlap
from specdec_core.lessons import correction as lesson
from specdec_core.lessons import recorded_positions
from specdec_core.lessons.typed_pair import (
    MAX_LINK,
    TypedPair,
    TypedRow,
    from_link,
    read,
    scaled,
    table,
    to_link,
)
from specdec_core.numbers import probability
from specdec_core.trace import Position, Token, TopToken
from specdec_core.words import NOTATIONS

CLASSIC = lesson.presets()["classic"].rows
texts = st.text(max_size=12)


@st.composite
def pairs(draw: st.DrawFn) -> TypedPair:
    """Two exact distributions over 3 to 8 tokens, zeros and equal ones included."""
    size = draw(st.integers(3, 8))
    columns = []
    for _ in range(2):
        parts = draw(st.lists(st.integers(0, 12), min_size=size, max_size=size).filter(any))
        columns.append(tuple(Fraction(n, sum(parts)) for n in parts))
    q, p = columns
    return TypedPair(tuple(f"w{i}" for i in range(size)), q, draw(st.sampled_from((p, q))))


def pair(q: str, p: str) -> TypedPair:
    tokens = [f"w{i}" for i in range(len(q.split()))]
    found = read(table(tokens, q.split(), p.split())).pair
    assert found is not None
    return found


# --- what is typed --------------------------------------------------------------------------------------------------


def test_numbers_as_people_write_them() -> None:
    found = read(table("abc", ["0,5", " 25 % ", "1/4"], [".1", "0.60", "3/10"])).pair
    assert found is not None
    assert found.q == (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4))
    assert found.p == (Fraction(1, 10), Fraction(3, 5), Fraction(3, 10))


@pytest.mark.parametrize(
    ("cell", "word"),
    [
        ("", "blank"),
        ("  ", "blank"),
        ("x", "not a number"),
        ("nan", "not a number"),
        ("inf", "not a number"),
        ("1e-999", "not a number"),
        ("1/0", "not a number"),
        ("-0.1", "below 0"),
        ("1.5", "above 1"),
        ("9" * 50, "not a number"),
    ],
)
def test_a_fitting_word_for_every_slip(cell: str, word: str) -> None:
    reading = read(table("abc", ["0.5", "0.5", "0"], ["0.5", "0.5", cell]))
    assert reading.pair is None
    assert len(reading.problems) == 1
    assert word in reading.problems[0]
    assert "p of “c”" in reading.problems[0]


def test_the_letters_in_the_message_are_those_in_use() -> None:
    reading = read(table("abc", ["0.5", "0.5", "0"], ["0.5", "0.5", "x"]), NOTATIONS["chen"])
    assert "q of “c”" in reading.problems[0]


def test_sums_are_said_and_never_mended() -> None:
    reading = read(table("abc", ["0.5", "0.3", "0.1"], ["0.3333"] * 3))
    assert reading.pair is None
    assert reading.off == ("q", "p")
    assert reading.problems == ("q sums to 0.9: 0.1 is missing to 1.", "p sums to 0.9999: 0.0001 is missing to 1.")
    assert reading.numbers is not None
    assert read(table("abc", ["1/3"] * 3, ["1", "0", "0"])).pair is not None


@pytest.mark.parametrize(
    ("rows", "word"),
    [
        ((), "0 rows"),
        (CLASSIC[:2], "2 rows"),
        (table(map(str, range(300)), ["0"] * 300, ["0"] * 300), "300 rows"),
        (table(["a", "", "c"], ["1", "0", "0"], ["1", "0", "0"]), "Row 2 has no token"),
        (table(["a", "b", "a"], ["1", "0", "0"], ["1", "0", "0"]), "Two rows have the token “a”"),
    ],
)
def test_rows_that_are_no_table(rows: tuple[TypedRow, ...], word: str) -> None:
    reading = read(rows)
    assert reading.pair is None
    assert word in " ".join(reading.problems)


@given(st.lists(st.fractions(0, 1, max_denominator=10**6), min_size=1, max_size=8))
def test_scaled_adds_up_to_one_and_keeps_zeros(values: list[Fraction]) -> None:
    new = scaled(values)
    if not any(values):
        assert new is None
        return
    assert new is not None
    numbers = [Fraction(text) for text in new]
    assert sum(numbers) == 1
    for before, after in zip(values, numbers, strict=True):
        assert (before == 0) == (after == 0)
        assert abs(after - before / sum(values)) < Fraction(1, 1000)


@given(st.lists(st.builds(TypedRow, texts, texts, texts), min_size=1, max_size=12))
def test_a_link_gives_the_table_back(rows: list[TypedRow]) -> None:
    text = to_link(rows)
    if text is not None:
        assert from_link(text) == tuple(rows)


@given(st.text(alphabet="ab_*-us0.5 ", max_size=60))
def test_a_link_is_read_or_refused(text: str) -> None:
    try:
        rows = from_link(text)
    except ValueError:
        return
    assert to_link(rows) == text


def test_an_endless_table_has_no_link() -> None:
    assert to_link(CLASSIC * 9) is None
    assert to_link([TypedRow("x" * MAX_LINK, "", "")]) is None
    with pytest.raises(ValueError):
        from_link("a_b_c*" * 500)


# --- the correction -------------------------------------------------------------------------------------------------


def test_the_classic() -> None:
    x = lesson.of_pair(pair("0.5 0.3 0.2", "0.1 0.6 0.3"))
    assert x.alpha == 0.6
    assert x.rejected == 0.4
    assert [piece.residual for piece in x.pieces] == [0, 0.75, 0.25]
    again = lesson.outcome(x, "target")
    assert again.output == pytest.approx((0.14, 0.54, 0.32))
    assert again.tv == pytest.approx(0.06)
    assert lesson.outcome(x, "argmax").output == pytest.approx((0.1, 0.7, 0.2))


@given(pairs())
def test_kept_and_residual_add_up_to_p(x: TypedPair) -> None:
    found = lesson.of_pair(x)
    for piece in found.pieces:
        assert found.back(piece) == pytest.approx(piece.p, abs=1e-12)
        assert piece.kept + piece.cut == pytest.approx(piece.q, abs=1e-12)
        assert piece.kept + piece.lack == pytest.approx(piece.p, abs=1e-12)
        assert piece.cut == 0 or piece.lack == 0
    assert found.nothing_left == (x.p == x.q)
    assert sum(piece.residual for piece in found.pieces) == pytest.approx(0 if found.nothing_left else 1)


@given(pairs(), st.sampled_from(("residual", "target", "argmax")))
def test_outcomes_are_those_of_the_engine(x: TypedPair, name: str) -> None:
    mine, engine = lesson.outcome(lesson.of_pair(x), name), lesson.law(x, name)
    np.testing.assert_allclose(mine.output, engine.output, atol=1e-12)
    assert mine.tv == pytest.approx(engine.tv, abs=1e-12)
    assert not mine.at_least


@settings(max_examples=25)  # figures take their time
@given(pairs())
def test_picture_table_sentence_and_csv_agree(x: TypedPair) -> None:
    found = lesson.of_pair(x)
    rows = list(csv.DictReader(io.StringIO(lesson.to_csv(found))))
    figure = overlap(x.tokens, x.p_array.tolist(), x.q_array.tolist(), "light")
    bars = residual_bars(found, "dark")
    for i, (row, piece) in enumerate(zip(rows, found.pieces, strict=True)):
        assert float(row["kept"]) == piece.kept == pytest.approx(figure.data[0].x[i], abs=1e-15)
        assert float(row["cut"]) == piece.cut == pytest.approx(figure.data[1].x[i], abs=1e-15)
        assert float(row["lack"]) == piece.lack == pytest.approx(figure.data[2].x[i], abs=1e-15)
        assert float(row["residual"]) == piece.residual == bars.data[0].x[i]
        assert float(row["sum"]) == found.back(piece)
        if not found.nothing_left:
            assert f"“{piece.token}” {probability(piece.residual)}" in residual_text(found)
    sentence = lesson.summary(found)
    if 0 < found.alpha < 1:
        assert f"α = {probability(found.alpha)}" in sentence
        most = max(found.pieces, key=lambda piece: piece.lack)
        assert f"“{most.token}”" in sentence
    result = lesson.outcome(found, "target")
    figure = law_bars(x.tokens, x.p_array.tolist(), result.output, "out", "light")
    assert tuple(figure.data[1].x) == result.output
    if not result.exact and not found.nothing_left:
        assert probability(result.tv) in lesson.wrong_sentence(found, result)


@given(pairs(), st.sampled_from(sorted(NOTATIONS)))
def test_every_sentence_can_be_said(x: TypedPair, notation: str) -> None:
    found = lesson.of_pair(x)
    said = [lesson.summary(found, NOTATIONS[notation])]
    said += [
        lesson.wrong_sentence(found, lesson.outcome(found, n), NOTATIONS[notation]) for n in ("residual", "argmax")
    ]
    for sentence in said:
        assert sentence.endswith(".")
        assert "{" not in sentence


def test_all_presets_can_be_read() -> None:
    for preset in lesson.presets().values():
        assert read(preset.rows).pair is not None, preset.name
        assert lesson.preset_title(preset.name)


# --- recorded positions ---------------------------------------------------------------------------------------------


def recorded(top: list[tuple[float, float]], alpha: float, others: float) -> Position:
    """A position whose listed tokens lack ``others`` of q's and p's mass."""
    lack = [max(0.0, p - q) for q, p in top]
    tokens = [
        TopToken(Token(f"w{i}", i), q, p, value / (1 - alpha))
        for i, ((q, p), value) in enumerate(zip(top, lack, strict=True))
    ]
    assert sum(q for q, _ in top) == pytest.approx(1 - others)
    return Position(1, Token("w1", 1), top[1][0], top[1][1], 1.0, 1.0, 0.5, 0.5, Verdict.REJECTED, alpha, tuple(tokens))


def test_unlisted_tokens_stand_in_one_row() -> None:
    x = lesson.of_position(recorded([(0.5, 0.1), (0.2, 0.5)], alpha=0.45, others=0.3))
    assert x is not None
    last = x.pieces[-1]
    assert last.others
    assert x.candidate == 1
    assert (last.q, last.p) == pytest.approx((0.3, 0.4))
    assert sum(piece.kept for piece in x.pieces) == pytest.approx(0.45)
    assert sum(piece.residual for piece in x.pieces) == pytest.approx(1)
    for piece in x.pieces:
        assert x.back(piece) == pytest.approx(piece.p)
    assert lesson.outcome(x, "target").at_least
    assert not lesson.outcome(x, "argmax").at_least


def test_a_small_vocabulary_needs_no_such_row() -> None:
    x = lesson.of_position(recorded([(0.5, 0.1), (0.5, 0.9)], alpha=0.6, others=0.0))
    assert x is not None
    assert not any(piece.others for piece in x.pieces)


def test_recorded_positions_are_cut_to_what_fits() -> None:
    for _title, _block, position in recorded_positions.positions().values():
        x = lesson.of_position(position)
        assert x is not None
        assert len(x.listed) <= lesson.LISTED + 3
        assert x.candidate is not None and x.pieces[x.candidate].token == position.token.text
        for piece in x.pieces:
            assert x.back(piece) == pytest.approx(piece.p, abs=1e-8)
        assert sum(piece.q for piece in x.pieces) == pytest.approx(1, abs=1e-8)
        assert max(position.top, key=lambda t: t.residual).residual == max(piece.residual for piece in x.listed)


def test_a_position_without_distributions_is_none() -> None:
    bare = Position(1, Token("a"), 0.5, 0.5, 1.0, 1.0, 0.5, 0.5, Verdict.ACCEPTED)
    assert lesson.of_position(bare) is None


def test_token_texts_cannot_run_in_a_spreadsheet() -> None:
    found = read(table(["=1+1", "b", "c"], ["1", "0", "0"], ["1", "0", "0"])).pair
    assert found is not None
    assert "'=1+1" in lesson.to_csv(lesson.of_pair(found))
