"""The token strip on the screen: registers the component and mounts it.

Does not know: what a block means (``specdec_core.strip`` does), where the cursor comes from.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st

from specdec_core.figures.palette import DARK, LIGHT

_FOLDER = Path(__file__).resolve().parents[2] / "assets" / "component"


def asset(name: str) -> str:
    """The text of a file of the browser components."""
    return (_FOLDER / name).read_text(encoding="utf-8")


def component(name: str, file: str) -> Any:
    """Register the component whose html, css and js are ``file``.* there; the script follows what all of them share."""
    script = asset("common.js") + "\n" + asset(f"{file}.js")
    return st.components.v2.component(name, html=asset(f"{file}.html"), css=asset(f"{file}.css"), js=script)


_STRIP = component("token_strip", "strip")


def token_strip(data: dict[str, Any], key: str, on_picked: Callable[[], None] | None = None) -> int | None:
    """Draw ``strip_data``. Returns the t of the card clicked in this run, None otherwise.

    In ``on_picked`` the t is ``st.session_state[key].picked``.
    """
    result = _STRIP(
        data={**data, "light": LIGHT, "dark": DARK},
        key=key,
        on_picked_change=on_picked or (lambda: None),
    )
    picked = result.picked
    return int(picked) if picked is not None else None
