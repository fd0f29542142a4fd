"""A block of candidates: the first rejected one, what decides it, n_a, what is not reached, what comes next."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from specdec_core.acceptance import judge
from specdec_core.exercises.draws import Draws
from specdec_core.exercises.generators.base import (
    HALF,
    Draft,
    Pools,
    Redraw,
    because,
    choice,
    marked,
    number,
    quoted,
    source_options,
    stays,
    token_rows,
    use,
    whole,
)
from specdec_core.exercises.generators.one_token import ABOVE, BELOW, clear_r, friendly_pair, ratio_mistakes
from specdec_core.exercises.question import Kind, Option, Table
from specdec_core.exercises.values import about, exact_text, visible
from specdec_core.words import _


@dataclass(frozen=True)
class Row:
    """One candidate."""

    token: str
    q: Fraction
    p: Fraction
    r: Fraction

    @property
    def ratio(self) -> Fraction:
        return self.p / self.q

    @property
    def stays(self) -> bool:
        return stays(self.p, self.q, self.r)


def block(draws: Draws, settings: Mapping[str, Any], pools: Pools) -> Draft:
    """settings: ``tau`` is [least, most]; ``pattern`` is later_accept (some after the rejection pass) or all_pass."""
    tau = draws.between(*settings.get("tau", [4, 4]))
    context, tokens = draws.choice(pools.sentences)
    if len(tokens) < tau:
        raise Redraw
    all_pass = settings.get("pattern", "later_accept") == "all_pass"
    rejected_at = tau + 1 if all_pass else draws.between(1, tau - 1)
    rows = [_row(draws, token, t, rejected_at) for t, token in enumerate(tokens[:tau], start=1)]
    half = judge([row.ratio >= HALF for row in rows])
    later = [row.stays for row in rows[rejected_at:]]
    if tau > 3 and sum(later) == 1 and len(later) > 1:
        raise Redraw  # counting on after the rejection would look like counting the rejected candidate
    if not all_pass and (not any(later) or half.first_rejected == rejected_at):
        raise Redraw
    if len({(row.r, row.ratio) for row in rows}) < tau or len({row.ratio for row in rows}) < tau:
        raise Redraw
    return block_draft(draws, context, rows)


def _row(draws: Draws, token: str, t: int, rejected_at: int) -> Row:
    # Three in four candidates have p below q: there the draw decides, which is what is practised.
    q, p = friendly_pair(draws, BELOW if t == rejected_at or draws.below(4) else ABOVE)
    accepted = True if t < rejected_at else False if t == rejected_at else None
    return Row(token, q, p, clear_r(draws, p / q, accepted))


def block_draft(draws: Draws, context: Sequence[str], rows: Sequence[Row], lenient: bool = False) -> Draft:
    """The draft for a block with these rows."""
    tau = len(rows)
    verdict = judge([row.stays for row in rows])
    first, n_a = verdict.first_rejected, verdict.n_a
    deciding = rows[first - 1] if first else rows[-1]
    probe = draws.below(tau)
    draft = Draft(
        values={
            "tau": str(tau),
            "tau_plus_one": str(tau + 1),
            "context": visible("".join(context)),
            "probe": str(probe + 1),
            "probe_token": quoted(rows[probe].token),
            "probe_p": exact_text(rows[probe].p),
            "probe_q": exact_text(rows[probe].q),
            "probe_ratio": about(rows[probe].ratio),
            "first": _("t = {t}").format(t=first) if first else _("none"),
            "n_a": str(n_a),
            "emitted": str(n_a + 1),
            "deciding_ratio": about(deciding.ratio),
            "ending": _ending(rows, first),
            "walk": " ".join(_walk(t, row) for t, row in enumerate(rows[: first or tau], start=1)),
        },
        tables=_tables(rows, first),
        block={
            "context": list(context),
            "tokens": [row.token for row in rows],
            "q": [float(row.q) for row in rows],
            "p": [float(row.p) for row in rows],
            "r": [float(row.r) for row in rows],
        },
    )
    ask = draft.asked
    ask["ratio"] = number(rows[probe].ratio, *ratio_mistakes(rows[probe].p, rows[probe].q))
    ask["ratio"].lenient = lenient
    ask["first"] = choice(f"t{first}" if first else "none", _position_options(rows), *_first_mistakes(rows, first))
    ask["n_a"] = whole(n_a, *n_a_mistakes([row.stays for row in rows]), follow=use("count_before", "first", tau=tau))
    ask["emitted"] = whole(
        n_a + 1,
        ("forgot_the_next_token", n_a),
        ("emitted_all_candidates", tau),
        ("emitted_all_candidates", tau + 1),
        follow=use("linear", "n_a", add=1),
    )
    source = "residual" if first else "bonus"
    ask["next"] = choice(
        source,
        source_options(),
        ("residual_for_bonus", "residual") if source == "bonus" else ("bonus_after_rejection", "bonus"),
        follow=use("source_of_next", "n_a", tau=tau),
    )
    if first:
        _ask_about_rejection(draft, rows, first, lenient)
    return draft


def _ask_about_rejection(draft: Draft, rows: Sequence[Row], first: int, lenient: bool) -> None:
    """Steps that only make sense when a candidate is rejected."""
    tau, row = len(rows), rows[first - 1]
    after = [f"t{t}" for t in range(first + 1, tau + 1)]
    failing = [f"t{t}" for t in range(first + 1, tau + 1) if not rows[t - 1].stays]
    passing = [f"t{t}" for t in range(first + 1, tau + 1) if rows[t - 1].stays]
    nothing = Option("none", _("none: all are reached"))
    draft.asked["not_reached"] = marked(
        Kind.TOKEN_LIST,
        after or ["none"],
        [*_position_options(rows)[:-1], nothing],
        ("rejected_one_unjudged", [f"t{first}", *after]),
        ("later_scores_still_count", failing),
        ("counted_after_rejection", passing if not failing else []),
        follow=use("positions_after", "first", tau=tau),
    )
    draft.asked["comparison"] = _comparison(rows, first)
    largest = number(row.ratio, *ratio_mistakes(row.p, row.q)[:1], ("compared_r_with_p", row.p))
    largest.lenient = True
    draft.asked["largest_r"] = largest
    then = judge([True if t == first else x.stays for t, x in enumerate(rows, start=1)])
    draft.values["n_a_then"] = str(then.n_a)
    draft.asked["n_a_then"] = whole(then.n_a, ("off_by_one", first), ("counted_the_rejected", then.n_a + 1))


def _comparison(rows: Sequence[Row], first: int) -> Any:
    """Which two numbers are compared at the rejected position."""
    row = rows[first - 1]
    other = next((x for x in rows if x is not row and x.ratio != row.ratio and x.r != row.r), None)
    sentence = _("r = {r} against p/q = {ratio}")
    pairs = [
        ("right", "", sentence.format(r=exact_text(row.r), ratio=about(row.ratio))),
        ("half", "compared_with_half", _("p/q = {ratio} against 0.5").format(ratio=about(row.ratio))),
        ("p", "compared_r_with_p", _("r = {r} against p = {p}").format(r=exact_text(row.r), p=exact_text(row.p))),
    ]
    if row.p:
        inverse = _("r = {r} against q/p = {ratio}")
        pairs.append(("inv", "inverted_ratio", inverse.format(r=exact_text(row.r), ratio=about(1 / row.ratio))))
    if other:
        pairs.append(("other", "other_position", sentence.format(r=exact_text(other.r), ratio=about(other.ratio))))
    # The order is by text: no draw is spent on it, and it gives nothing away.
    options = sorted((Option(id_, text) for id_, _why, text in pairs), key=lambda option: option.text)
    return choice("right", options, *((why, id_) for id_, why, _text in pairs if why))


def _tables(rows: Sequence[Row], first: int | None) -> dict[str, Table]:
    tokens = [row.token for row in rows]
    numbered = [(str(t), *cells) for t, cells in enumerate(token_rows(tokens), start=1)]
    verdicts = judge([row.stays for row in rows]).verdicts

    def table(columns: Sequence[str], *cells: Sequence[str]) -> Table:
        body = zip(numbered, *cells, strict=True)
        return Table(("t", _("token"), *columns), tuple((*head, *rest) for head, *rest in body))

    q, p, r = ([exact_text(x) for x in column] for column in zip(*((x.q, x.p, x.r) for x in rows), strict=True))
    ratios = [about(row.ratio) for row in rows]
    words = [_(verdict.value) for verdict in verdicts]
    return {
        "candidates": table(("q", "p", "r"), q, p, r),
        "ratios": table(("p/q", "r"), ratios, r),
        "judged": table(("q", "p", "p/q", "r", _("verdict")), q, p, ratios, r, words),
    }


def _position_options(rows: Sequence[Row]) -> list[Option]:
    named = [
        Option(f"t{t}", _("t = {t}: {token}").format(t=t, token=visible(row.token)))
        for t, row in enumerate(rows, start=1)
    ]
    return [*named, Option("none", _("none is rejected"))]


def _first_mistakes(rows: Sequence[Row], first: int | None) -> list[tuple[str, str]]:
    """What other readings of the table take for the first rejected position; of one answer, the likeliest reading."""
    readings = {
        "compared_with_half": [row.ratio >= HALF for row in rows],
        "inverted_ratio": [row.p == 0 or row.r <= 1 / row.ratio for row in rows],
        "accepted_when_r_larger": [not row.stays for row in rows],
        "compared_r_with_p": [row.r <= row.p for row in rows],
        "p_must_reach_q": [row.p >= row.q for row in rows],
        "one_r_for_all": [rows[0].r <= row.ratio for row in rows],
    }
    found = [(name, judge(kept).first_rejected) for name, kept in readings.items()]
    smallest = min(range(len(rows)), key=lambda i: rows[i].ratio) + 1
    later = [t for t, row in enumerate(rows, start=1) if not row.stays and t != first]
    found += [("smallest_ratio", smallest), *(("last_rejection", t) for t in later)]
    return [(name, f"t{t}" if t else "none") for name, t in found]


def n_a_mistakes(kept: Sequence[bool]) -> list[tuple[str, int]]:
    """Wrong counts for a block with these outcomes of the comparison, the likeliest first."""
    verdict, tau = judge(kept), len(kept)
    if verdict.first_rejected is None:
        return [("zero_when_all_pass", 0), ("counted_the_bonus", tau + 1), ("off_by_one", tau - 1)]
    n = verdict.n_a
    return [
        ("counted_the_rejected", n + 1),
        ("counted_after_rejection", sum(kept)),
        ("emitted_all_candidates", tau),
        ("counted_rejections", tau - n),
        ("off_by_one", n - 1),
    ]


def _walk(t: int, row: Row) -> str:
    return _("t = {t}: {sentence}").format(t=t, sentence=because(row.p, row.q, row.r))


def _ending(rows: Sequence[Row], first: int | None) -> str:
    tau = len(rows)
    if first is None:
        return _("No position is rejected, so n_a = tau = {tau} and a bonus token follows.").format(tau=tau)
    if first == tau:
        return _("The last position is the first rejected one, so n_a = {n_a}.").format(n_a=first - 1)
    return _("The first rejected position is t = {first}, so n_a = {n_a}; what comes after it is not reached.").format(
        first=first, n_a=first - 1
    )
