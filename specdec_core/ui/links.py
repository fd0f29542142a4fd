"""Links that restore a view: widgets are bound to the address; what a link asks for in vain is said.

Streamlit drops a bad value of a bound widget without a word. ``check_link`` runs before the widgets and tells.

Does not know: what the values mean.
"""

import math
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, Literal

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


def whole_field(label: str, low: int, high: int, key: str, **more: Any) -> int:
    """A field for a whole number from ``low`` to ``high``, bound to the address; ``low`` where a person emptied it.

    A link that asks for an infinite number leaves it unbound: Streamlit would make an int of that, and there is none.
    """
    bind: Literal["query-params"] | None = None if _endless(st.query_params.get(key, "")) else "query-params"
    value = st.number_input(label, low, high, key=key, bind=bind, **more)
    return low if value is None else value


def _endless(text: str) -> bool:
    try:
        return math.isinf(float(text))
    except ValueError:
        return False


def carry(key: str, text: str) -> None:
    """Keep ``text`` in the address under ``key``, without a field that is seen. Read it before, on a visit's first run.

    Writing to ``st.query_params`` would do this too, but loses the values of bound widgets on the way.
    """
    st.session_state[key] = text
    with st.container(key=f"carried_{key}"):  # which the frame's style hides
        st.text_input(key, key=key, bind="query-params", label_visibility="collapsed")


def choice(label: str, titles: Mapping[str, str], key: str, default: str = "", menu: bool = False, **more: Any) -> str:
    """One of ``titles``: its name stands in the address, its title on the screen. The first one unless ``default``.

    A bound widget with a ``format_func`` puts the title into the address, so that a link would break with every
    translation. Here the widget is not bound; the name is carried beside it. menu: a selectbox, not buttons in a row.
    Callbacks that choose set the session value ``f"{key}_choice"``.
    """
    widget, kept = f"{key}_choice", f"{key}_kept"
    standard = default if default in titles else next(iter(titles))
    check_link(**{key: one_of(titles)})
    if st.session_state.get(widget) not in titles:
        asked = (st.query_params.get(key, ""), st.session_state.get(kept), standard)
        st.session_state[widget] = next(x for x in asked if x in titles)
    elif key in st.session_state and st.session_state[key] != st.session_state.get(f"{key}_sent", ""):
        # The browser's Back and Forward change the address alone.
        st.session_state[widget] = st.session_state[key] if st.session_state[key] in titles else standard
    show = st.selectbox if menu else partial(st.segmented_control, required=True)
    chosen = str(show(label, list(titles), key=widget, format_func=lambda x: titles.get(x, x), **more))
    st.session_state[kept] = chosen
    st.session_state[f"{key}_sent"] = "" if chosen == standard else chosen
    carry(key, st.session_state[f"{key}_sent"])
    return chosen
