"""Live models: real draft, real target, every block step by step."""

from specdec_core.ui.shell import begin_page

begin_page("live_models")

import streamlit as st

from specdec_core.ui.links import choice
from specdec_core.ui.live import console, recorded_view, results, upload_view
from specdec_core.words import _

SOURCES = {"live": _("Live"), "recorded": _("Recorded"), "upload": _("From a file")}

st.markdown(
    _("Two real models continue your prompt. The small one proposes, the large one disposes, and a number decides.")
)
source = choice(_("Where the blocks come from"), SOURCES, "live_from", label_visibility="collapsed")
if source == "recorded":
    recorded_view()
elif source == "upload":
    upload_view()
else:
    results(console())
