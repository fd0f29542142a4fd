"""Draws the page again when the browser's theme changes: figures are drawn on the server, for one theme.

Does not know: what is drawn.
"""

import streamlit as st

from specdec_core.figures.palette import Theme
from specdec_core.ui.strip import asset

KEY = "theme_watch"
_WATCH = st.components.v2.component(KEY, js=asset("theme.js"))


def follow(drawn_for: Theme) -> None:
    """Ask for another run as soon as the browser shows another theme than ``drawn_for``. Takes no room on the page."""
    with st.container(key=f"{KEY}_{drawn_for}"):
        _WATCH(data={"drawn_for": drawn_for}, key=KEY, on_changed_change=lambda: None)
