"""The bias lab: random thresholds against a fixed one, exactly, by simulation and on whole texts."""

from specdec_core.ui.shell import begin_page

begin_page("bias_lab")

from functools import partial

import streamlit as st

from specdec_core.ui import bias_law, bias_trials, bias_worth
from specdec_core.ui import lesson as ui
from specdec_core.ui.bias_live import live_place, texts_section
from specdec_core.ui.bias_pick import pick_place
from specdec_core.ui.bias_place import Place
from specdec_core.ui.bias_rules import MOST, asked_for, chosen_rules, explain, pick_rules, sliders
from specdec_core.ui.links import check_link, whole
from specdec_core.ui.literal import literal
from specdec_core.ui.part import part
from specdec_core.ui.shell import notation
from specdec_core.words import _

LAW, WORTH = "lab_part_law", "lab_part_worth"
N = notation()
check_link(lab_seed=whole(0, bias_trials.LAST_SEED), lab_tau=whole(1, 16))


def law_part(place: Place | None) -> None:
    """The sliders, and what depends on them alone: drawn again by themselves when one is moved."""
    with numbers:
        sliders((LAW, bias_trials.FRAGMENT, WORTH) if place else (LAW,))
    rules = chosen_rules()
    with picture:
        if place is None:
            st.caption(_("The picture comes as soon as there is a place with two distributions."))
            return
        bias_law.show_law(place, rules)
    with prices:
        bias_law.show_prices(place, rules)
        with ui.explanation(_("The rules")):
            explain(rules, N)
        st.header(_("Would another threshold do?"), anchor=False)
        bias_law.show_sweep(place, rules)


def worth_part(place: Place) -> None:
    """What the bias buys, and the closing sentence."""
    tau = st.slider(_("Candidates per block, {tau}").format(tau=N.tau), 1, 16, 4, key="lab_tau", bind="query-params")
    rules = chosen_rules()
    bias_worth.show_trade(place, rules, tau)
    st.caption(
        _("As if every position were like this one: tokens per block = (1 − α^({tau}+1)) / (1 − α).").format(tau=N.tau)
    )
    st.info(literal(" ".join(bias_worth.conclusion(place, rules, tau))), icon=":material/lightbulb:")
    bias_worth.downloads(place, rules, tau)


ui.question(_("What would it cost to replace the random threshold {r} by a fixed one?").format(r=N.r))
controls, picture = st.columns([2, 3], gap="medium")
with controls:
    here = pick_place(live_place)
    pick_rules()
    if asked_for() > MOST:
        st.caption(_("The first {n} of these are shown: more bars could not be told apart.").format(n=MOST))
    elif asked_for() < 2:
        st.caption(_("Choose a second rule to compare with."))
# The sliders stand above the picture that they change, so that both are in view on a small screen.
numbers = picture.container()
prices = st.container()
part(partial(law_part, here), LAW)
if here is not None:
    st.header(_("Draw it and see"), anchor=False)
    bias_trials.trials(here)
st.header(_("On whole texts"), anchor=False)
texts_section()
if here is not None:
    st.header(_("What it is worth"), anchor=False)
    part(partial(worth_part, here), WORTH)
ui.sources(ui.LEVIATHAN_SOURCE, ui.CHEN_SOURCE)
ui.next_lesson("speed")
