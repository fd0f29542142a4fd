"""The exact part of the bias lab: every rule's law beside p and q, a table of its price, the sweep over its number.

Does not know: where p and q come from, simulation, texts.
"""

import streamlit as st

from specdec_core.acceptance import Law, Rule
from specdec_core.bias import Change, count_changes, rule_label
from specdec_core.distributions import entropy
from specdec_core.figures.bias import law_bars, law_bars_text
from specdec_core.figures.rules import ZERO
from specdec_core.figures.trade import sweep_lines, sweep_text
from specdec_core.numbers import probability
from specdec_core.ui import bias_place
from specdec_core.ui.bias_place import Place
from specdec_core.ui.charts import chart
from specdec_core.ui.literal import literal
from specdec_core.ui.shell import notation, theme
from specdec_core.words import _

#: A divergence below this is the rounding of a sum over the vocabulary.
_KL_ZERO = 1e-12


def show_law(place: Place, rules: tuple[Rule, ...]) -> None:
    """The picture."""
    n = notation()
    found = bias_place.comparison(place, rules)
    labels = place.labels(found.tokens.tolist())
    chart(law_bars(found, labels, theme(), n), "lab_law", law_bars_text(found, labels, n))


def show_prices(place: Place, rules: tuple[Rule, ...]) -> None:
    """The numbers: a row per rule."""
    n = notation()
    laws = [bias_place.law(place, rule) for rule in rules]
    counts = [count_changes(place.p, law) for law in laws]
    table = {
        _("rule"): [literal(rule_label(rule)) for rule in rules],
        _("accepted"): [probability(min(1.0, law.acceptance)) for law in laws],
        _("total variation to {p}").format(p=n.p): [variation(law) for law in laws],
        _("KL(output ‖ {p})").format(p=n.p): [divergence(law.kl_output_target) for law in laws],
        _("KL({p} ‖ output)").format(p=n.p): [divergence(law.kl_target_output) for law in laws],
        _("▲ gained"): [f"{c[Change.GAINED]:,}" for c in counts],
        _("▼ lost"): [f"{c[Change.LOST]:,}" for c in counts],
        _("✕ vanished"): [f"{c[Change.VANISHED]:,}" for c in counts],
        _("! impossible"): [f"{c[Change.APPEARED]:,}" for c in counts],
    }
    st.table(table, hide_index=True, alt=_("Per rule: acceptance rate, distances to the target, tokens changed"))
    st.caption(
        _(
            "Total variation: the share of tokens that would have to be exchanged. KL in nats; ∞ where one side"
            " makes possible what the other rules out. The last columns count tokens of the vocabulary. The target's"
            " entropy here is {h} nats."
        ).format(h=f"{entropy(place.p):.2f}")
    )


def variation(law: Law) -> str:
    """The total variation to p as people read it."""
    return probability(0.0 if law.tv < ZERO else law.tv)


def divergence(value: float) -> str:
    """A KL divergence as people read it; infinite as such."""
    if value == float("inf"):
        return "∞"
    return "0" if value < _KL_ZERO else f"{value:.3f}" if value >= 0.0005 else f"{value:.0e}".replace("e-0", "e-")


def swept_rule(rules: tuple[Rule, ...]) -> Rule:
    """The rule whose number is swept: the fixed threshold where it is compared, else the first that has a number."""
    with_number = [rule for rule in rules if rule.spec.parameter is not None]
    fixed = [rule for rule in with_number if rule.name == "fixed"]
    return (fixed or with_number or [Rule("fixed")])[0]


def show_sweep(place: Place, rules: tuple[Rule, ...]) -> None:
    """What every value of the number would cost, with the one in use marked."""
    rule = swept_rule(rules)
    line = bias_place.swept(place, rule.name, rule.correction)
    at = rule.parameter if rule in rules else None
    figure = sweep_lines(line, place.alpha, theme(), at, notation())
    chart(figure, "lab_sweep", sweep_text(line, place.alpha, at))
    st.markdown(literal(sweep_words(place, rule)))


def sweep_words(place: Place, rule: Rule) -> str:
    """Whether any value of the number does no harm here."""
    line = bias_place.swept(place, rule.name, rule.correction)
    best = int(line.tv.argmin())
    assert rule.spec.parameter is not None
    words = {
        "symbol": rule.spec.parameter.symbol,
        "value": f"{line.values[best]:.2f}",
        "tv": probability(0.0 if line.tv[best] < ZERO else float(line.tv[best])),
    }
    if line.tv[best] < ZERO:
        return _("At {symbol} = {value} this rule does no harm at this place. At the next place it may.").format(
            **words
        )
    return _(
        "No {symbol} is harmless here: the best one, {value}, is still {tv} away. And the best one differs from place"
        " to place."
    ).format(**words)
