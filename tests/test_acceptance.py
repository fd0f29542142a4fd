"""The rules: exact laws against an enumeration that shares no code with them, and the registry against itself."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from specdec_core.acceptance import (
    CORRECTIONS,
    RULES,
    Rule,
    Verdict,
    exactly,
    judge,
    output_law,
    residual,
    typed_law,
)
from specdec_core.distributions import total_variation

NUMBERS: dict[str, list[float | None]] = {
    "random": [None],
    "fixed": [0.0, 0.25, 0.5, 0.9, 1.0],
    "lenient": [0.05, 0.5, 1.0],
    "ensemble": [0.05, 0.5, 1.0],
    "always": [None],
    "never": [None],
}
ALL_RULES = [
    Rule(name, value, correction) for name, values in NUMBERS.items() for value in values for correction in CORRECTIONS
]


def of_counts(a, b):
    """Two distributions of one length from whole numbers; zeros, one-hot pairs and disjoint supports all occur."""
    n = min(len(a), len(b))
    a, b = list(a[:n]), list(b[:n])
    a[0], b[-1] = a[0] + (not any(a)), b[-1] + (not any(b))
    return np.array(a, dtype=float) / sum(a), np.array(b, dtype=float) / sum(b)


counts = st.lists(st.integers(0, 12), min_size=1, max_size=7)
pairs = st.one_of(
    st.builds(of_counts, counts, counts),
    counts.map(lambda a: of_counts(a, a)),
    st.builds(
        lambda seed, n, a, b: tuple(np.random.default_rng(seed).dirichlet(np.full(n, s)) for s in (a, b)),
        st.integers(0, 2**32 - 1),
        st.integers(1, 30),
        st.sampled_from([0.05, 0.5, 5.0]),
        st.sampled_from([0.05, 0.5, 5.0]),
    ),
)


def enumerate_law(p, q, rule):
    """The law of one emitted token, candidate by candidate in exact fractions, straight from the rule's description.

    Written without ``acceptance``: what is checked must not check itself. The one thing done in floats is the fixed
    rule's p/q >= c, because a tie is a matter of how the numbers are written down.
    """
    ps, qs = [Fraction(x) for x in p.tolist()], [Fraction(x) for x in q.tolist()]
    lack = [max(Fraction(0), a - b) for a, b in zip(ps, qs, strict=True)]
    total = sum(lack)
    best = ps.index(max(ps))
    correction = {
        "residual": [x / total for x in lack] if total else ps,
        "target": ps,
        "argmax": [Fraction(int(x == best)) for x in range(len(ps))],
    }[rule.correction]
    out = [Fraction(0)] * len(ps)
    for x, (a, b) in enumerate(zip(ps, qs, strict=True)):
        if b == 0:
            continue  # never drafted
        w = Fraction(rule.parameter or 1)
        stays = {
            "random": min(Fraction(1), a / b),
            "fixed": Fraction(int(a > 0 and p[x] / q[x] >= (rule.parameter or 0))),
            "lenient": min(Fraction(1), a / (b * w)),
            "ensemble": min(Fraction(1), 1 - w + w * a / b),
            "always": Fraction(1),
            "never": Fraction(0),
        }[rule.name]
        out[x] += b * stays
        for y, share in enumerate(correction):
            out[y] += b * (1 - stays) * share
    return np.array([float(x) for x in out])


# --- exact laws ------------------------------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(pairs)
@example((np.array([0.6, 0.4]), np.array([0.6, 0.4])))
@example((np.array([1.0, 0.0]), np.array([0.0, 1.0])))
@example((np.array([1.0, 0.0]), np.array([1.0, 0.0])))
@example((np.array([0.5, 0.5, 0.0, 0.0]), np.array([0.0, 0.0, 0.5, 0.5])))
def test_every_law_is_the_enumerated_one(pair):
    p, q = pair
    for rule in ALL_RULES:
        law = output_law(p, q, rule)
        expected = enumerate_law(p, q, rule)
        assert np.abs(law.output - expected).max() < 1e-12, rule
        assert law.output.min() >= 0 and abs(law.output.sum() - 1) < 1e-12, rule
        assert law.tv == pytest.approx(total_variation(expected, p), abs=1e-12)
        assert 0 <= law.acceptance <= 1 + 1e-12


def test_the_random_rule_leaves_the_target_as_it_is():
    """Thousands of pairs, small and large, smooth and full of zeros."""
    rng = np.random.default_rng(2023)
    for _ in range(5000):
        size = int(rng.integers(1, 40))
        p, q = (rng.dirichlet(np.full(size, rng.choice([0.05, 0.5, 5.0]))) for _ in range(2))
        if rng.random() < 0.3:
            p = np.where(rng.random(size) < 0.5, 0.0, p) + 1e-300
            p /= p.sum()
        assert np.abs(output_law(p, q).output - p).max() < 1e-12
    p, q = (rng.dirichlet(np.full(49_152, 0.05)) for _ in range(2))
    assert np.abs(output_law(p, q).output - p).max() < 1e-12


@given(pairs)
def test_rules_that_call_themselves_exact_are(pair):
    p, q = pair
    for rule in ALL_RULES:
        if rule.exact:
            assert output_law(p, q, rule).tv < 1e-12, rule


@given(pairs, st.floats(0.05, 1))
def test_the_ensemble_follows_the_mixture(pair, w):
    p, q = pair
    assert np.abs(output_law(p, q, Rule("ensemble", w)).output - ((1 - w) * q + w * p)).max() < 1e-12


def test_rules_that_do_not_call_themselves_exact_are_not():
    p, q = np.array([0.1, 0.6, 0.3]), np.array([0.5, 0.3, 0.2])
    for rule in ALL_RULES:
        if not rule.exact:
            assert output_law(p, q, rule).tv > 0.01, rule


#: Right values from papers' examples and public bug reports.
LAWS = [
    (
        "random rule, residual correction: exact",
        ([0.1, 0.6, 0.3], [0.5, 0.3, 0.2], "random", None, "residual"),
        {"acceptance": 0.6, "residual": [0, 0.75, 0.25], "output": [0.1, 0.6, 0.3], "tv": 0},
    ),
    (
        "fixed 0.5: a token vanishes",
        ([0.1, 0.6, 0.3], [0.5, 0.3, 0.2], "fixed", 0.5, "residual"),
        {
            "acceptance": 0.5,
            "residual": [0, 0.75, 0.25],
            "output": [0, 0.675, 0.325],
            "tv": 0.1,
            "kl_target_output": float("inf"),
            "kl_output_target": 0.1055,
        },
    ),
    (
        "fixed 0.5: the output is the draft's",
        ([0.6, 0.2, 0.1, 0.1], [0.7, 0.2, 0.05, 0.05], "fixed", 0.5, "residual"),
        {"acceptance": 1.0, "output": [0.7, 0.2, 0.05, 0.05], "tv": 0.1},
    ),
    (
        "random rule, redraw from the target: a common mistake",
        ([0.6, 0.3, 0.1], [0.3, 0.5, 0.2], "random", None, "target"),
        {"acceptance": 0.7, "residual": [1, 0, 0], "output": [0.48, 0.39, 0.13], "tv": 0.12},
    ),
    (
        "the same on another pair",
        ([0.1, 0.6, 0.3], [0.5, 0.3, 0.2], "random", None, "target"),
        {"output": [0.14, 0.54, 0.32]},
    ),
    (
        "fixed 0.5 where one ratio is exactly 0.5: a tie accepts",
        ([0.6, 0.3, 0.1], [0.3, 0.5, 0.2], "fixed", 0.5, "residual"),
        {"acceptance": 1.0, "output": [0.3, 0.5, 0.2], "tv": 0.3},
    ),
]


@pytest.mark.parametrize("case, right", [x[1:] for x in LAWS], ids=[x[0] for x in LAWS])
@pytest.mark.parametrize("law_of", [output_law, typed_law])
def test_right_values(law_of, case, right):
    p, q, name, threshold, correction = case
    law = law_of(np.array(p), np.array(q), Rule(name, threshold, correction))
    for field, value in right.items():
        tolerance = 5e-5 if field.startswith("kl") else 1e-12
        assert getattr(law, field) == pytest.approx(value, abs=tolerance), field


def test_typed_ties_fall_as_on_paper():
    """0.07 = 0.7 x 0.1 is a tie on paper; in floats 0.07 / 0.1 is above 0.7 or below, as rounding has it."""
    for p, q, c in ((0.07, 0.1, 0.7), (0.06, 0.2, 0.3), (0.29, 0.5, 0.58)):
        law = typed_law(np.array([p, 1 - p]), np.array([q, 1 - q]), Rule("fixed", c))
        assert law.acceptance == pytest.approx(1.0)
        assert bool(Rule("fixed", c).accepts(exactly(p), exactly(q), exactly(0)))


# --- residuals and corrections ---------------------------------------------------------------------------------------


@given(pairs)
def test_the_residual_is_none_only_where_p_is_q(pair):
    p, q = pair
    rest = residual(p, q)
    assert (rest is None) == (not np.any(p > q))
    if rest is not None:
        assert abs(rest.sum() - 1) < 1e-12
        assert np.all(rest[p <= q] == 0), "no floor, no softmax: impossible tokens get exactly 0"


def test_p_equal_to_q_leaves_nothing_to_correct():
    p = np.array([0.6, 0.3, 0.1])
    law = output_law(p, p)
    assert (law.residual, law.acceptance, law.tv, law.kl_output_target) == (None, pytest.approx(1), 0, 0)
    assert np.abs(output_law(p, p, Rule("never")).output - p).max() < 1e-15


def test_a_correction_leaves_p_and_q_as_they_are():
    p, q = np.array([0.1, 0.6, 0.3]), np.array([0.5, 0.3, 0.2])
    a, b = p.copy(), q.copy()
    for rule in ALL_RULES:
        output_law(p, q, rule)
        rule.correct(p, q)
        rule.accepts(p[p > 0], q[p > 0], 0.5)
    assert np.array_equal(p, a) and np.array_equal(q, b)


def test_no_floor_over_a_real_vocabulary():
    rng = np.random.default_rng(0)
    p, q = (rng.dirichlet(np.full(50_000, 0.02)) for _ in range(2))
    p[25_000:] = 0
    p /= p.sum()
    rest = residual(p, q)
    assert rest is not None and rest[25_000:].sum() == 0


# --- verdicts --------------------------------------------------------------------------------------------------------


def test_nothing_counts_after_the_first_rejection():
    judged = judge([True, False, True, True])
    assert (judged.n_a, judged.first_rejected) == (1, 2)
    assert judged.verdicts == (Verdict.ACCEPTED, Verdict.REJECTED, Verdict.NOT_REACHED, Verdict.NOT_REACHED)


@given(st.lists(st.booleans(), max_size=12))
def test_n_a_is_the_minimum_of_the_definition(stays):
    judged = judge(stays)
    assert judged.n_a == min([t - 1 for t, kept in enumerate(stays, start=1) if not kept], default=len(stays))
    assert len(judged.verdicts) == len(stays)
    assert judged.verdicts.count(Verdict.ACCEPTED) == judged.n_a
    assert judged.verdicts.count(Verdict.REJECTED) == (judged.first_rejected is not None)


def test_equality_accepts_and_impossible_tokens_never_do():
    rule = Rule()
    assert rule.accepts(0.25, 0.5, 0.5)
    assert not rule.accepts(0.25, 0.5, np.nextafter(0.5, 1))
    assert not rule.accepts(0.0, 0.5, 0.0)
    assert not rule.accepts(Fraction(0), Fraction(1, 2), Fraction(0))
    assert rule.accepts(exactly(0.06), exactly(0.2), exactly(0.3)), "0.06 / 0.2 is 0.3 on paper"
    assert Rule("always").accepts(0.0, 0.5, 1.0)


@pytest.mark.parametrize("rule", ALL_RULES, ids=str)
@pytest.mark.parametrize("q", [0.0, [0.5, 0.0]])
def test_a_candidate_with_q_0_is_refused(rule, q):
    with pytest.raises(ValueError, match="q of a candidate must be above 0"):
        rule.accepts(0.3, np.array(q), 0.5)


# --- the registry ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ALL_RULES, ids=str)
def test_what_the_registry_says_twice_is_the_same(rule):
    """probability(ratio) = P(level(R) <= ratio), by the share of a fine grid on (0, 1] that stays."""
    grid = np.arange(1, 20_001) / 20_000
    for p, q in ((0.1, 0.5), (0.25, 0.5), (0.45, 0.5), (0.5, 0.5), (0.9, 0.5), (1.0, 0.001), (0.0, 0.5), (1e-9, 1.0)):
        share = float(np.mean(rule.accepts(np.full(grid.size, p), np.full(grid.size, q), grid)))
        chance = float(rule.accept_probability(np.array([p]), np.array([q]))[0])
        assert abs(share - chance) <= 1 / grid.size + 1e-12, (p, q)


@pytest.mark.parametrize("rule", ALL_RULES, ids=str)
def test_arrays_scalars_and_fractions_agree(rule):
    rng = np.random.default_rng(5)
    p, q, r = (rng.integers(1, 64, 200) / 64 for _ in range(3))
    many = rule.accepts(p, q, r)
    for kept, a, b, c in zip(many.tolist(), p.tolist(), q.tolist(), r.tolist(), strict=True):
        assert kept == bool(rule.accepts(a, b, c)) == bool(rule.accepts(exactly(a), exactly(b), exactly(c)))


@pytest.mark.parametrize("name", RULES)
def test_every_rule_says_what_it_does(name):
    spec = RULES[name]
    assert spec.name == name and spec.title and spec.says.endswith(".")
    assert spec.exact == ("Exact" in spec.says)
    if spec.parameter is not None:
        assert spec.parameter.low <= spec.parameter.default <= spec.parameter.high
        for value in (spec.parameter.low, spec.parameter.high):
            Rule(name, value)
        bad: Any
        for bad in (spec.parameter.low - 0.01, spec.parameter.high + 0.01, float("nan"), True, "0.5"):
            with pytest.raises(ValueError, match=spec.parameter.name):
                Rule(name, bad)


def test_unknown_names_are_refused_with_those_there_are():
    with pytest.raises(ValueError, match=r"rule must be one of random, .*not 'coin'"):
        Rule("coin")
    with pytest.raises(ValueError, match=r"correction must be one of residual, .*not 'none'"):
        Rule(correction="none")
