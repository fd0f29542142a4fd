"""How far a block gets: chance that all pass, expected tokens, unequal positions, alpha from p and q, speed-up."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from specdec_core.exercises.draws import Draws
from specdec_core.exercises.generators.base import Draft, Pools, Redraw, choice, number, use
from specdec_core.exercises.generators.correction import draw_pair
from specdec_core.exercises.question import Option, Table
from specdec_core.exercises.values import about, decimal, decimal_on_paper
from specdec_core.theory import all_accepted, expected_accepted, expected_tokens, speed_up
from specdec_core.words import _


def one_rate(draws: Draws, settings: Mapping[str, Any], pools: Pools) -> Draft:
    """settings: ``alpha`` is a list of decimals as texts, ``tau`` [least, most]."""
    alpha = Fraction(draws.choice(settings.get("alpha", ["0.5", "0.6", "0.7", "0.8", "0.9"])))
    return _rate_draft(alpha, draws.between(*settings.get("tau", [2, 5])))


def _rate_draft(alpha: Fraction, tau: int) -> Draft:
    a = float(alpha)
    every = decimal_on_paper(all_accepted(a, tau))
    emitted = decimal_on_paper(expected_tokens(a, tau))
    accepted = decimal_on_paper(expected_accepted(a, tau))
    draft = Draft(
        values={
            "alpha": decimal(alpha),
            "tau": str(tau),
            "tau_plus_one": str(tau + 1),
            "all": about(every),
            "emitted": about(emitted),
            "accepted": about(accepted),
            "powers": " + ".join(decimal(alpha**k, 5) for k in range(tau + 1)),
            "at_least_one": about(1 - (1 - alpha) ** tau),
        }
    )
    draft.asked["all"] = number(
        every,
        ("multiplied_by_tau", alpha * tau),
        ("one_position_only", alpha),
        ("any_not_all", 1 - (1 - alpha) ** tau),
    )
    draft.asked["emitted"] = number(
        emitted,
        ("tau_not_tau_plus_one", decimal_on_paper(expected_tokens(a, tau - 1))),
        ("accepted_not_emitted", accepted),
        ("multiplied_by_tau", alpha * tau),
    )
    draft.asked["accepted"] = number(accepted, ("emitted_all_candidates", emitted), ("multiplied_by_tau", alpha * tau))
    return draft


def from_pair(draws: Draws, settings: Mapping[str, Any], pools: Pools) -> Draft:
    """alpha from p and q first, then as ``one_rate``. settings: ``size``, ``tau``."""
    pair = draw_pair(draws, pools, settings.get("size", [3, 4]), 1)
    tau = draws.between(*settings.get("tau", [2, 4]))
    draft = _rate_draft(pair.alpha, tau)
    draft.tables, draft.distributions = {"pair": pair.table}, pair.plain
    draft.values["sum"] = " + ".join(decimal(min(a, b)) for a, b in zip(pair.p, pair.q, strict=True))
    largest = sum((max(a, b) for a, b in zip(pair.p, pair.q, strict=True)), Fraction(0))
    draft.asked["alpha"] = number(pair.alpha, ("tv_not_alpha", 1 - pair.alpha), ("max_not_min", largest))
    draft.asked["alpha"].lenient = True
    draft.asked["all"].follow = use("power", "alpha", exponent=tau)
    draft.asked["emitted"].follow = use("powers", "alpha", exponent=tau)
    return draft


def unequal(draws: Draws, settings: Mapping[str, Any], pools: Pools) -> Draft:
    """Every position has its own chance; asked is that all pass and that exactly k do. settings: ``tau``."""
    tau = draws.between(*settings.get("tau", [3, 4]))
    chances = [Fraction(draws.between(2, 9), 10) for _i in range(tau)]
    k = draws.between(2, tau - 1)
    every, start = _product(chances), _product(chances[:k])
    rows = tuple((str(t), decimal(chance)) for t, chance in enumerate(chances, start=1))
    draft = Draft(
        values={
            "tau": str(tau),
            "k": str(k),
            "next_t": str(k + 1),
            "all": about(every),
            "all_product": " × ".join(decimal(c) for c in chances),
            "start_product": " × ".join(decimal(c) for c in chances[:k]),
            "start": about(start),
            "stop": decimal(1 - chances[k]),
            "exactly": about(start * (1 - chances[k])),
        },
        tables={"chances": Table(("t", _("chance to be accepted")), rows)},
    )
    draft.asked["all"] = number(every, ("one_position_only", chances[-1]), ("any_not_all", _any(chances)))
    draft.asked["exactly"] = number(
        start * (1 - chances[k]), ("forgot_the_rejection", start), ("one_position_only", chances[k - 1])
    )
    draft.asked["exactly"].lenient = True
    return draft


def _product(values: Sequence[Fraction]) -> Fraction:
    result = Fraction(1)
    for value in values:
        result *= value
    return result


def _any(chances: Sequence[Fraction]) -> Fraction:
    return 1 - _product([1 - chance for chance in chances])


def speed(draws: Draws, settings: Mapping[str, Any], pools: Pools) -> Draft:
    """Speed-up of one tau, then the best tau of a few. settings: ``alpha`` and ``cost`` lists of decimals as texts."""
    alpha = Fraction(draws.choice(settings.get("alpha", ["0.5", "0.6", "0.7", "0.8"])))
    cost = Fraction(draws.choice(settings.get("cost", ["0.1", "0.2", "0.25"])))
    taus = list(settings.get("taus", [1, 2, 4, 8]))
    gains = [speed_up(float(alpha), tau, float(cost)) for tau in taus]
    best = max(range(len(taus)), key=lambda i: gains[i])
    # The best must stand out at two decimals, and must not be the longest block, which is the known mistake.
    if any(i != best and gains[best] - gain < 0.02 for i, gain in enumerate(gains)) or best == len(taus) - 1:
        raise Redraw
    tau = draws.choice([t for t in taus if t > 1])
    tokens = decimal_on_paper(expected_tokens(float(alpha), tau))
    denominator = tau * cost + 1
    value = tokens / denominator
    rows = tuple((str(t), about(Fraction(str(round(g, 6))), 2)) for t, g in zip(taus, gains, strict=True) if t != tau)
    draft = Draft(
        values={
            "alpha": decimal(alpha),
            "cost": decimal(cost),
            "tau": str(tau),
            "tokens": about(tokens),
            "denominator": decimal(denominator),
            "gain": about(value, 3),
            "best": str(taus[best]),
        },
        tables={"gains": Table(("tau", _("speed-up")), rows)},
    )
    draft.asked["tokens"] = number(
        tokens,
        ("tau_not_tau_plus_one", decimal_on_paper(expected_tokens(float(alpha), tau - 1))),
        ("accepted_not_emitted", tokens - 1),
    )
    draft.asked["gain"] = number(
        value,
        ("forgot_the_cost", tokens),
        ("cost_without_pass", tokens / (tau * cost)),
        follow=use("divided", "tokens", denominator=denominator),
    )
    draft.asked["gain"].lenient = True
    options = [Option(f"tau{t}", f"tau = {t}") for t in taus]
    draft.asked["best"] = choice(f"tau{taus[best]}", options, ("longest_is_best", f"tau{taus[-1]}"))
    return draft
