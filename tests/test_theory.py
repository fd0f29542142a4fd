"""What to expect before it runs: limits, published values, and the formulas against blocks that were really thrown."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdec_core.distributions import total_variation
from specdec_core.theory import (
    acceptance_rate,
    all_accepted,
    best_tau,
    expected_accepted,
    expected_tokens,
    extra_operations,
    speed_up,
)

alphas = st.floats(0, 1)
taus = st.integers(0, 16)

#: Leviathan et al. 2023, table 1: alpha, tau, total operations, speed-up, both for c = c-hat = 0.
TABLE_1 = [
    (0.6, 2, 1.53, 1.96),
    (0.7, 3, 1.58, 2.53),
    (0.8, 2, 1.23, 2.44),
    (0.8, 5, 1.63, 3.69),
    (0.9, 2, 1.11, 2.71),
    (0.9, 10, 1.60, 6.86),
]


@pytest.mark.parametrize("alpha, tau, operations, gain", TABLE_1)
def test_published_reference_points(alpha, tau, operations, gain):
    assert speed_up(alpha, tau, 0.0) == pytest.approx(gain, abs=0.005)
    assert extra_operations(alpha, tau, 0.0) == pytest.approx(operations, abs=0.005)


def test_rate_08_and_tau_4():
    """Accepted and emitted per block are two numbers."""
    assert expected_accepted(0.8, 4) == pytest.approx(2.3616)
    assert expected_tokens(0.8, 4) == pytest.approx(3.3616)


@given(alphas, taus)
def test_the_sum_is_the_closed_formula(alpha, tau):
    tokens = expected_tokens(alpha, tau)
    if alpha < 0.999:
        assert tokens == pytest.approx((1 - alpha ** (tau + 1)) / (1 - alpha), rel=1e-9)
    assert 1 <= tokens <= tau + 1


@given(taus, st.floats(0, 2))
def test_limits(tau, cost):
    assert expected_tokens(0, tau) == 1
    assert expected_tokens(1, tau) == tau + 1
    assert expected_tokens(1 - 1e-12, tau) == pytest.approx(tau + 1)
    assert speed_up(0.5, 0, cost) == 1, "without candidates it is plain decoding"
    assert speed_up(0, tau, cost) == pytest.approx(1 / (tau * cost + 1))
    assert all_accepted(1, tau) == 1


@given(alphas, st.floats(0, 1.5))
def test_corollary_3_6(alpha, cost):
    """There is a tau that gains if, and only if, alpha > c; and tau = 1 gains by at least (1 + alpha) / (1 + c)."""
    best = best_tau(alpha, cost)
    gains = [speed_up(alpha, tau, cost) for tau in range(17)]
    assert gains[best] == max(gains)
    if alpha > cost + 1e-9:
        assert best >= 1 and gains[best] >= (1 + alpha) / (1 + cost) - 1e-12
    if alpha < cost - 1e-9:
        assert best == 0


def test_the_formula_against_thrown_blocks():
    """200,000 blocks of 5 independent positions; the mean's standard error is below 0.004, so 5 of them is 0.02."""
    rng = np.random.default_rng(11)
    for alpha in (0.3, 0.6, 0.9):
        kept = rng.random((200_000, 5)) < alpha
        n_a = np.cumprod(kept, axis=1).sum(axis=1)
        assert n_a.mean() + 1 == pytest.approx(expected_tokens(alpha, 5), abs=0.02)
        assert (n_a == 5).mean() == pytest.approx(all_accepted(alpha, 5), abs=0.006)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=8))
def test_alpha_is_one_minus_tv(pairs):
    a, b = (np.array(x, dtype=float) for x in zip(*pairs, strict=True))
    if a.sum() and b.sum():
        p, q = a / a.sum(), b / b.sum()
        assert acceptance_rate(p, q) == pytest.approx(1 - total_variation(p, q), abs=1e-12)


@pytest.mark.parametrize(
    "call, field",
    [
        (lambda: expected_tokens(1.1, 2), "alpha"),
        (lambda: expected_tokens(float("nan"), 2), "alpha"),
        (lambda: expected_tokens(0.5, -1), "tau"),
        (lambda: expected_tokens(0.5, 1.5), "tau"),  # type: ignore[arg-type]
        (lambda: speed_up(0.5, 2, -0.1), "cost"),
        (lambda: extra_operations(0.5, 2, float("nan")), "cost"),
    ],
)
def test_bad_numbers_are_named(call, field):
    with pytest.raises(ValueError, match=field):
        call()
