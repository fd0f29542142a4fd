"""Logits to distributions, draws, distances: properties, transformers as a second opinion, and faults others made."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdec_core.distributions import (
    InvalidDistribution,
    Warp,
    check_distribution,
    check_pair,
    draw,
    draw_many,
    entropy,
    kl_divergence,
    one_hot,
    probabilities,
    top_tokens,
    total_variation,
    uniform,
    uniforms,
)

logits = st.lists(st.floats(-30, 30), min_size=1, max_size=12).map(np.array)
weights = st.lists(st.integers(0, 9), min_size=2, max_size=8).filter(any)


def normalised(counts):
    return np.array(counts, dtype=float) / sum(counts)


# --- logits -> probabilities -----------------------------------------------------------------------------------------


@given(logits, st.floats(0.05, 10), st.integers(0, 14), st.floats(0.01, 1))
def test_a_warp_gives_a_distribution(x, temperature, top_k, top_p):
    before = x.copy()
    p = probabilities(x, Warp(temperature, top_k, top_p))
    assert p.dtype == np.float64
    assert abs(p.sum() - 1) < 1e-12 and p.min() >= 0
    assert p[x.argmax()] == p.max()
    assert np.array_equal(x, before), "the model's logits are still needed"


@given(logits)
def test_temperature_0_is_one_hot_at_the_largest_logit(x):
    assert np.array_equal(probabilities(x, Warp(temperature=0)), one_hot(int(x.argmax()), x.size))


def test_low_temperatures_and_half_precision_do_not_overflow():
    x = np.array([30000.0, 29999.0, -30000.0], dtype=np.float16)
    for temperature in (1e-6, 1e-3, 1.0):
        p = probabilities(x, Warp(temperature))
        assert np.isfinite(p).all() and p[0] >= p[1] >= p[2]


def test_impossible_logits_stay_impossible():
    p = probabilities(np.array([0.0, -np.inf, 1.0, -np.inf]), Warp(10.0, 0, 0.999))
    assert p[1] == 0 and p[3] == 0


@pytest.mark.parametrize("bad", [[np.nan, 0.0], [np.inf, 0.0], [-np.inf, -np.inf], [], [[1.0]]])
def test_logits_that_are_none_are_refused(bad):
    with pytest.raises(ValueError):
        probabilities(np.array(bad))


@pytest.mark.parametrize(
    "field, values",
    [
        ("temperature", {"temperature": -0.1}),
        ("temperature", {"temperature": math.nan}),
        ("top-k", {"top_k": -1}),
        ("top-k", {"top_k": 1.5}),
        ("top-k", {"top_k": True}),
        ("top-p", {"top_p": 0}),
        ("top-p", {"top_p": 1.1}),
    ],
)
def test_a_bad_warp_names_its_field(field, values):
    with pytest.raises(ValueError, match=field):
        Warp(**values)


def test_ties_at_the_edge_of_top_k_all_stay():
    assert np.count_nonzero(probabilities(np.array([2.0, 1.0, 1.0, 0.0]), Warp(top_k=2))) == 3


def test_top_p_keeps_the_smallest_set_that_reaches_it():
    x = np.log(np.array([0.5, 0.25, 0.125, 0.125]))
    assert np.count_nonzero(probabilities(x, Warp(top_p=0.4))) == 1
    assert np.count_nonzero(probabilities(x, Warp(top_p=0.7))) == 2
    assert np.count_nonzero(probabilities(x, Warp(top_p=0.8))) == 3


def test_warping_both_models_changes_the_acceptance_rate():
    """p = [.3, .4, .2, .1], q = [.4, .3, .2, .1], top-k 2: 6/7. Warping one of the two only gives something else."""
    p, q = (np.log(np.array(x)) for x in ([0.3, 0.4, 0.2, 0.1], [0.4, 0.3, 0.2, 0.1]))
    warp = Warp(top_k=2)
    assert np.minimum(probabilities(p, warp), probabilities(q, warp)).sum() == pytest.approx(6 / 7, abs=1e-12)
    assert np.minimum(probabilities(p, warp), probabilities(q)).sum() < 0.71


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.3, 0.7, 1.0, 2.5]),
    st.sampled_from([0, 1, 5, 40]),
    st.sampled_from([1.0, 0.9, 0.5, 0.05]),
)
def test_the_warp_is_transformers_warp(seed, temperature, top_k, top_p):
    torch = pytest.importorskip("torch")
    process = pytest.importorskip("transformers.generation.logits_process")
    x = np.random.default_rng(seed).normal(0, 3, 60)
    scores = torch.tensor(x[None])
    scores = process.TemperatureLogitsWarper(temperature)(None, scores)
    if top_k:
        scores = process.TopKLogitsWarper(top_k)(None, scores)
    if top_p < 1:
        scores = process.TopPLogitsWarper(top_p)(None, scores)
    theirs = torch.softmax(scores, -1)[0].numpy()
    assert np.abs(probabilities(x, Warp(temperature, top_k, top_p)) - theirs).max() < 1e-12


# --- draws -----------------------------------------------------------------------------------------------------------


@given(weights, st.floats(2**-53, 1))
def test_a_draw_is_the_first_token_whose_cumulative_sum_reaches_u(counts, u):
    p = normalised(counts)
    x = draw(p, u)
    assert p[x] > 0
    assert p[:x].sum() < u + 1e-12 and p[: x + 1].sum() >= u - 1e-12


@pytest.mark.parametrize("u", [2**-53, 0.5, 1.0])
def test_a_token_of_probability_0_is_never_drawn(u):
    p = np.array([0.0, 0.5, 0.0, 0.5, 0.0])
    assert draw(p, u) in (1, 3)
    # Nor where rounding leaves the sum below u: ten times 0.1 is not one.
    assert draw(np.array([0.1] * 10 + [0.0]), u) < 10


@given(weights, st.integers(0, 1000))
def test_many_draws_are_draws_one_by_one(counts, seed):
    p = normalised(counts)
    u = uniforms(np.random.default_rng(seed), 20)
    assert draw_many(p, u).tolist() == [draw(p, float(x)) for x in u]


def test_uniforms_lie_above_0_and_reach_1_at_most():
    class Extreme:
        """A generator that returns one end of its range."""

        def __init__(self, value):
            self.value = value

        def random(self, n=None):
            return self.value if n is None else np.full(n, self.value)

    lowest: Any = Extreme(0.0)
    highest: Any = Extreme(1 - 2**-53)
    assert uniform(lowest) == 1.0 and uniforms(lowest, 2).tolist() == [1.0, 1.0]
    assert uniform(highest) > 0 and uniforms(highest, 2).min() > 0
    assert uniforms(np.random.default_rng(0), 3).dtype == np.float64


# --- the most likely tokens ------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 40), st.integers(1, 4000), st.integers(1, 12))
def test_top_tokens_is_a_full_stable_sort(seed, k, size, levels):
    """Few levels make many ties, also at the edge, also across the chunks the search goes by."""
    rng = np.random.default_rng(seed)
    p = rng.integers(0, levels + 1, size) * (rng.random(size) < rng.random()).astype(float)
    assert top_tokens(p, k).tolist() == np.argsort(-p, kind="stable")[:k].tolist()


def test_top_tokens_of_a_real_vocabulary():
    p = np.random.default_rng(3).dirichlet(np.full(49_152, 0.02))
    p[40_000:] = 0.0
    assert top_tokens(p, 8).tolist() == np.argsort(-p, kind="stable")[:8].tolist()
    flat = np.full(49_152, 1 / 49_152)
    assert top_tokens(flat, 8).tolist() == list(range(8))


# --- distances -------------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=8))
def test_distances_are_distances(pairs):
    a, b = (list(x) for x in zip(*pairs, strict=True))
    if not any(a) or not any(b):
        return
    p, q = normalised(a), normalised(b)
    tv, kl = total_variation(p, q), kl_divergence(p, q)
    assert 0 <= tv <= 1 + 1e-12 and tv == total_variation(q, p) and total_variation(p, p) == 0
    assert kl >= 0 and kl_divergence(p, p) == 0
    assert math.isinf(kl) == bool(np.any((p > 0) & (q == 0)))
    assert kl >= 2 * tv * tv - 1e-12, "Pinsker's inequality"
    assert -1e-12 <= entropy(p) <= math.log(len(a)) + 1e-12


def test_distances_by_hand():
    p, q = np.array([0.5, 0.5, 0.0]), np.array([0.25, 0.25, 0.5])
    assert total_variation(p, q) == 0.5
    assert kl_divergence(p, q) == pytest.approx(math.log(2))
    assert kl_divergence(q, p) == math.inf
    assert entropy(p) == pytest.approx(math.log(2))


# --- hand-made distributions -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values, words",
    [
        ([0.5, 0.4], "sums to 0.9"),
        ([0.5, 0.501], "sums to 1.001"),
        ([-0.1, 1.1], "negative"),
        ([math.nan, 1.0], "not a number"),
        ([math.inf, 0.0], "not a number"),
        ([1.5, -0.5], "above 1"),
        ([], "empty"),
        ([None, 1.0], "list of numbers"),
        (["a"], "list of numbers"),
    ],
)
def test_what_is_no_distribution_is_refused_by_name(values, words):
    with pytest.raises(InvalidDistribution, match=f"^q .*{words}|^q, .*{words}"):
        check_distribution(values, "q")


def test_a_distribution_is_taken_as_it_is():
    assert check_distribution([0.1] * 10, "p").tolist() == [0.1] * 10


def test_a_pair_must_have_one_length():
    with pytest.raises(InvalidDistribution, match="p has 2 entries and q has 3"):
        check_pair([0.5, 0.5], [0.2, 0.3, 0.5])
