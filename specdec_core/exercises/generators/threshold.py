"""A fixed bar instead of r: which tokens it always or never keeps, the exact output law, how far that is from p."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from specdec_core.acceptance import Law, Rule, typed_law
from specdec_core.exercises.draws import Draws
from specdec_core.exercises.generators.base import (
    ONE,
    Asked,
    Draft,
    Pools,
    Redraw,
    as_floats,
    marked,
    number,
    quoted,
    token_rows,
    use,
)
from specdec_core.exercises.generators.correction import Pair, draw_pair
from specdec_core.exercises.question import Kind, Table
from specdec_core.exercises.values import about, decimal, on_paper
from specdec_core.words import _

ZERO = Fraction(0)


def law_on_paper(pair: Pair, rule: Rule) -> tuple[Law, tuple[Fraction, ...], Fraction]:
    """The law, its output and its distance from p as fractions."""
    law = typed_law(np.array(as_floats(pair.p)), np.array(as_floats(pair.q)), rule)
    return law, tuple(on_paper(float(x)) for x in law.output), on_paper(law.tv)


def fixed(draws: Draws, settings: Mapping[str, Any], pools: Pools) -> Draft:
    """settings: ``threshold`` is a list of decimals as texts; ``size`` [least, most] words."""
    c = Fraction(draws.choice(settings.get("threshold", ["0.5"])))
    pair = draw_pair(draws, pools, settings.get("size", [3, 4]), 1)
    ratios = [a / b for a, b in zip(pair.p, pair.q, strict=True)]
    law, out, tv = law_on_paper(pair, Rule("fixed", float(c)))
    kept = [i for i, ratio in enumerate(ratios) if ratio >= c]
    lost = [i for i, ratio in enumerate(ratios) if ratio < c]
    # At exactly the bar, or with p = q nearly everywhere, the picture would be hard to read.
    if not lost or len(kept) < 2 or c in ratios or tv == 0:
        raise Redraw
    x = draws.choice(kept)
    if abs(out[x] - pair.p[x]) < Fraction(2, 100):
        raise Redraw
    acceptance = on_paper(law.acceptance)
    draft = Draft(
        values={
            "c": decimal(c),
            "kept": _names(pair, kept),
            "lost": _names(pair, lost),
            "acceptance": decimal(acceptance),
            "rejected": decimal(1 - acceptance),
            "x": quoted(pair.words[x]),
            "x_q": decimal(pair.q[x]),
            "x_p": decimal(pair.p[x]),
            "x_residual": about(pair.residual[x]),
            "x_out": about(out[x]),
            "tv": about(tv),
        },
        tables={"pair": pair.table, "law": _law_table(pair, out)},
        distributions=pair.plain,
    )
    _ask_sets(draft, pair, c, kept, lost)
    draft.asked["acceptance"] = number(acceptance, ("tv_not_alpha", 1 - acceptance), ("thought_unbiased", pair.alpha))
    draft.asked["acceptance"].lenient = True
    _ask_output(draft, pair, x, out[x], 1 - acceptance)
    draft.asked["x_out"].follow = use(
        "linear", "acceptance", factor=-pair.residual[x], add=pair.q[x] + pair.residual[x]
    )
    draft.asked["tv"] = number(tv, ("tv_not_halved", 2 * tv), ("thought_unbiased", ZERO))
    return draft


def _names(pair: Pair, places: list[int]) -> str:
    return ", ".join(quoted(pair.words[i]) for i in places)


def _law_table(pair: Pair, out: tuple[Fraction, ...]) -> Table:
    head = (_("token"), "q", "p", "p/q", _("output"), _("output - p"))
    rows = token_rows(pair.words, pair.q, pair.p)
    more = [(about(a / b), about(o), about(o - a)) for a, b, o in zip(pair.p, pair.q, out, strict=True)]
    return Table(head, tuple((*row, *rest) for row, rest in zip(rows, more, strict=True)))


def _ask_sets(draft: Draft, pair: Pair, c: Fraction, kept: list[int], lost: list[int]) -> None:
    def ids(places: list[int]) -> list[str]:
        return [f"w{i}" for i in places]

    every = range(len(pair.p))
    reach = ids([i for i in every if pair.p[i] >= pair.q[i]])
    alone = ids([i for i in every if pair.p[i] >= c])
    draft.asked["kept"] = marked(
        Kind.TOKEN_LIST,
        ids(kept),
        pair.options(),
        ("swapped_kept_and_lost", ids(lost)),
        ("compared_p_with_threshold", alone),
        ("p_must_reach_q", reach),
    )
    draft.asked["lost"] = marked(
        Kind.TOKEN_LIST,
        ids(lost),
        pair.options(),
        ("swapped_kept_and_lost", ids(kept)),
        ("compared_p_with_threshold", ids([i for i in every if pair.p[i] < c])),
        ("p_must_reach_q", ids([i for i in every if pair.p[i] < pair.q[i]])),
    )


def _ask_output(draft: Draft, pair: Pair, x: int, out: Fraction, rejected: Fraction) -> None:
    draft.asked["x_out"] = number(
        out,
        ("thought_unbiased", pair.p[x]),
        ("only_the_kept", pair.q[x]),
        ("drew_again_from_p", pair.q[x] + rejected * pair.p[x]),
        ("plus_all_p", pair.q[x] + pair.p[x]),
    )
    draft.asked["x_out"].lenient = True


def again_from_p(draws: Draws, settings: Mapping[str, Any], pools: Pools) -> Draft:
    """The random rule, but after a rejection the token is drawn from p itself. settings: ``size``."""
    pair = draw_pair(draws, pools, settings.get("size", [3, 3]), 1)
    law, out, tv = law_on_paper(pair, Rule("random", correction="target"))
    x = draws.choice(range(len(pair.p)))
    alpha = on_paper(law.acceptance)
    kept = min(pair.p[x], pair.q[x])
    draft = Draft(
        values={
            "x": quoted(pair.words[x]),
            "x_p": decimal(pair.p[x]),
            "x_q": decimal(pair.q[x]),
            "x_kept": decimal(kept),
            "alpha": decimal(alpha),
            "rejected": decimal(1 - alpha),
            "x_out": about(out[x]),
            "tv": about(tv),
        },
        tables={"pair": pair.table, "law": _law_table(pair, out)},
        distributions=pair.plain,
    )
    draft.asked["alpha"] = number(alpha, ("tv_not_alpha", 1 - alpha))
    draft.asked["alpha"].lenient = True
    draft.asked["x_out"] = number(
        out[x],
        ("thought_unbiased", pair.p[x]),
        ("only_the_kept", kept),
        ("plus_all_p", kept + pair.p[x]),
        follow=use("linear", "alpha", factor=-pair.p[x], add=kept + pair.p[x]),
    )
    draft.asked["tv"] = number(tv, ("tv_not_halved", 2 * tv), ("thought_unbiased", ZERO))
    return draft


def choose_threshold(draws: Draws, settings: Mapping[str, Any], pools: Pools) -> Draft:
    """Make up a bar that always keeps one token and never keeps another: any number of a range is right."""
    pair = draw_pair(draws, pools, settings.get("size", [3, 4]), 1)
    ratios = [a / b for a, b in zip(pair.p, pair.q, strict=True)]
    order = sorted(range(len(ratios)), key=lambda i: ratios[i])
    lost, kept = order[0], order[1]
    low, high = ratios[lost], min(ONE, ratios[kept])
    step = Fraction(1, 100)
    # The ends are multiples of 0.01, so that "two decimals at most" leaves no doubt about them.
    first, last = Fraction(int(low * 100) + 1, 100), Fraction(int(high * 100), 100)
    if last - first < 8 * step or low == ratios[order[1]]:
        raise Redraw
    wrong: list[tuple[str, Fraction]] = [("outside_the_range", (first - step) / 2)]
    if not low < Fraction(1, 2) <= high:
        wrong.insert(0, ("compared_with_half", Fraction(1, 2)))
    if (low * 100).denominator == 1:
        wrong.insert(0, ("equality_rejects", low))
    asked = Asked(
        Kind.NUMBER,
        (first + last) / 2,
        list(wrong),
        tolerance=(last - first) / 2,
        wrong_tolerance=ZERO,
        lenient=True,
    )
    return Draft(
        values={
            "kept": quoted(pair.words[kept]),
            "lost": quoted(pair.words[lost]),
            "high": about(ratios[kept]),
            "low": about(low),
            "first": decimal(first),
            "last": decimal(last),
        },
        tables={"pair": pair.table, "ratios": _ratio_table(pair)},
        asked={"c": asked},
        distributions=pair.plain,
    )


def _ratio_table(pair: Pair) -> Table:
    rows = token_rows(pair.words, pair.q, pair.p)
    ratios = [about(a / b) for a, b in zip(pair.p, pair.q, strict=True)]
    return Table((_("token"), "q", "p", "p/q"), tuple((*row, r) for row, r in zip(rows, ratios, strict=True)))
