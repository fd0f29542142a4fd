"""Speed: what alpha, tau and the cost of a draft step come to."""

from specdec_core.ui.shell import begin_page

begin_page("speed")

import streamlit as st

from specdec_core.figures.speed import speed_map, speed_map_text
from specdec_core.ui import lesson as ui
from specdec_core.ui.charts import chart
from specdec_core.ui.links import check_link, number
from specdec_core.ui.shell import notation, theme
from specdec_core.words import _

check_link(cost=number(0, 1))
ui.question(_("How much faster is decoding in blocks, and when is it not?"))
cost = st.slider(_("Cost of a draft step, in target passes"), 0.0, 1.0, 0.15, 0.01, key="cost", bind="query-params")
chart(speed_map(cost, theme(), None, 16, notation()), "speed_map", speed_map_text(cost, None, 16, notation()))
ui.sources(ui.LEVIATHAN_SOURCE)
