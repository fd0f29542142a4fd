"""Presses of buttons that outlive a second run of the page.

Does not know: what a button does.
"""

import streamlit as st


def press(name: str) -> None:
    """A button's callback: remember the press until the page's body asks for it.

    A button's own value is lost when ``begin_page`` has to run the page a second time.
    """
    st.session_state[f"pressed_{name}"] = True


def pressed(name: str) -> bool:
    """Whether that button was pressed since the page asked last."""
    return bool(st.session_state.pop(f"pressed_{name}", False))
