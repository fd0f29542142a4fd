"""Traces survive JSON unchanged, and a trace that lies or is malformed is refused with one sentence."""

import csv
import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdec_core.tables import blocks_to_csv, spreadsheet_safe
from specdec_core.trace import MAX_BYTES, InvalidTrace, Trace, totals, trace_from_json, trace_to_json
from tests.strategies import toy_traces


@given(toy_traces())
@settings(max_examples=60, deadline=None)
def test_json_round_trip(trace: Trace) -> None:
    assert trace_from_json(trace_to_json(trace)) == trace


@given(toy_traces())
@settings(max_examples=40, deadline=None)
def test_csv_has_one_row_per_candidate_and_the_same_numbers(trace: Trace) -> None:
    rows = list(csv.DictReader(io.StringIO(blocks_to_csv(trace.blocks))))
    flat = [x for b in trace.blocks for x in b.positions]
    assert [float(r["q"]) for r in rows] == [x.q for x in flat]
    assert [r["verdict"] for r in rows] == [x.verdict.value for x in flat]
    assert [r["token"] for r in rows] == [spreadsheet_safe(x.token.text) for x in flat]


@given(toy_traces())
@settings(max_examples=40, deadline=None)
def test_totals_add_up(trace: Trace) -> None:
    t = totals(trace.blocks)
    assert t.emitted == len(trace.emitted)
    assert t.accepted <= t.judged <= t.drafted
    assert t.passes_saved == t.emitted - t.blocks


def plain(trace: Trace) -> dict:
    return json.loads(trace_to_json(trace))


def leaves(value, path=()):
    if isinstance(value, dict):
        for k, v in value.items():
            yield from leaves(v, (*path, k))
    elif isinstance(value, list):
        for i, v in enumerate(value):
            yield from leaves(v, (*path, i))
    else:
        yield path


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(max_size=20),
    st.just([]),
    st.just({}),
    st.just("<script>alert(1)</script>"),
    st.just(10**400),
)


@given(toy_traces(), st.data())
@settings(max_examples=150, deadline=None)
def test_any_spoilt_field_is_read_or_refused_in_one_sentence(trace: Trace, data: st.DataObject) -> None:
    spoilt = plain(trace)
    path = data.draw(st.sampled_from(list(leaves(spoilt))))
    node = spoilt
    for step in path[:-1]:
        node = node[step]
    node[path[-1]] = data.draw(JUNK)
    try:
        read = trace_from_json(json.dumps(spoilt))
    except InvalidTrace as error:
        assert "\n" not in str(error) and len(str(error)) < 400
    else:
        assert isinstance(read, Trace)


@given(st.binary(max_size=200) | st.text(max_size=200))
@settings(max_examples=200, deadline=None)
def test_anything_else_is_refused(junk: bytes | str) -> None:
    with pytest.raises(InvalidTrace):
        trace_from_json(junk)


@given(toy_traces())
@settings(max_examples=30, deadline=None)
def test_a_trace_that_contradicts_itself_is_refused(trace: Trace) -> None:
    lie = plain(trace)
    block = lie["blocks"][0]
    first = block["positions"][0]["verdict"]
    block["positions"][0]["verdict"] = "rejected" if first == "accepted" else "accepted"
    with pytest.raises(InvalidTrace, match="contradicts itself"):
        trace_from_json(json.dumps(lie))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "not a trace"),
        ('{"blocks": []}', "schema"),
        ('{"blocks": [], "schema": 1}', "lacks the field"),
        ("x" * (MAX_BYTES + 1), "too big"),
        ('{"blocks": [], "schema": 1, "prompt": NaN}', "not JSON"),
    ],
)
def test_refusals(text: str, says: str) -> None:
    with pytest.raises(InvalidTrace, match=says):
        trace_from_json(text)


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", " =1", "\tx", "\rx"])
def test_formulas_are_defused(text: str) -> None:
    assert spreadsheet_safe(text) == "'" + text


def test_plain_tokens_stay_as_they_are() -> None:
    assert spreadsheet_safe(" on") == " on"
