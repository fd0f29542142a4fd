"""Live models: real draft, real target, every block step by step."""

from specdec_core.ui.shell import begin_page

begin_page("live_models")

import streamlit as st  # noqa: E402

from specdec_core.ui.live import console, recorded_view, results, upload_view  # noqa: E402
from specdec_core.words import _  # noqa: E402

SOURCES = {"live": _("Live"), "recorded": _("Recorded"), "upload": _("From a file")}

st.markdown(
    _("Two real models continue your prompt. The small one proposes, the large one disposes, and a number decides.")
)
source = st.segmented_control(
    _("Where the blocks come from"),
    list(SOURCES),
    default="live",
    required=True,
    key="source",
    bind="query-params",
    format_func=lambda x: SOURCES[x],
    label_visibility="collapsed",
)
if source == "recorded":
    recorded_view()
elif source == "upload":
    upload_view()
else:
    results(console())
