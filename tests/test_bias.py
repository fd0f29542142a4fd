"""Comparisons, sweeps and trades against the law they summarise."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdec_core.acceptance import CORRECTIONS, RULES, Rule, output_law
from specdec_core.bias import (
    Change,
    change,
    closing,
    compare,
    count_changes,
    frontier,
    law_csv,
    sweep,
    trade,
    trade_curve,
)
from specdec_core.theory import expected_tokens

P, Q = np.array([0.1, 0.6, 0.3]), np.array([0.5, 0.3, 0.2])


def test_a_comparison_by_hand():
    found = compare(P, Q, [Rule(), Rule("fixed", 0.5), Rule("always")], k=2)
    assert found.tokens.tolist() == [1, 0] and found.others == 1
    assert found.p.tolist() == pytest.approx([0.6, 0.1, 0.3]) and found.q.tolist() == pytest.approx([0.3, 0.5, 0.2])
    assert found.outputs[1].tolist() == pytest.approx([0.675, 0.0, 0.325])
    assert found.changes[0] == (Change.SAME,) * 3
    assert found.changes[1] == (Change.GAINED, Change.VANISHED, Change.GAINED)
    assert found.changes[2] == (Change.LOST, Change.GAINED, Change.LOST)


def test_the_closing_sentence_has_the_numbers():
    found = compare(P, Q, [Rule(), Rule("fixed", 0.5), Rule("always")], k=3)
    assert closing(found, 0) == (
        "Random threshold accepts 0.600 of the candidates, and what is emitted follows p exactly."
    )
    assert closing(found, 1) == (
        "Fixed threshold, c = 0.5 accepts 0.500 of the candidates, and the price is a bias of 0.100: so much of the"
        " probability lies on the wrong tokens. 1 token that p allows can no longer appear."
    )
    assert closing(found, 2).endswith("wrong tokens.")


def test_a_comparison_as_csv():
    rows = law_csv(compare(P, Q, [Rule("fixed", 0.5)], k=2), ["=on", "the"]).splitlines()
    assert rows[0] == 'token,id,p,q,"Fixed threshold, c = 0.5"'
    assert rows[1].startswith("'=on,1,0.6,0.3,0.675") and rows[3].startswith("1 others,,")


def test_an_empty_rest_is_exactly_empty():
    found = compare(np.array([0.1] * 10), np.array([0.1] * 10), [Rule("fixed")], k=10)
    assert found.others == 0 and found.p[-1] == 0 and found.changes[0][-1] is Change.SAME


def test_tokens_that_nobody_gives_anything_are_not_shown():
    p = np.array([0.5, 0.0, 0.5, 0.0])
    assert compare(p, p, [Rule()], k=4).tokens.tolist() == [0, 2]


def test_an_impossible_token_that_a_rule_emits_appeared():
    law = output_law(np.array([0.0, 1.0]), np.array([0.5, 0.5]), Rule("always"))
    assert count_changes(np.array([0.0, 1.0]), law)[Change.APPEARED] == 1
    assert (
        change(0.0, 0.5) is Change.APPEARED
        and change(1e-12, 0.0) is Change.VANISHED
        and change(0.5, 0.5 + 1e-12) is Change.SAME
    )


@given(st.integers(0, 2**32 - 1), st.integers(1, 50))
def test_counts_of_changes_add_up(seed, size):
    rng = np.random.default_rng(seed)
    p, q = (rng.dirichlet(np.full(size, 0.3)) for _ in range(2))
    found = count_changes(p, output_law(p, q, Rule("fixed", 0.7)))
    assert sum(found.values()) == size


@settings(deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 12),
    st.sampled_from(list(CORRECTIONS)),
    st.sampled_from([n for n, spec in RULES.items() if spec.parameter]),
    st.booleans(),
)
def test_a_sweep_is_the_law_at_every_value(seed, size, correction, rule, round_numbers):
    """Round numbers make ties between c and p/q, zeros, equal and disjoint distributions."""
    rng = np.random.default_rng(seed)
    if round_numbers:
        p, q = (rng.integers(0, 4, size).astype(float) for _ in range(2))
        p[0] += not p.any()
        q[-1] += not q.any()
        p, q = p / p.sum(), q / q.sum()
    else:
        p, q = (rng.dirichlet(np.full(size, 0.4)) for _ in range(2))
    number = RULES[rule].parameter
    assert number is not None
    line = sweep(p, q, rule, correction, np.linspace(number.low, number.high, 21))
    for value, acceptance, tv in zip(line.values, line.acceptance, line.tv, strict=True):
        law = output_law(p, q, Rule(rule, float(value), correction))
        assert acceptance == pytest.approx(law.acceptance, abs=1e-12)
        assert tv == pytest.approx(law.tv, abs=1e-12)


def test_a_sweep_over_a_real_vocabulary_takes_no_time():
    """At most 0.1 s where the page needs it; five times that here, because a test machine may be busy."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(49_152, 0.02))
    q = 0.5 * p + 0.5 * rng.dirichlet(np.full(49_152, 0.02))
    start = time.perf_counter()
    line = sweep(p, q)
    assert time.perf_counter() - start < 0.5
    assert line.values.size == 101
    for i in (0, 50, 100):
        law = output_law(p, q, Rule("fixed", float(line.values[i])))
        assert (line.acceptance[i], line.tv[i]) == pytest.approx((law.acceptance, law.tv), abs=1e-12)


def test_rules_without_a_number_cannot_be_swept():
    with pytest.raises(ValueError, match="'random' has no number"):
        sweep(P, Q, "random")


def test_a_trade_by_hand():
    exact, fixed, always = trade(P, Q, [Rule(), Rule("fixed", 0.5), Rule("always")], tau=4)
    assert (exact.acceptance, exact.tv) == pytest.approx((0.6, 0.0))
    assert exact.tokens == pytest.approx(expected_tokens(0.6, 4))
    assert (fixed.acceptance, fixed.tv) == pytest.approx((0.5, 0.1))
    assert (always.tokens, always.tv) == pytest.approx((5.0, 0.4))
    tokens, tv = trade_curve(sweep(P, Q), tau=4)
    assert tokens[0] == pytest.approx(5.0) and tv[0] == pytest.approx(0.4), "c = 0 accepts all that is possible"


@given(st.integers(0, 2**32 - 1), st.integers(2, 20), st.floats(0.05, 1))
def test_no_rule_has_less_bias_than_the_frontier(seed, size, number):
    rng = np.random.default_rng(seed)
    p, q = (rng.dirichlet(np.full(size, 0.5)) for _ in range(2))
    alpha = float(np.minimum(p, q).sum())
    for name, spec in RULES.items():
        for correction in CORRECTIONS:
            law = output_law(p, q, Rule(name, number if spec.parameter else None, correction))
            assert law.tv >= law.acceptance - alpha - 1e-12, (name, correction)
    for name in ("lenient", "ensemble"):
        law = output_law(p, q, Rule(name, number))
        assert law.tv == pytest.approx(law.acceptance - alpha, abs=1e-12), name
    tokens, tv = frontier(alpha, 4)
    assert (tokens[0], tv[0]) == (expected_tokens(alpha, 4), 0.0)
    assert (tokens[-1], tv[-1]) == pytest.approx((5.0, 1 - alpha))
