"""Lesson 2: the table, its checks, n_a from its formula; picture, table, sentence and CSV from one block."""

import base64
import contextlib
import csv
import io
import json
import zlib
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from specdec_core.acceptance import RANDOM, Verdict
from specdec_core.cases import MAX_ROWS, Case, Row, judge_case, parse_case
from specdec_core.lessons import one_block as core
from specdec_core.lessons.one_block import Table, TypedRow
from specdec_core.lessons.table_text import MAX_LINK, Unreadable, case_json, pack, read_table, unpack
from specdec_core.steps import commit_sentence, steps
from specdec_core.strip import strip_data
from specdec_core.tables import blocks_to_csv
from specdec_core.words import BOOK, NOTATIONS

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
decimals = st.integers(0, 1000).map(lambda k: k / 1000)
rows = st.builds(Row, token=texts, q=st.integers(1, 1000).map(lambda k: k / 1000), p=decimals, r=decimals)
cases = st.builds(Case, rows=st.lists(rows, min_size=1, max_size=12).map(tuple), context=st.just(("The",)))
typed = st.builds(TypedRow, texts | st.just(""), *[st.text(max_size=12)] * 3)


# --- Examples --------------------------------------------------------------------------------------------------------


def test_the_examples_show_what_they_say() -> None:
    known = {e.name: judge_case(e.case) for e in core.examples()}
    assert len(known) == len(core.examples()) >= 8
    found = {name: (block.n_a, block.tau) for name, block in known.items()}
    assert found["second-falls"] == (1, 3)
    assert core.examples()[0].case.context == ("The", "cat", "sat")
    assert found["all-pass"] == (3, 3) and found["first-falls"] == (0, 3) and found["tie"] == (2, 2)
    assert known["impossible"].positions[known["impossible"].n_a].p == 0
    assert all(x.p >= x.q for x in known["p-above-q"].positions) and found["p-above-q"] == (4, 4)
    assert found["flags"] == (1, 4) and found["long"][1] >= 12
    assert all(e.title and e.why for e in core.examples())


def test_in_floats_the_tie_would_fall() -> None:
    tie = next(e for e in core.examples() if e.name == "tie")
    assert any(x.r > x.p / x.q for x in tie.case.rows)
    assert judge_case(tie.case).first_rejected is None


# --- One block feeds everything --------------------------------------------------------------------------------------


@given(cases)
def test_picture_table_sentence_and_csv_agree(case: Case) -> None:
    block = judge_case(case)
    assume(all("\r" not in x.token for x in case.rows))
    verdicts = [x.verdict.value for x in block.positions]
    data = strip_data((), block, len(steps(block)) - 1, RANDOM)
    assert [c["verdict"] for c in data["cards"] if c["t"]] == verdicts
    assert [r["verdict"] for r in csv.DictReader(io.StringIO(blocks_to_csv([block])))] == verdicts
    assert data["facts"][0][0] == f"{BOOK.n_a} = {block.n_a}"
    assert f"{BOOK.n_a} = {block.n_a} of {block.tau}" in commit_sentence(block)
    assert f"gave {block.n_a + 1} token" in commit_sentence(block)
    built = core.build_up(block, block.judged)
    assert built.n_a == block.n_a
    # The formula itself: the minimum of the set, less one; tau when it is empty.
    in_set = [x.t for x in built.lines if x.above]
    assert (min(in_set) - 1 if in_set else block.tau) == block.n_a
    by_hand = [
        i
        for i, x in enumerate(case.rows, start=1)
        if x.p == 0 or Fraction(str(x.r)) > Fraction(str(x.p)) / Fraction(str(x.q))
    ]
    assert in_set == by_hand


@given(cases)
def test_the_build_up_tells_nothing_before_its_time(case: Case) -> None:
    block = judge_case(case)
    for judged in range(block.judged):
        built = core.build_up(block, judged)
        assert built.n_a is None and not built.settled
        assert all(x.above is None for x in built.lines[judged:])
        assert built.members == ()


@given(cases, st.sampled_from(sorted(NOTATIONS)))
def test_printed_comparisons_are_true(case: Case, name: str) -> None:
    block = judge_case(case)
    for x, line in zip(block.positions, core.build_up(block, block.judged).lines, strict=True):
        if x.p > 0:
            assert (Fraction(line.r) > Fraction(line.ratio)) == line.above
    assert core.n_a_words(core.build_up(block, block.judged), block, NOTATIONS[name])


def test_the_empty_set_gives_tau() -> None:
    block = judge_case(next(e.case for e in core.examples() if e.name == "all-pass"))
    built = core.build_up(block, block.judged)
    assert core.set_tex(built.members, built.settled) == r"\varnothing"
    assert core.n_a_tex(built, block.tau, BOOK) == r"n_a = \tau = 3"
    assert "empty" in core.n_a_words(built, block, BOOK)


def test_a_long_set_is_cut() -> None:
    assert core.set_tex(range(1, 40), True).count(",") == 12


@given(cases, st.text("yn", max_size=14))
def test_predictions_are_scored_against_the_block(case: Case, answers: str) -> None:
    block = judge_case(case)
    told = core.predictions(block, answers)
    assert len(told) == min(len(answers), block.judged)
    for x, answer in zip(told, answers, strict=False):
        accepted = block.positions[x.t - 1].verdict is Verdict.ACCEPTED
        assert x.right == ((answer == "y") == accepted)


# --- The table --------------------------------------------------------------------------------------------------------


@given(cases)
def test_a_case_survives_the_table(case: Case) -> None:
    assert core.check_table(core.table_of(case)).case == case


@given(st.lists(typed, max_size=6).map(tuple))
def test_any_table_is_judged_or_gets_a_word_for_each_faulty_line(lines: tuple[TypedRow, ...]) -> None:
    checked = core.check_table(Table(lines))
    assert (checked.case is None) == bool(checked.faults)
    if checked.case is not None:
        judge_case(checked.case)
        assert len(checked.case.rows) == sum(not x.empty for x in lines)


@pytest.mark.parametrize(
    ("row", "word"),
    [
        (TypedRow("a", "0", "0.5", "0.5"), "Line 1: q = 0"),
        (TypedRow("a", "", "0.5", "0.5"), "Line 1: q is blank"),
        (TypedRow("a", "0.5", "x", "0.5"), "Line 1: p = “x” is not a number"),
        (TypedRow("a", "0.5", "0.5", "1.2"), "Line 1: rₜ = 1.2 is above 1"),
        (TypedRow("a", "-1", "0.5", "0.2"), "Line 1: q = -1 is below 0"),
        (TypedRow("", "0.5", "0.5", "0.2"), "Line 1: the token is blank"),
        (TypedRow("a", "1/3", "0.5", "0.2"), "Line 1: q = 1/3 cannot be kept exactly"),
    ],
)
def test_a_faulty_line_is_named_with_field_and_value(row: TypedRow, word: str) -> None:
    (fault,) = core.check_table(Table((row,))).faults
    assert fault.startswith(word)


def test_decimal_commas_and_percent_are_read() -> None:
    case = core.check_table(Table((TypedRow("a", "0,8", "60 %", "7/10"),))).case
    assert case is not None and case.rows == (Row("a", 0.8, 0.6, 0.7),)


def test_empty_lines_are_left_out_with_a_word() -> None:
    checked = core.check_table(Table((TypedRow("a", "1", "1", "1"), TypedRow())))
    assert checked.case is not None and checked.notes == ("Line 2 is empty and left out.",)
    assert core.check_table(Table(())).faults


def test_hundreds_of_lines() -> None:
    line = TypedRow("a", "0.5", "0.5", "0.2")
    assert core.check_table(Table((line,) * MAX_ROWS)).case is not None
    assert core.check_table(Table((line,) * (MAX_ROWS + 1))).case is None


@given(cases, st.integers(0, 2**32 - 1))
def test_draws_change_r_only_and_repeat(case: Case, seed: int) -> None:
    table = core.table_of(case)
    drawn = core.with_draws(table, seed)
    assert drawn == core.with_draws(table, seed)
    judged = core.check_table(drawn).case
    assert judged is not None and all(0 < x.r <= 1 for x in judged.rows)
    assert [(x.token, x.q, x.p) for x in judged.rows] == [(x.token, x.q, x.p) for x in case.rows]


# --- Text in and out --------------------------------------------------------------------------------------------------


@given(cases)
def test_csv_out_and_in(case: Case) -> None:
    tokens = [x.token for x in case.rows]
    # CSV knows no carriage return of its own, and a token that begins as our own apostrophe does is ambiguous.
    assume(all("\r" not in t and not t.startswith("'") for t in tokens))
    read = core.check_table(read_table(blocks_to_csv([judge_case(case)])))
    assert read.case is not None and read.case.rows == case.rows


@given(cases)
def test_json_out_and_in(case: Case) -> None:
    assert parse_case(case_json(case)) == case
    assert core.check_table(read_table(case_json(case))).case == case


@pytest.mark.parametrize(
    "text",
    [
        "on\t0,8\t0,6\t0,7\na\t0,5\t0,2\t0,9",
        "on;0,8;0,6;0,7\r\na;0,5;0,2;0,9\r\n",
        "on,0.8,0.6,0.7\na,0.5,0.2,0.9\n",
        "r\tp\ttoken\tq\n0,7\t0,6\ton\t0,8\n0,9\t0,2\ta\t0,5\n",
        'token,q,p,r\non,"0,8","0,6","0,7"\na,50 %,1/5,.9\n',
        "\ufefftoken;q;p;r\non;0.8;0.6;0.7\n\na;0.5;0.2;0.9",
    ],
)
def test_spreadsheets_paste_in_their_own_ways(text: str) -> None:
    case = core.check_table(read_table(text)).case
    assert case is not None and case.rows == (Row("on", 0.8, 0.6, 0.7), Row("a", 0.5, 0.2, 0.9))


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "nothing to read"),
        ("on,0,8,0,6,0,7", "decimal commas"),
        ("on\t1", "2 columns instead of 4"),
        ("token,q,p\na,1,1", "no column r"),
        ("token,q,p,r\n", "no lines"),
        ("a,1,1,1\n" * 600, "600 lines"),
        ("x" * 500_000, "too long"),
    ],
)
def test_what_is_no_table_gets_a_word(text: str, word: str) -> None:
    with pytest.raises(Unreadable, match=word):
        read_table(text)


@given(st.lists(typed, min_size=1, max_size=8).map(tuple), st.lists(texts, max_size=3).map(tuple))
def test_a_table_travels_in_a_link(lines: tuple[TypedRow, ...], context: tuple[str, ...]) -> None:
    table = Table(lines, context)
    packed = pack(table)
    assert unpack(packed) == table
    assert all(c.isalnum() or c in "-_" for c in packed)


def test_a_table_too_long_for_a_link_is_not_packed() -> None:
    rng = np.random.default_rng(0)
    lines = tuple(TypedRow(*(repr(x) for x in rng.random(4))) for _ in range(500))
    assert pack(Table(lines)) == ""
    assert 0 < len(pack(Table(lines[:50]))) <= MAX_LINK


def hostile(value: object) -> str:
    return base64.urlsafe_b64encode(zlib.compress(json.dumps(value).encode())).decode().rstrip("=")


@pytest.mark.parametrize(
    "text",
    [
        "%%%",
        "AAAA",
        "é",
        "x" * 100_000,
        hostile({"a": 1}),
        hostile([[], []]),
        hostile([[], [["a", 1, 2, 3]]]),
        hostile([[], [["a", "1"]]]),
        hostile([[], ["abcd"] * 3]),
        hostile([[], [["a", "1", "1", "1"]] * 600]),
        hostile([["a" * 10] * 5000, [["a", "1", "1", "1"]]]),
        base64.urlsafe_b64encode(zlib.compress(b"[" * 10_000_000)).decode(),
    ],
)
def test_hostile_links_are_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        unpack(text)


@given(st.text(max_size=200))
def test_any_link_gives_a_table_or_is_refused(text: str) -> None:
    with contextlib.suppress(Unreadable):
        assert unpack(text).rows
