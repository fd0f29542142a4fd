"""Numbers and texts as people read and write them."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdec_core.exercises.draws import Draws
from specdec_core.exercises.values import (
    MAX_NUMBER,
    InvalidNumber,
    about,
    decimal,
    decimal_on_paper,
    exact_text,
    on_paper,
    parse_number,
    places_of,
    visible,
)


@pytest.mark.parametrize(
    "text",
    [
        "0.75",
        ".75",
        "0,75",
        ",75",
        "3/4",
        " 3 / 4 ",
        "75 %",
        "75%",
        "75,0 %",
        "0.6/0.8",
        "0,6 / 0,8",
        "7.5e-1",
        "０．７５",
        "７５％",
        "¾",
        "= 0.75",
        "≈ 0.75",
        "+0.75",
        "0.750",
        "\u00a00.75\u00a0",
        "3⁄4",
        "3÷4",
    ],
)
def test_three_quarters_in_every_hand(text: str) -> None:
    assert parse_number(text) == Fraction(3, 4)


@pytest.mark.parametrize("text", ["-0.5", "−0.5", "- 0.5", "-1/2", "-50 %"])
def test_negative_numbers(text: str) -> None:
    assert parse_number(text) == Fraction(-1, 2)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "x",
        "nan",
        "NaN",
        "inf",
        "-inf",
        "Infinity",
        "1/0",
        "0/0",
        "1e99",
        "9" * 39,
        "9" * 500,
        "1,234.5",
        "1.234,5",
        "1 000",
        "3/4/5",
        "3/4 %",
        "--1",
        "1-",
        "%",
        "1e",
        "0x10",
        "1_000",
        "1/2e",
        "٣",
        "½½",
        "1..2",
        "/4",
        "\x00",
        "0.75\n0.75",
        "<b>1</b>",
        "１／０",
        "1e+",
        "e5",
        "true",
        "√2",
    ],
)
def test_nonsense_is_refused_with_one_sentence(text: str) -> None:
    with pytest.raises(InvalidNumber) as caught:
        parse_number(text)
    sentence = str(caught.value)
    assert "\n" not in sentence and sentence.endswith(".") and len(sentence) < 200


@given(st.text(max_size=50))
def test_any_text_is_a_number_of_bounded_size_or_refused(text: str) -> None:
    try:
        assert abs(parse_number(text)) <= MAX_NUMBER
    except InvalidNumber as error:
        assert str(error)


@given(st.fractions(min_value=-1000, max_value=1000, max_denominator=10**6))
def test_exact_text_reads_back_unchanged(value: Fraction) -> None:
    assert parse_number(exact_text(value)) == value


@given(st.integers(-(10**7), 10**7), st.integers(0, 6))
def test_decimals_show_and_read_back_unchanged(units: int, places: int) -> None:
    value = Fraction(units, 10**places)
    assert parse_number(decimal(value, places)) == value
    assert parse_number(about(value, places)) == value
    assert parse_number(decimal(value, places).replace(".", ",")) == value


@given(st.fractions(min_value=0, max_value=10), st.integers(0, 8))
def test_rounding_stays_within_half_a_place(value: Fraction, places: int) -> None:
    assert abs(Fraction(decimal(value, places)) - value) <= Fraction(1, 2 * 10**places)


def test_numbers_that_go_on_say_so() -> None:
    assert about(Fraction(1, 3), 3) == "0.333…"
    assert about(Fraction(-2, 3), 3) == "-0.666…"
    assert about(Fraction(25, 3), 3) == "8.333…"
    assert about(Fraction(1, 8), 3) == "0.125"
    assert decimal(Fraction(-1, 10**9), 4) == "0"
    assert places_of(Fraction(1, 3)) is None


def test_floats_come_back_to_paper() -> None:
    assert on_paper(0.1 + 0.2) == Fraction(3, 10)
    assert on_paper(2 / 3) == Fraction(2, 3)
    assert decimal_on_paper(0.7**5) == Fraction(7, 10) ** 5


@given(st.text(max_size=30))
def test_visible_texts_are_one_line_and_stay_as_they_are(text: str) -> None:
    once = visible(text)
    assert once and "\n" not in once and "\x00" not in once
    assert visible(once) == once
    once.encode("utf-8")


@pytest.mark.parametrize("text", ["<b>", "$", "*", "~=#{}:", "&amp;", '"', "é", "`", ":sun:", "[a](b)", "_x_", "\\"])
def test_markup_in_tokens_is_left_alone(text: str) -> None:
    assert visible(text) == text


def test_draws_are_the_same_everywhere() -> None:
    draws = Draws("golden", 7)
    assert [draws.below(1000) for _i in range(8)] == GOLDEN_BELOW
    assert draws.shuffled("abcdefgh") == GOLDEN_SHUFFLE
    assert draws.split(4, 20, 1) == GOLDEN_SPLIT


GOLDEN_BELOW = [672, 433, 646, 92, 390, 278, 118, 408]
GOLDEN_SHUFFLE = list("gbceadfh")
GOLDEN_SPLIT = [1, 6, 8, 5]


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(0, 3))
def test_splits_add_up(seed: int, parts: int, least: int) -> None:
    total = 20
    found = Draws(seed).split(parts, total, least)
    assert len(found) == parts and sum(found) == total and min(found) >= least
