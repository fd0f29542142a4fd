"""Speed: a race, what alpha measured against the formula, where the time goes, when blocks pay, and how to count."""

from specdec_core.ui.shell import begin_page

begin_page("speed")

import streamlit as st

from specdec_core.ui import lesson as ui
from specdec_core.ui import speed_numbers
from specdec_core.ui.links import check_link, choice, number, whole
from specdec_core.ui.literal import literal
from specdec_core.ui.part import part
from specdec_core.ui.speed_runs import runs
from specdec_core.ui.speed_show import race_section, race_words
from specdec_core.words import _

check_link(speed_alpha=number(0, 1), speed_c=number(0, 1), speed_n=whole(1, speed_numbers.HIGHEST))


ui.question(_("How much faster is decoding in blocks, and when is it not?"))
race = race_section()
if race is not None:
    st.info(literal(race_words(race)), icon=":material/lightbulb:")
    if race.machine:
        st.caption(literal(_("Recorded on: {machine}. Played at the pace it had there.").format(machine=race.machine)))

known = runs()
chosen = None
st.header(_("Measured, and by the formula"), anchor=False)
if known:
    name = choice(_("Run"), {key: x.title for key, x in known.items()}, "speed_run", menu=True)
    chosen = known[name]
    speed_numbers.formula_section(known, chosen)
    st.header(_("Where the time of a block goes"), anchor=False)
    speed_numbers.time_section(chosen)
else:
    st.info(_("No recorded runs are installed. Run a text on the page “Live models”, then come back."))

st.header(_("When it pays"), anchor=False)
part(lambda: speed_numbers.calculator(chosen), "speed_calculator")

st.header(_("Accepted of what?"), anchor=False)
speed_numbers.ratios_section(chosen)
with st.expander(_("Does this page count right? Published reference points"), icon=":material/fact_check:"):
    speed_numbers.reference_points()
ui.sources(ui.LEVIATHAN_SOURCE, ui.CHEN_SOURCE)
