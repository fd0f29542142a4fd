"""Hand-made cases: right values, arithmetic as on paper, and a fitting word for everything else."""

import json
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdec_core.acceptance import Verdict
from specdec_core.cases import InvalidCase, case_from_plain, judge_case, next_law, parse_case

WORKED = [
    ([0.8], [0.6], [0.7], ["accepted"], 1, None),
    ([0.3], [0.6], [0.99], ["accepted"], 1, None),
    ([0.5, 0.4, 0.2], [0.45, 0.1, 0.6], [0.62, 0.41, 0.05], ["accepted", "rejected", "not reached"], 1, 2),
    ([0.8, 0.5], [0.2, 0.5], [0.3, 0.1], ["rejected", "not reached"], 0, 1),
    # Flags accept, reject, accept, accept: only the ones before the first rejection count.
    ([0.5] * 4, [0.5, 0.1, 0.5, 0.5], [0.1] + [0.9] * 3, ["accepted", "rejected", "not reached", "not reached"], 1, 2),
    # Ties that floats get wrong on one side or the other; on paper each is r = p/q, which accepts.
    ([0.2], [0.06], [0.3], ["accepted"], 1, None),
    ([0.1], [0.07], [0.7], ["accepted"], 1, None),
    ([0.3], [0.1], [0.3333333333333333], ["accepted"], 1, None),
    # p = 0 is rejected even by a typed r of 0.
    ([0.5], [0.0], [0.0], ["rejected"], 0, 1),
]


def scalar(q: list[float], p: list[float], r: list[float]) -> dict:
    return {"tokens": [f"c{i}" for i in range(len(q))], "q": q, "p": p, "r": r}


@pytest.mark.parametrize(("q", "p", "r", "verdicts", "n_a", "first"), WORKED)
def test_worked(q, p, r, verdicts, n_a, first) -> None:
    block = judge_case(case_from_plain(scalar(q, p, r)))
    assert ([x.verdict.value for x in block.positions], block.n_a, block.first_rejected) == (verdicts, n_a, first)


hundredths = st.integers(1, 100).map(lambda n: n / 100)


@given(st.lists(st.tuples(hundredths, hundredths, hundredths), min_size=1, max_size=12))
@settings(max_examples=300, deadline=None)
def test_n_a_is_the_formula_in_exact_arithmetic(rows: list[tuple[float, float, float]]) -> None:
    block = judge_case(case_from_plain(scalar(*map(list, zip(*rows, strict=True)))))
    exact = [tuple(Fraction(round(v * 100), 100) for v in row) for row in rows]
    rejected = [t for t, (q, p, r) in enumerate(exact, start=1) if r * q > p]
    n_a = min(rejected) - 1 if rejected else len(rows)
    assert block.n_a == n_a
    assert [x.verdict for x in block.positions].count(Verdict.ACCEPTED) == n_a


def test_full_case_names_what_is_drawn_next() -> None:
    full: dict[str, Any] = {
        "vocabulary": ["a", "b", "c"],
        "positions": [{"candidate": "a", "q": [0.5, 0.3, 0.2], "p": [0.1, 0.6, 0.3], "r": 0.9}],
        "bonus": {"p": [0.2, 0.3, 0.5]},
    }
    case = case_from_plain(full)
    block = judge_case(case)
    assert block.next is not None and block.next.source == "residual"
    assert next_law(case, block) == pytest.approx([0, 0.75, 0.25])
    full["positions"][0]["r"] = 0.2
    case = case_from_plain(full)
    block = judge_case(case)
    assert block.next is not None and block.next.source == "bonus"
    assert next_law(case, block) == pytest.approx([0.2, 0.3, 0.5])


BAD = [
    ("", "not JSON"),
    ("[1]", "must be a JSON object"),
    ("{}", "'tokens'"),
    ('{"tokens": [], "q": [], "p": [], "r": []}', "empty"),
    ('{"tokens": ["a"], "q": [0.5], "p": [0.5]}', "'r'"),
    ('{"tokens": ["a"], "q": [0.5, 0.5], "p": [0.5], "r": [0.5]}', "q has 2 entries"),
    ('{"tokens": ["a"], "q": [0], "p": [0.5], "r": [0.5]}', "q at t = 1 is 0"),
    ('{"tokens": ["a"], "q": [-0.1], "p": [0.5], "r": [0.5]}', "q at t = 1 must be between"),
    ('{"tokens": ["a"], "q": [0.5], "p": [1.5], "r": [0.5]}', "p at t = 1 must be between 0 and 1, not 1.5"),
    ('{"tokens": ["a"], "q": [0.5], "p": [0.5], "r": [NaN]}', "not JSON"),
    ('{"tokens": ["a"], "q": [0.5], "p": [0.5], "r": [1e999]}', "finite"),
    ('{"tokens": ["a"], "q": [0.5], "p": [0.5], "r": [null]}', "r at t = 1 must be a number"),
    ('{"tokens": ["a"], "q": [true], "p": [0.5], "r": [0.5]}', "q at t = 1 must be a number"),
    ('{"tokens": [7], "q": [0.5], "p": [0.5], "r": [0.5]}', "token at t = 1"),
    ('{"tokens": "abc", "q": [0.5], "p": [0.5], "r": [0.5]}', "tokens must be a list"),
    ('{"vocabulary": ["a", "a"], "positions": [{}]}', "twice"),
    ('{"vocabulary": ["a", "b"], "positions": []}', "positions"),
    ('{"vocabulary": ["a", "b"], "positions": [{"candidate": "z"}]}', "not in the vocabulary"),
    ('{"vocabulary": ["a", "b"], "positions": [{"candidate": "a", "q": [1], "p": [1, 0], "r": 0.5}]}', "q at t = 1"),
    (
        '{"vocabulary": ["a", "b"], "positions": [{"candidate": "a", "q": [0.5, 0.4], "p": [1, 0], "r": 0.5}]}',
        "sums to 0.9",
    ),
]


@pytest.mark.parametrize(("text", "says"), BAD)
def test_refusals_name_field_and_value(text: str, says: str) -> None:
    with pytest.raises(InvalidCase, match=says.replace("(", r"\(")):
        parse_case(text)


ATOMS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
JSONS = st.recursive(ATOMS, lambda x: st.lists(x, max_size=4) | st.dictionaries(st.text(max_size=6), x, max_size=4))
FIELDS = ["tokens", "q", "p", "r", "vocabulary", "positions", "bonus", "context", "title"]


@given(st.dictionaries(st.sampled_from(FIELDS), JSONS, max_size=9))
@settings(max_examples=300, deadline=None)
def test_any_json_is_judged_or_refused_in_one_sentence(data: dict) -> None:
    try:
        judge_case(parse_case(json.dumps(data)))
    except InvalidCase as error:
        assert "\n" not in str(error) and len(str(error)) < 300
