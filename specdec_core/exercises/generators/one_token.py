"""One candidate: its ratio, its chance to stay, its verdict; and the same backwards (which p, which r would do)."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from specdec_core.exercises.draws import Draws
from specdec_core.exercises.generators.base import (
    GAP,
    HALF,
    ONE,
    Asked,
    Draft,
    Pools,
    Redraw,
    because,
    choice,
    number,
    quoted,
    stays,
    token_rows,
    use,
    verdict_options,
)
from specdec_core.exercises.question import Kind, Table
from specdec_core.exercises.values import about, decimal, exact_text, places_of, visible
from specdec_core.words import _

Q = tuple(Fraction(x, 100) for x in (5, 10, 16, 20, 25, 32, 40, 50, 60, 64, 75, 80))
BELOW = tuple(Fraction(x, 100) for x in (*range(10, 96, 5), 12, 24, 36, 48, 62, 84))
ABOVE = tuple(Fraction(x, 100) for x in (120, 125, 140, 150, 160, 175, 200, 250, 300, 400, 500))


def friendly_pair(draws: Draws, ratios: Sequence[Fraction]) -> tuple[Fraction, Fraction]:
    """(q, p) with p/q one of ``ratios`` and p of at most three decimals, between 0.01 and 0.95."""
    for _attempt in range(200):
        q = draws.choice(Q)
        p = draws.choice(ratios) * q
        if places_of(p, 3) is not None and Fraction(1, 100) <= p <= Fraction(95, 100):
            return q, p
    raise Redraw


def clear_r(draws: Draws, ratio: Fraction, accepted: bool | None = None) -> Fraction:
    """An r of two decimals at least GAP away from ``ratio``, on the side asked for."""
    for _attempt in range(200):
        r = draws.decimal(3, 99)
        if abs(r - ratio) >= GAP and (accepted is None or (r < ratio) == accepted):
            return r
    raise Redraw


def one_token(draws: Draws, settings: Mapping[str, Any], pools: Pools) -> Draft:
    """settings: ``case`` is below (p/q < 1), above, any, tie (r = p/q) or impossible (p = 0)."""
    case = settings.get("case", "below")
    context, tokens = draws.choice(pools.sentences)
    token = draws.choice(tokens)
    q, p = friendly_pair(draws, {"above": ABOVE, "any": BELOW + ABOVE}.get(case, BELOW))
    r = p / q if case == "tie" else clear_r(draws, p / q, accepted=draws.choice((True, False)) if p < q else None)
    if case == "impossible":
        p, r = Fraction(0), draws.choice((Fraction(0), draws.decimal(1, 20)))
    return token_draft(draws, context, token, q, p, r)


def token_draft(
    draws: Draws, context: Sequence[str], token: str, q: Fraction, p: Fraction, r: Fraction, lenient: bool = False
) -> Draft:
    """The draft for one candidate with these numbers."""
    ratio, kept = p / q, stays(p, q, r)
    draft = Draft(
        values={
            "token": quoted(token),
            "context": visible("".join(context)),
            "q": exact_text(q),
            "p": exact_text(p),
            "r": exact_text(r),
            "ratio": about(ratio),
            "kept": about(min(ONE, ratio)),
            "because": because(p, q, r),
            "smallest_p": about(r * q, 6),
        },
        tables={"candidate": Table((_("token"), "q", "p", "r"), token_rows([token], [q], [p], [r]))},
        block={"context": list(context), "tokens": [token], "q": [float(q)], "p": [float(p)], "r": [float(r)]},
    )
    draft.asked["ratio"] = number(ratio, *ratio_mistakes(p, q))
    clipped = [("clipped_wrong_way", ONE), ("inverted_ratio", q / p)] if 0 < ratio < 1 else [("not_clipped", ratio)]
    draft.asked["kept"] = number(
        min(ONE, ratio), *(clipped if p else [("impossible_accepted", ONE)]), follow=use("clip", "ratio")
    )
    draft.asked["decision"] = choice(
        "accepted" if kept else "rejected",
        verdict_options(),
        *((name, "rejected" if kept else "accepted") for name in decision_mistakes(draws, p, q, r)[:1]),
        follow=use("decide", "ratio", r=r) if p else None,
    )
    draft.asked["smallest_p"] = number(
        r * q, ("inverted_ratio", r / q), ("compared_r_with_p", r), ("p_must_reach_q", q), ("compared_with_half", q / 2)
    )
    for asked in draft.asked.values():
        asked.lenient = lenient or asked is draft.asked["smallest_p"]
    return draft


def ratio_mistakes(p: Fraction, q: Fraction) -> list[tuple[str, Fraction]]:
    """What people write for p/q."""
    if p == 0:
        return [("difference_not_ratio", q)]
    return [("inverted_ratio", q / p), ("difference_not_ratio", abs(q - p)), ("product_not_ratio", p * q)]


def decision_mistakes(draws: Draws, p: Fraction, q: Fraction, r: Fraction) -> list[str]:
    """Misconceptions that turn this verdict round; in a random order, the plain reversal last."""
    kept = stays(p, q, r)
    if p == 0:
        return ["impossible_accepted"]
    if r == p / q:
        return ["equality_rejects"]
    thought = {
        "inverted_ratio": r <= q / p,
        "compared_with_half": p / q >= HALF,
        "compared_r_with_p": r <= p,
        "compared_r_with_q": r <= q,
        "p_must_reach_q": p >= q,
    }
    return [*draws.shuffled([name for name, says in thought.items() if says != kept]), "accepted_when_r_larger"]


def two_tokens(draws: Draws, settings: Mapping[str, Any], pools: Pools) -> Draft:
    """Make up an r that keeps one candidate and rejects the other: any number of a range is right."""
    context, tokens = draws.choice(pools.sentences)
    strong, weak = draws.sample(tokens, 2)
    q_a, p_a = friendly_pair(draws, BELOW)
    q_b, p_b = friendly_pair(draws, BELOW)
    high, low = p_a / q_a, p_b / q_b
    if high - low < Fraction(10, 100) or strong == weak:
        raise Redraw
    step = Fraction(1, 100)
    middle, reach = (low + step + high) / 2, (high - low - step) / 2
    wrong: list[tuple[str, Fraction]] = [("equality_rejects", low), ("outside_the_range", (ONE + high) / 2)]
    if not low < HALF <= high:
        wrong.append(("compared_with_half", HALF))
    asked = Asked(Kind.NUMBER, middle, list(wrong), tolerance=reach, wrong_tolerance=Fraction(0), lenient=True)
    return Draft(
        values={
            "kept_token": quoted(strong),
            "lost_token": quoted(weak),
            "high": decimal(high),
            "low": decimal(low),
            "example": decimal(high if high < ONE else middle, 4),
            "context": visible("".join(context)),
        },
        tables={
            "candidates": Table(
                (_("token"), "q", "p"),
                token_rows(*zip(*draws.shuffled([(strong, q_a, p_a), (weak, q_b, p_b)]), strict=True)),
            )
        },
        asked={"r": asked},
        block=None,
    )
