"""A choice of several whose names in a link stay the same in every language and notation, as ``links.choice`` for one.

Does not know: what there is to choose.
"""

from collections.abc import Mapping

import streamlit as st

from specdec_core.ui.links import carry, check_link


def several(label: str, titles: Mapping[str, str], key: str) -> tuple[str, ...]:
    """Any number of ``titles``, none at first. titles: names without dots, and what stands on the pills (markdown).

    label: for screen readers; the question stands above.
    """
    widget = f"{key}_choice"
    check_link(**{key: lambda text: set(text.split(".")) <= set(titles)})
    if widget not in st.session_state:
        asked = st.query_params.get(key) or st.session_state.get(key) or ""
        st.session_state[widget] = [name for name in titles if name in asked.split(".")]
    chosen = st.pills(
        label,
        list(titles),
        selection_mode="multi",
        key=widget,
        format_func=lambda x: titles.get(x, x),
        label_visibility="collapsed",
    )
    names = tuple(name for name in titles if name in chosen)
    carry(key, ".".join(names))
    return names
