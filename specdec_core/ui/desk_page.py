"""The teacher's desk below its title: the door, then running a class or composing an assignment.

The open desk lives in this browser session only: a reload locks it.

Does not know: what stands on the desk.
"""

import streamlit as st

from specdec_core.classroom import Desk
from specdec_core.ui.classroom import refusals, room, source
from specdec_core.ui.desk_compose import compose
from specdec_core.ui.desk_run import run_class
from specdec_core.ui.exercise_presses import press, pressed
from specdec_core.ui.links import choice
from specdec_core.words import _

_DESK = "teachers_desk_open"


def teachers_desk() -> None:
    """The desk, or its door."""
    with refusals():
        desk: Desk | None = st.session_state.get(_DESK)
        if desk is None:
            _door()
            return
        if st.session_state.pop("desk_to_run", False):  # an assignment was just made
            st.session_state["desk_view_choice"] = "run"
        titles = {"run": _("Run a class"), "compose": _("New assignment")}
        with st.container(horizontal=True, vertical_alignment="center"):
            view = choice(_("What to do"), titles, "desk_view", label_visibility="collapsed")
            st.button(_("Lock the desk"), icon=":material/lock:", type="tertiary", key="lock_desk", on_click=_lock)
        if view == "compose":
            compose(desk)
        else:
            run_class(desk)


def _lock() -> None:
    st.session_state.pop(_DESK, None)


def _door() -> None:
    here = room()
    state = here.desk_state()
    if state == "off":
        st.info(
            _(
                "The desk is off on this server. To switch it on, whoever runs the server makes a key with"
                " `python -m specdec_core.classroom key --generate`, sets the line it prints in the server's"
                " environment, and starts the server again."
            ),
            icon=":material/lock:",
        )
        st.markdown(_("Practice on the page “Exercises” needs no desk."))
        return
    if state == "misconfigured":
        st.error(
            _(
                "The desk is off: `SPECDEC_TEACHER_KEY_HASH` is set, but to something that is no key's hash."
                " `python -m specdec_core.classroom key` makes one."
            ),
            icon=":material/lock:",
        )
        return
    st.markdown(_("Compose an assignment, show its join code, and watch where the room goes wrong."))
    with st.form("desk_door", width=420):
        key = st.text_input(_("Teacher key"), type="password", max_chars=300, key="teacher_key")
        st.form_submit_button(
            _("Open the desk"),
            type="primary",
            icon=":material/key:",
            key="open_desk",
            on_click=press,
            args=("open_desk",),
        )
    st.caption(_("The desk stays open in this browser tab until you lock it or load the page anew."))
    if pressed("open_desk"):
        st.session_state[_DESK] = here.open_desk(key or "", source())
        st.rerun()
