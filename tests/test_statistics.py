"""The chi-square test: known values, its policy on small bins and impossible tokens, its words and its power."""

import math

import numpy as np
import pytest

from specdec_core.statistics import (
    LEVEL,
    bins_for,
    chi_square_quantile,
    chi_square_tail,
    goodness_of_fit,
    noncentral_tail,
    p_value_text,
    power,
    trials_needed,
    upper_gamma,
    verdict,
)

LAW = np.array([0.1, 0.6, 0.3])


# --- the distribution ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "x, dof, tail",
    [  # from printed tables of critical values
        (3.841, 1, 0.05),
        (6.635, 1, 0.01),
        (5.991, 2, 0.05),
        (18.307, 10, 0.05),
        (29.588, 10, 0.001),
        (124.342, 100, 0.05),
        (67.328, 100, 0.995),
    ],
)
def test_tables(x, dof, tail):
    assert chi_square_tail(x, dof) == pytest.approx(tail, rel=1e-3)
    assert chi_square_quantile(tail, dof) == pytest.approx(x, abs=1e-3)


@pytest.mark.parametrize("x", [0.0, 1e-6, 0.1, 1.0, 3.7, 20.0, 100.0, 500.0])
def test_closed_forms(x):
    assert chi_square_tail(x, 2) == pytest.approx(math.exp(-x / 2), rel=1e-12)
    assert chi_square_tail(x, 1) == pytest.approx(math.erfc(math.sqrt(x / 2)), rel=1e-11)
    assert chi_square_tail(x, 4) == pytest.approx(math.exp(-x / 2) * (1 + x / 2), rel=1e-12)


def test_a_second_opinion():
    torch = pytest.importorskip("torch")
    for a in (0.5, 1.0, 2.5, 17.0, 400.0, 20_000.0):
        for x in (a / 50, a / 2, abs(a - a**0.5), a, a + 2 * a**0.5, 3 * a):
            theirs = float(torch.special.gammaincc(*torch.tensor([a, x], dtype=torch.float64)))
            assert upper_gamma(a, x) == pytest.approx(theirs, rel=1e-8, abs=1e-300)


def test_edges_of_the_gamma_function():
    assert upper_gamma(3.0, 0.0) == 1 and upper_gamma(3.0, math.inf) == 0
    for a, x in ((0.0, 1.0), (-1.0, 1.0), (1.0, -1.0), (math.nan, 1.0)):
        with pytest.raises(ValueError):
            upper_gamma(a, x)


def test_the_noncentral_tail():
    assert noncentral_tail(7.0, 3, 0.0) == pytest.approx(chi_square_tail(7.0, 3))
    rng = np.random.default_rng(4)
    thrown = ((rng.normal(size=(200_000, 4)) + np.array([1.5, 1, 0, 0])) ** 2).sum(axis=1)
    assert noncentral_tail(9.0, 4, 1.5**2 + 1) == pytest.approx((thrown > 9).mean(), abs=0.006)  # 5 standard errors
    assert noncentral_tail(100.0, 4, 1e6) == pytest.approx(1.0) and noncentral_tail(2e6, 4, 1e6) == 0.0


# --- the test --------------------------------------------------------------------------------------------------------


def test_by_hand():
    test = goodness_of_fit(np.array([15, 55, 30]), LAW)
    assert (test.n, test.bins, test.dof) == (100, 3, 2)
    assert test.statistic == pytest.approx(25 / 10 + 25 / 60)
    assert test.p_value == pytest.approx(math.exp(-test.statistic / 2))
    assert not test.rejected
    assert verdict(test) == "Consistent with p: p-value 0.23 after 100 trials, in 3 bins."


def test_a_small_bin_is_shared():
    law = np.array([0.5, 0.44, 0.02, 0.02, 0.02])
    assert bins_for(law, 1000).expected.tolist() == [500, 440, 20, 20, 20]
    shared = bins_for(law, 100)
    assert shared.expected.tolist() == pytest.approx([50, 44, 6])
    assert shared.index.tolist() == [0, 1, 2, 2, 2]
    absorbed = bins_for(law, 50)
    assert absorbed.expected.tolist() == pytest.approx([25, 25])
    assert absorbed.index.tolist() == [0, 1, 1, 1, 1]
    for n in (1, 10, 50, 100, 10_000):
        bins = bins_for(law, n)
        assert bins.expected.sum() == pytest.approx(n)
        assert bins.expected.min() >= 5 or bins.expected.size == 1


def test_an_impossible_token_is_the_finding():
    test = goodness_of_fit(np.array([1, 60, 39]), np.array([0.0, 0.6, 0.4]))
    assert (test.p_value, test.impossible, test.impossible_token, test.rejected) == (0.0, 1, 0, True)
    assert verdict(test, "q") == "Not q: in 100 trials a token that q makes impossible appeared 1 times."


def test_impossible_tokens_that_did_not_appear_change_nothing():
    test = goodness_of_fit(np.array([0, 60, 40]), np.array([0.0, 0.6, 0.4]))
    assert (test.bins, test.statistic, test.p_value) == (2, 0.0, 1.0)


def test_too_few_trials_say_nothing():
    test = goodness_of_fit(np.array([1, 1, 1]), LAW)
    assert not test.decidable and not test.rejected
    assert "too few" in verdict(test)
    certain = goodness_of_fit(np.array([7, 0]), np.array([1.0, 0.0]))
    assert not certain.rejected


def test_what_cannot_be_tested_is_refused():
    with pytest.raises(ValueError, match="no token was drawn"):
        goodness_of_fit(np.zeros(3, dtype=int), LAW)
    with pytest.raises(ValueError, match="shape"):
        goodness_of_fit(np.ones(2, dtype=int), LAW)


def test_p_values_are_uniform_under_the_law():
    """2,000 tests of the law itself. Each p-value falls below 0.05 with probability near 0.05: 100 expected,
    standard deviation 9.7; a count outside 50..150 (five of them) has probability below 1e-6.
    """
    rng = np.random.default_rng(8)
    values = [goodness_of_fit(rng.multinomial(500, LAW), LAW).p_value for _ in range(2000)]
    assert 50 <= sum(v < 0.05 for v in values) <= 150
    assert abs(np.mean(values) - 0.5) < 5 * 0.29 / math.sqrt(2000)


def test_power_is_what_repetition_finds():
    """400 tests: the standard error of the share is at most 0.025, and five of them are allowed."""
    other = np.array([0.13, 0.58, 0.29])
    rng = np.random.default_rng(9)
    n = 1500
    found = np.mean([goodness_of_fit(rng.multinomial(n, other), LAW).rejected for _ in range(400)])
    assert power(LAW, other, n) == pytest.approx(found, abs=0.125)
    assert power(LAW, LAW, n) == pytest.approx(LEVEL, rel=1e-6)
    assert power(LAW, other, 100) < power(LAW, other, 1000) < power(LAW, other, 10_000)


def test_the_power_against_impossible_tokens():
    law, other = np.array([0.0, 1.0]), np.array([0.01, 0.99])
    assert power(law, other, 100) == pytest.approx(1 - 0.99**100)
    assert power(law, np.array([1.0, 0.0]), 1) == 1.0


def test_how_many_trials_a_bias_asks_for():
    other = np.array([0.0, 0.675, 0.325])
    n = trials_needed(LAW, other)
    assert n is not None and power(LAW, other, n) >= 0.95 > power(LAW, other, n // 2)
    assert trials_needed(LAW, LAW) is None


@pytest.mark.parametrize("value, text", [(0.5, "0.50"), (0.0123, "0.012"), (1e-9, "1e-09"), (0.0, "below 1e-12")])
def test_p_values_in_words(value, text):
    assert p_value_text(value) == text
