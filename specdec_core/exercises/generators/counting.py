"""Counting: n_a from verdicts, flags or emitted tokens, the case that all pass, and the rates over several blocks."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from specdec_core.acceptance import judge
from specdec_core.exercises.draws import Draws
from specdec_core.exercises.generators.base import (
    Draft,
    Pools,
    Redraw,
    choice,
    number,
    source_options,
    token_rows,
    use,
    whole,
)
from specdec_core.exercises.generators.block import n_a_mistakes
from specdec_core.exercises.question import Option, Table
from specdec_core.exercises.values import about, visible
from specdec_core.words import _


def outcomes(draws: Draws, settings: Mapping[str, Any], pools: Pools) -> Draft:
    """settings: ``shows``: verdicts or comparisons; ``pattern``: later_accept or all_pass; ``tau``: [least, most]."""
    tau = draws.between(*settings.get("tau", [4, 6]))
    context, tokens = draws.choice(pools.sentences)
    if len(tokens) < tau:
        raise Redraw
    kept = _kept(draws, tau, settings.get("pattern", "later_accept"))
    verdict = judge(kept)
    n = verdict.n_a
    if settings.get("shows") == "verdicts":
        head, words = _("verdict"), [_(v.value) for v in verdict.verdicts]
        kept = kept[: n + 1] + [False] * (tau - n - 1)  # what is not reached shows no outcome to be mistaken about
    else:
        head, words = "r > p/q", [_("no") if stays else _("yes") for stays in kept]
    heads = ("t", _("token"), head)
    rows = tuple(
        (str(t), *cells, word)
        for t, (cells, word) in enumerate(zip(token_rows(tokens[:tau]), words, strict=True), start=1)
    )
    draft = Draft(
        values={
            "tau": str(tau),
            "tau_plus_one": str(tau + 1),
            "n_a": str(n),
            "emitted": str(n + 1),
            "unreached": str(tau - n - 1 if n < tau else 0),
            "first": str(verdict.first_rejected or ""),
            "context": visible("".join(context)),
        },
        tables={"outcomes": Table(heads, rows)},
    )
    draft.asked["n_a"] = whole(n, *n_a_mistakes(kept))
    draft.asked["emitted"] = whole(
        n + 1,
        ("forgot_the_next_token", n),
        ("emitted_all_candidates", tau),
        ("emitted_all_candidates", tau + 1),
        follow=use("linear", "n_a", add=1),
    )
    draft.asked["unreached"] = whole(
        max(0, tau - n - 1),
        ("rejected_one_unjudged", tau - n),
        ("later_scores_still_count", sum(not x for x in kept[n + 1 :])),
        follow=use("linear", "n_a", factor=-1, add=tau - 1) if n < tau else None,
    )
    draft.asked["next"] = choice(
        "residual" if n < tau else "bonus",
        source_options(),
        ("residual_for_bonus", "residual") if n == tau else ("bonus_after_rejection", "bonus"),
        follow=use("source_of_next", "n_a", tau=tau),
    )
    draft.asked["definition"] = _definition()
    return draft


def _kept(draws: Draws, tau: int, pattern: str) -> list[bool]:
    if pattern == "all_pass":
        return [True] * tau
    n = draws.between(0, tau - 2 if tau <= 3 else tau - 3)
    later = [bool(draws.below(2)) for _i in range(tau - n - 1)]
    if tau > 3 and sum(later) < 2:  # one more would look like counting the rejected candidate
        raise Redraw
    return [True] * n + [False] + later


def _definition() -> Any:
    options = [
        Option("tau", _("tau: all candidates are accepted")),
        Option("zero", _("0: there is no rejection to count from")),
        Option("undefined", _("it stays undefined")),
        Option("more", _("tau + 1: the bonus token counts as well")),
    ]
    return choice(
        "tau",
        options,
        ("zero_when_all_pass", "zero"),
        ("undefined_when_all_pass", "undefined"),
        ("counted_the_bonus", "more"),
    )


def several_blocks(draws: Draws, settings: Mapping[str, Any], pools: Pools) -> Draft:
    """Blocks with their n_a; asked are accepted, judged and the three rates. settings: ``blocks`` and ``tau``."""
    tau, blocks = draws.between(*settings.get("tau", [3, 5])), draws.between(*settings.get("blocks", [3, 5]))
    counts = [draws.between(0, tau) for _i in range(blocks)]
    rejected = sum(n < tau for n in counts)
    accepted, drafted = sum(counts), tau * blocks
    judged = accepted + rejected
    if not 0 < rejected < blocks or accepted == 0 or judged == drafted:
        raise Redraw
    rows = tuple((str(i), str(tau), str(n)) for i, n in enumerate(counts, start=1))
    draft = Draft(
        values={
            "tau": str(tau),
            "blocks": str(blocks),
            "accepted": str(accepted),
            "rejected": str(rejected),
            "judged": str(judged),
            "drafted": str(drafted),
            "emitted": str(accepted + blocks),
            "per_judged": about(Fraction(accepted, judged)),
            "per_drafted": about(Fraction(accepted, drafted)),
            "per_block": about(Fraction(accepted + blocks, blocks)),
        },
        tables={"blocks": Table((_("block"), "tau", "n_a"), rows)},
    )
    draft.asked = {
        "judged": whole(judged, ("rejected_one_unjudged", accepted), ("mixed_denominator", drafted)),
        "per_judged": number(
            Fraction(accepted, judged),
            ("mixed_denominator", Fraction(accepted, drafted)),
            follow=None,
        ),
        "per_drafted": number(Fraction(accepted, drafted), ("mixed_denominator", Fraction(accepted, judged))),
        "per_block": number(
            Fraction(accepted + blocks, blocks),
            ("accepted_not_emitted", Fraction(accepted, blocks)),
            ("emitted_all_candidates", Fraction(tau + 1)),
        ),
    }
    return draft


def backwards(draws: Draws, settings: Mapping[str, Any], pools: Pools) -> Draft:
    """From the number of emitted tokens back to n_a and the first rejected position."""
    tau = draws.between(*settings.get("tau", [3, 6]))
    emitted = draws.between(1, tau + 1)
    n = emitted - 1
    first = n + 1 if n < tau else None
    options = [Option(f"t{t}", _("t = {t}").format(t=t)) for t in range(1, tau + 1)]
    options.append(Option("none", _("none is rejected")))
    draft = Draft(
        values={
            "tau": str(tau),
            "emitted": str(emitted),
            "n_a": str(n),
            "conclusion": (
                _("n_a = {n_a} is below tau = {tau}, so t = {first} was rejected and a corrected token came last.")
                if first
                else _("n_a = {n_a} equals tau, so nothing was rejected and a bonus token came last.")
            ).format(n_a=n, tau=tau, first=first),
        },
        tables={},
    )
    draft.asked["n_a"] = whole(n, ("forgot_the_next_token", emitted), ("off_by_one", n - 1))
    draft.asked["first"] = choice(
        f"t{first}" if first else "none", options, *_first_mistakes(tau, n), follow=use("first_after", "n_a", tau=tau)
    )
    draft.asked["next"] = choice(
        "residual" if first else "bonus",
        source_options(),
        ("residual_for_bonus", "residual") if not first else ("bonus_after_rejection", "bonus"),
        follow=use("source_of_next", "n_a", tau=tau),
    )
    return draft


def _first_mistakes(tau: int, n: int) -> Sequence[tuple[str, str]]:
    if n == tau:
        return [("counted_the_bonus", f"t{tau}")]
    mistakes = [("counted_the_rejected", f"t{n}")] if n else []
    return [*mistakes, ("off_by_one", f"t{n + 2}" if n + 2 <= tau else "none")]
