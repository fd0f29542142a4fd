"""Figures on the screen: one way to show them, with a text alternative and a picture to download.

Does not know: what a figure shows.
"""

import plotly.graph_objects as go
import streamlit as st

# The only tool that a page needs above a figure is the one that saves it; it works in the browser alone.
_CONFIG = {
    "displaylogo": False,
    "modeBarButtons": [["toImage"]],
    "toImageButtonOptions": {"format": "svg", "filename": "figure"},
    "scrollZoom": False,
    "doubleClick": False,
    "responsive": True,
}


def chart(figure: go.Figure, key: str, alt: str) -> None:
    """Show ``figure``. ``alt`` says in one or two plain sentences what a person who cannot see it needs."""
    config = _CONFIG | {"toImageButtonOptions": {"format": "svg", "filename": key}}
    st.plotly_chart(figure, key=key, theme=None, config=config, alt=alt)
