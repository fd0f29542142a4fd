"""The rules that the bias lab compares: which, with what correction, with what numbers. All of it in the address.

Numbers are read from the session, so that parts of the page which are drawn again on their own see the latest ones.

Does not know: what is done with the rules.
"""

import re
from collections.abc import Mapping

import streamlit as st

from specdec_core.acceptance import CORRECTIONS, RULES, Rule
from specdec_core.bias import rule_label
from specdec_core.ui.links import carry, check_link, number
from specdec_core.ui.literal import literal
from specdec_core.words import Notation, _

RULE_KEY, CORRECTION_KEY = "lab_rules", "lab_fix"
FIRST = ("random", "fixed")
#: More bars in one row cannot be told apart.
MOST = 6
_NUMBER_KEYS = {"fixed": "lab_c", "lenient": "lab_l", "ensemble": "lab_w"}


def pick_rules() -> None:
    """Which rules, and what they draw after a rejection."""
    check_link(**{key: number(RULES[name].parameter.low, 1) for name, key in _NUMBER_KEYS.items()})  # type: ignore[union-attr]
    _pills(_("Rules to compare"), {name: _(x.title) for name, x in RULES.items()}, RULE_KEY, FIRST)
    _pills(_("After a rejection"), {name: _(x.title) for name, x in CORRECTIONS.items()}, CORRECTION_KEY, ("residual",))


def _pills(label: str, titles: Mapping[str, str], key: str, first: tuple[str, ...]) -> None:
    """Several of ``titles``, ``first`` to begin with. In the address stand their names, never what is on the screen."""
    widget = f"{key}_choice"
    check_link(**{key: lambda text: bool(_known(text, titles))})
    if widget not in st.session_state:
        asked = st.query_params.get(key) or st.session_state.get(key) or ""
        st.session_state[widget] = _known(asked, titles) or list(first)
    chosen = st.pills(
        label, list(titles), selection_mode="multi", key=widget, format_func=lambda x: titles.get(x, x), wrap=True
    )
    names = tuple(name for name in titles if name in chosen)
    carry(key, "" if names == first else ".".join(names))


def _known(text: str, titles: Mapping[str, str]) -> list[str]:
    asked = text.split(".")
    return [name for name in titles if name in asked] if set(asked) <= set(titles) else []


def _chosen(key: str, known: Mapping[str, object]) -> list[str]:
    picked = st.session_state.get(f"{key}_choice") or []
    return [name for name in known if name in picked]


def chosen_rules() -> tuple[Rule, ...]:
    """The rules in use, in the registry's order, at most MOST; the random one where none is chosen."""
    corrections = _chosen(CORRECTION_KEY, CORRECTIONS) or ["residual"]
    names = _chosen(RULE_KEY, RULES) or ["random"]
    found = [
        Rule(name, _parameter(name), correction)
        for name in names
        # What is never rejected is never corrected.
        for correction in (["residual"] if name == "always" else corrections)
    ]
    return tuple(found[:MOST])


def asked_for() -> int:
    """How many rules were asked for: more than MOST are not shown."""
    always = "always" in _chosen(RULE_KEY, RULES)
    plain = len(_chosen(RULE_KEY, RULES)) - always
    return plain * max(1, len(_chosen(CORRECTION_KEY, CORRECTIONS))) + always


def _parameter(name: str) -> float | None:
    known = RULES[name].parameter
    if known is None:
        return None
    value = float(st.session_state.get(_NUMBER_KEYS[name], known.default))
    return round(min(known.high, max(known.low, value)), 4)


def sliders(redraw: tuple[str, ...]) -> None:
    """The numbers of the chosen rules. redraw: keys of the parts of the page that depend on them."""

    def changed() -> None:
        st.rerun(list(redraw))

    labels = {
        "fixed": _("Fixed threshold c"),
        "lenient": _("Lenience l"),
        "ensemble": _("Weight w of the target"),
    }
    for name in _chosen(RULE_KEY, RULES):
        known = RULES[name].parameter
        if known is not None:
            st.slider(
                labels.get(name, known.name),
                known.low,
                known.high,
                known.default,
                0.01,
                key=_NUMBER_KEYS[name],
                bind="query-params",
                on_change=changed,
            )


def explain(rules: tuple[Rule, ...], notation: Notation) -> None:
    """A line per rule: what it does, whether it is exact, where real systems use it."""
    for rule in rules:
        badge = f":green-badge[:material/check: {_('exact')}]" if rule.exact else f":orange-badge[{_('biased')}]"
        if rule.exact and not rule.spec.exact:
            badge = f":green-badge[:material/check: {_('exact with this number')}]"
        says = [in_letters(_(rule.spec.says), notation)]
        if rule.correction != "residual":
            says.append(in_letters(_(CORRECTIONS[rule.correction].says), notation))
        st.markdown(f"**{literal(rule_label(rule))}** {badge} {literal(' '.join(says))}")
        if rule.spec.sources:
            st.caption(literal("; ".join(rule.spec.sources) + "."))


def in_letters(text: str, notation: Notation) -> str:
    """A sentence of the registry, which is written in the code's own letters, in the letters of the screen."""
    letters = {"p": notation.p, "q": notation.q, "r": notation.r}
    return re.sub(r"\b[pqr]\b", lambda found: letters[found.group()], text)
