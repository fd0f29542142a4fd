"""Links that restore a view: widgets are bound to the address; what a link asks for in vain is said.

Streamlit drops a bad value of a bound widget without a word. ``check_link`` runs before the widgets and tells.

Does not know: what the values mean.
"""

from collections.abc import Callable, Collection

import streamlit as st

from specdec_core.ui.literal import literal
from specdec_core.words import _


def check_link(**checks: Callable[[str], bool]) -> None:
    """Warn about query parameters that fail their check. Only values that came with the link are looked at.

    Names are widget keys; a parameter whose widget has a value already was set by the page itself.
    """
    bad = [
        f"{name} = {value[:40]}"
        for name, ok in checks.items()
        if name in st.query_params and name not in st.session_state and not ok(value := st.query_params[name])
    ]
    if bad:
        text = _("This link has values that cannot be used; the defaults stand in for them: {values}.")
        st.warning(text.format(values=literal(", ".join(bad))), icon=":material/link_off:")


def number(low: float, high: float) -> Callable[[str], bool]:
    """Whether a text is a plain number from ``low`` to ``high``."""

    def ok(text: str) -> bool:
        try:
            return low <= float(text) <= high
        except ValueError:
            return False

    return ok


def whole(low: int, high: int) -> Callable[[str], bool]:
    """Whether a text is a whole number from ``low`` to ``high``."""
    return lambda text: text.isdecimal() and len(text) < 12 and low <= int(text) <= high


def one_of(known: Collection[str]) -> Callable[[str], bool]:
    """Whether a text is one of ``known``."""
    return lambda text: text in known
