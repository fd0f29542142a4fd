"""The speed page's numbers: alpha against the formula, the time of a block, three ratios, the calculator.

Formulas: Leviathan et al. 2023, named where they stand.

Does not know: where runs come from.
"""

from collections.abc import Mapping

import streamlit as st

from specdec_core.figures.speed import (
    n_a_bars,
    n_a_text,
    speed_map,
    speed_map_text,
    time_bar,
    time_text,
    tokens_curve,
    tokens_curve_text,
)
from specdec_core.theory import best_tau, expected_accepted, expected_tokens, extra_operations, speed_up
from specdec_core.ui.charts import chart
from specdec_core.ui.lesson import begin_number
from specdec_core.ui.literal import literal
from specdec_core.ui.shell import notation, theme
from specdec_core.ui.speed_runs import Measured
from specdec_core.words import _

#: Used where no race was recorded: about what a draft of a few layers costs on a processor.
DEFAULT_COST = 0.15
HIGHEST = 16
#: Leviathan et al. 2023, table 1: alpha, gamma, operations, speed; there c = c-hat = 0.
TABLE_1 = (
    (0.6, 2, "1.53", "1.96"),
    (0.7, 3, "1.58", "2.53"),
    (0.8, 2, "1.23", "2.44"),
    (0.8, 5, "1.63", "3.69"),
    (0.9, 2, "1.11", "2.71"),
    (0.9, 10, "1.60", "6.86"),
)
EXAMPLE_ALPHA, EXAMPLE_TAU = 0.8, 4


# --- measured against the formula -----------------------------------------------------------------------------------


def formula_section(known: Mapping[str, Measured], chosen: Measured) -> None:
    """Tokens per block, measured and by formula; how many were accepted in a block."""
    n = notation()
    words = _("{run}: {blocks} whole blocks, α = accepted / judged = {accepted}/{judged} = {alpha}.")
    w = chosen.whole
    st.markdown(
        literal(
            words.format(
                run=chosen.title, blocks=w.blocks, accepted=w.accepted, judged=w.judged, alpha=f"{chosen.alpha:.3f}"
            )
        )
    )
    formula = expected_tokens(chosen.alpha, chosen.tau)
    a, b, c = st.columns(3)
    a.metric(_("Tokens per block, measured"), f"{w.tokens_per_block:.2f}", border=True, height="stretch")
    b.metric(
        _("By the formula"),
        f"{formula:.2f}",
        f"{w.tokens_per_block - formula:+.2f}",
        "off",
        border=True,
        height="stretch",
    )
    mean = "–" if w.alpha is None else f"{w.alpha:.3f}"
    c.metric(
        _("Mean of Σ min({p}, {q})").format(p=n.p, q=n.q),
        mean,
        border=True,
        height="stretch",
        help=_("Over the judged positions. α estimates the same number from yes and no alone."),
    )
    left, right = st.columns(2)
    some = [chosen.figure, *(x.figure for x in known.values() if x is not chosen)][:6]
    with left:
        chart(tokens_curve(some, theme(), n), "speed_tokens", tokens_curve_text(some))
    with right:
        chart(n_a_bars(chosen.figure, theme(), n), "speed_n_a", n_a_text(chosen.figure))
    st.caption(
        literal(
            _(
                "Tokens per block = (1 − α^({tau}+1)) / (1 − α), Leviathan et al. 2023, equation 1. It takes one α for"
                " every position, independent of the others. Real text has easy stretches and hard ones, so more blocks"
                " fall at once, and more stand whole, than the formula says."
            ).format(tau=n.tau)
        )
    )


def time_section(chosen: Measured) -> None:
    """Where the time of a block went, and the cost that follows from it."""
    seconds, blocks = chosen.whole.seconds, chosen.whole.blocks
    if not seconds or not sum(seconds.values()):
        st.info(_("This run's blocks were not timed."))
        return
    chart(time_bar(seconds, blocks, theme()), "speed_time", time_text(seconds, blocks))
    race = chosen.race
    if race is None:
        st.caption(_("Draft, verify, judge, correct, and what it takes to record the block for the screen."))
        return
    st.markdown(
        literal(
            _(
                "One draft step takes {cost} of a target pass: that is c. The pass that judges {n} candidates at once"
                " takes {verify} times a pass over one token; the formula for the speed-up takes that for 1."
            ).format(cost=f"{race.cost:.2f}", n=chosen.tau, verify=f"{race.verify_cost:.2f}")
        )
    )


# --- the map and the calculator -------------------------------------------------------------------------------------


def calculator(measured: Measured | None) -> None:
    """alpha, tau and c on the map, with every formula's value."""
    n = notation()
    cost = measured.race.cost if measured and measured.race else DEFAULT_COST
    _begin("speed_alpha", round(measured.alpha, 2) if measured else 0.6, 0.0, 1.0)
    _begin("speed_c", min(1.0, round(cost, 2)), 0.0, 1.0)
    begin_number("speed_n", measured.tau if measured else 4, 1, HIGHEST)
    left, right = st.columns([1, 2], gap="medium")
    with left:
        alpha = float(st.slider(_("Acceptance rate α"), 0.0, 1.0, step=0.01, key="speed_alpha", bind="query-params"))
        label = _("Candidates per block, {tau}").format(tau=n.tau)
        tau = int(st.slider(label, 1, HIGHEST, step=1, key="speed_n", bind="query-params"))
        label = _("Cost c of a draft step, in target passes")
        c = float(st.slider(label, 0.0, 1.0, step=0.01, key="speed_c", bind="query-params"))
        if measured is not None:
            st.button(
                _("Set to the run above"),
                icon=":material/straighten:",
                key="speed_take",
                on_click=_take,
                args=(round(measured.alpha, 2), measured.tau, min(1.0, round(cost, 2))),
            )
        st.markdown(literal(advice(alpha, tau, c)))
    with right:
        figure = speed_map(c, theme(), (alpha, tau), HIGHEST, n, _("here: × {gain}"))
        chart(figure, "speed_map", speed_map_text(c, None, HIGHEST, n))
    _values(alpha, tau, c)


def _begin(key: str, default: float, low: float, high: float) -> None:
    """The first value of a slider that a button sets too: the link's, or ``default``."""
    if key in st.session_state:
        return
    try:
        asked = float(st.query_params.get(key, ""))
    except ValueError:
        asked = default
    st.session_state[key] = round(asked, 2) if low <= asked <= high else default


def _take(alpha: float, tau: int, cost: float) -> None:
    st.session_state["speed_alpha"], st.session_state["speed_n"], st.session_state["speed_c"] = alpha, tau, cost


def advice(alpha: float, tau: int, cost: float) -> str:
    """What to do with these numbers; true for all of them."""
    n = notation()
    best = best_tau(alpha, cost, HIGHEST)
    words = {"tau": n.tau, "value": tau, "best": best, "alpha": f"{alpha:.2f}", "c": f"{cost:.2f}"}
    words |= {"gain": f"{speed_up(alpha, best, cost):.2f}", "here": f"{speed_up(alpha, tau, cost):.2f}"}
    if best == 0:
        return _(
            "Plain decoding is fastest here: α = {alpha} is not above c = {c}, and below the break-even line no {tau}"
            " helps."
        ).format(**words)
    if best == tau:
        return _("{tau} = {best} is the best choice here: {gain} times plain decoding.").format(**words)
    return _(
        "{tau} = {value} gives {here} times plain decoding; the best choice here is {tau} = {best}, which gives {gain}."
    ).format(**words)


def _values(alpha: float, tau: int, cost: float) -> None:
    n = notation()
    table = {
        _("what"): [
            _("Tokens per block"),
            _("Speed-up over plain decoding"),
            _("Arithmetic per token, draft's not counted"),
            _("Best {tau}, up to {n}").format(tau=n.tau, n=HIGHEST),
            _("Break-even"),
        ],
        _("formula"): [
            _("$(1 - α^{{{tau}+1}}) / (1 - α)$").format(tau=n.tex["tau"]),
            _("$(1 - α^{{{tau}+1}}) / ((1 - α)({tau} c + 1))$").format(tau=n.tex["tau"]),
            _("$(1 - α)({tau} + 1) / (1 - α^{{{tau}+1}})$").format(tau=n.tex["tau"]),
            _("the largest speed-up"),
            _("$α > c$"),
        ],
        _("value"): [
            f"{expected_tokens(alpha, tau):.4f}",
            f"{speed_up(alpha, tau, cost):.3f}",
            f"{extra_operations(alpha, tau, 0.0):.3f}",
            f"{best_tau(alpha, cost, HIGHEST)}",
            _("yes") if alpha > cost else _("no"),
        ],
        _("source"): [
            _("Leviathan et al. 2023, equation 1"),
            _("Leviathan et al. 2023, theorem 3.8"),
            _("Leviathan et al. 2023, theorem 3.11, with ĉ = 0"),
            _("found by trying them all"),
            _("Leviathan et al. 2023, corollary 3.9"),
        ],
    }
    st.table(table, hide_index=True, alt=_("The formulas, their values for the sliders above, and their sources"))


def reference_points() -> None:
    """Published values beside this page's own."""
    n = notation()
    table = {
        "α": [f"{alpha:g}" for alpha, *_rest in TABLE_1],
        n.tau: [str(tau) for _alpha, tau, *_rest in TABLE_1],
        _("operations, published"): [operations for *_rest, operations, _speed in TABLE_1],
        _("here"): [f"{extra_operations(alpha, tau, 0.0):.2f}" for alpha, tau, *_rest in TABLE_1],
        _("speed-up, published"): [speed for *_rest, speed in TABLE_1],
        _("here, c = 0"): [f"{speed_up(alpha, tau, 0.0):.2f}" for alpha, tau, *_rest in TABLE_1],
    }
    st.table(table, hide_index=True, alt=_("Published reference points and the values calculated here"))
    st.caption(
        _(
            "Published: Leviathan et al. 2023, table 1, for a draft that costs nothing (c = ĉ = 0). Here: calculated by"
            " the formulas above, with the same code that this page uses everywhere."
        )
    )


# --- three ratios ---------------------------------------------------------------------------------------------------


def ratios_section(chosen: Measured | None) -> None:
    """accepted/judged, accepted/drafted, tokens per block: of the run, where there is one, and of the formula."""
    n = notation()
    theory = f"{expected_accepted(EXAMPLE_ALPHA, EXAMPLE_TAU):.4f}"
    judged = expected_accepted(EXAMPLE_ALPHA, EXAMPLE_TAU) / EXAMPLE_ALPHA
    table = {
        _("what"): [
            _("accepted / judged: how often a judged candidate stays; this is α"),
            _("accepted / drafted: how much of the draft's work is used"),
            _("accepted per block, {n_a} on average").format(n_a=n.n_a),
            _("tokens per block: the accepted ones and one more"),
        ]
    }
    if chosen is not None:
        w = chosen.whole
        table[literal(chosen.title)] = [
            literal(f"{w.accepted} / {w.judged} = {w.accepted_per_judged:.3f}"),
            literal(f"{w.accepted} / {w.drafted} = {w.accepted_per_drafted:.3f}"),
            literal(f"{w.accepted} / {w.blocks} = {w.accepted / w.blocks:.3f}"),
            literal(f"{w.emitted} / {w.blocks} = {w.tokens_per_block:.3f}"),
        ]
    table[_("formula, α = {alpha}, {tau} = {n}").format(alpha=EXAMPLE_ALPHA, tau=n.tau, n=EXAMPLE_TAU)] = [
        literal(f"{theory} / {judged:.4f} = {EXAMPLE_ALPHA:.4f}"),
        literal(f"{theory} / {EXAMPLE_TAU} = {expected_accepted(EXAMPLE_ALPHA, EXAMPLE_TAU) / EXAMPLE_TAU:.4f}"),
        theory,
        f"{expected_tokens(EXAMPLE_ALPHA, EXAMPLE_TAU):.4f}",
    ]
    st.table(table, hide_index=True, alt=_("Three ratios of one run, and by formula for α = 0.8 and four candidates"))
    if chosen is None:
        text = _("Candidates behind a rejected one are not reached: they count as drafted and not as judged.")
        st.markdown(text)
        return
    text = _(
        "Of {drafted} drafted candidates {lost} were not reached: they stood behind a rejected one, so nobody judged"
        " them. They count as drafted and not as judged. That is the whole difference between the first two rows."
    )
    st.markdown(literal(text.format(drafted=chosen.whole.drafted, lost=chosen.whole.drafted - chosen.whole.judged)))
