"""The one runner that all visitors share.

Does not know: the page. torch is loaded in the runner's thread, when the first text asks for it.
"""

import streamlit as st

from specdec_core.models.protocol import Pair
from specdec_core.runner import Runner


def _load(key: str) -> Pair:
    from specdec_core.models.pairs import load_pair

    name, device, dtype = key.split("|")
    return load_pair(
        name,
        device=None if device == "automatic" else device,
        dtype=None if dtype == "automatic" else dtype,
    )


@st.cache_resource(show_spinner=False)
def runner() -> Runner:
    """The shared queue and its thread."""
    return Runner(_load)
