"""The bias lab: random thresholds against a fixed one, exactly."""

from specdec_core.ui.shell import begin_page

begin_page("bias_lab")

import streamlit as st

from specdec_core.acceptance import Rule, typed_law
from specdec_core.bias import compare
from specdec_core.figures.bias import law_bars, law_bars_text
from specdec_core.lessons import why_random as lesson
from specdec_core.ui import lesson as ui
from specdec_core.ui.charts import chart
from specdec_core.ui.links import check_link, number
from specdec_core.ui.pair_editor import pair_editor
from specdec_core.ui.shell import notation, theme
from specdec_core.words import _

N = notation()
check_link(lab_c=number(0, 1))
ui.question(_("What does it cost to replace the random threshold by a fixed one?"))
c = st.slider(_("Fixed threshold c"), 0.0, 1.0, 0.5, 0.01, key="lab_c", bind="query-params")
reading = pair_editor("lab", lesson.presets(), lesson.preset_title, N)
if reading.pair is not None:
    p, q = reading.pair.p_array, reading.pair.q_array
    rules = [Rule(), Rule("fixed", round(c, 2))]
    found = compare(p, q, rules, 10, [typed_law(p, q, rule) for rule in rules])
    labels = [reading.pair.tokens[i] for i in found.tokens.tolist()]
    chart(law_bars(found, labels, theme(), N), "lab_law", law_bars_text(found, labels, N))
ui.sources(ui.LEVIATHAN_SOURCE)
