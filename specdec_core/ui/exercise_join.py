"""Joining an assignment: the code, the name, what is stored; and the seat that the address keeps.

The seat's token is all that says who somebody is. It stands in the address, so that a reload finds the seat again.

Does not know: how questions are answered (exercise_seat).
"""

import streamlit as st

from specdec_core.classroom import Card, Classroom, ClassroomError
from specdec_core.classroom.checks import LONGEST_NAME
from specdec_core.ui.classroom import refusals, room, show_refusal, source, told, when
from specdec_core.ui.exercise_presses import press, pressed
from specdec_core.ui.exercise_seat import seat_view
from specdec_core.ui.links import carry
from specdec_core.ui.literal import literal
from specdec_core.words import _, ngettext

_SEAT, _CODE = "seat", "code"
_MINE = "my_seat"
_ANYWHERE = "typed_code"


def arrived() -> tuple[str, str]:
    """The seat's token and the join code: from the address on a visit's first run, from the session afterwards."""
    if _MINE not in st.session_state:
        st.session_state[_MINE] = st.query_params.get(_SEAT, "")[:200]
    if _ANYWHERE not in st.session_state:
        st.session_state[_ANYWHERE] = st.query_params.get(_CODE, "")[:100]
    # Both are carried always, and before anything can be refused: when a parameter's field goes, the server writes the
    # address anew, and would lose what the browser has just put there.
    carry(_SEAT, st.session_state[_MINE])
    carry(_CODE, st.session_state[_ANYWHERE])
    return st.session_state[_MINE], st.session_state[_ANYWHERE]


def classroom(seat: str, code: str) -> None:
    """The seat, or the way to one."""
    with refusals():
        here = room()
        if not (seat and _sit(here, seat)):
            _door(here, code)


def _sit(here: Classroom, seat: str) -> bool:
    """Shows what the seat sees. False when there is no such seat: then one can join anew."""
    try:
        view = here.student_view(seat)
    except ClassroomError as error:
        if error.kind != "unknown_seat":
            raise
        st.warning(literal(told(error)), icon=":material/link_off:")
        st.session_state[_MINE] = ""
        return False
    seat_view(here, seat, view)
    with st.expander(_("Your link, and how to leave"), icon=":material/key:"):
        st.markdown(
            _(
                "The address of this page is your seat: after a reload, or later from a bookmark, you are here again."
                " Whoever has it can answer as you, so share it with nobody. Invite others with the join code."
            )
        )
        st.button(_("Leave this seat"), icon=":material/logout:", key="leave_seat", on_click=_leave)
        st.caption(_("Leaving deletes nothing. Without the address of your seat there is no way back to it."))
    return True


def _leave() -> None:
    st.session_state[_MINE] = st.session_state[_ANYWHERE] = ""


# --- The door ---------------------------------------------------------------------------------------------------------


def _door(here: Classroom, code: str) -> None:
    if code:
        try:
            card = here.find(code, source())
        except ClassroomError as error:
            show_refusal(error)
            _ask_code(code)
            return
        _card(here, code, card)
        return
    _ask_code("")


def _ask_code(code: str) -> None:
    with st.form("join_code", width=420):
        typed = st.text_input(
            _("Join code"),
            value=code,
            max_chars=100,
            placeholder="XXXX-XXXX-XXXX",
            autocomplete="off",
            key="code_field",
        )
        st.form_submit_button(_("Go on"), type="primary", key="code_go", on_click=press, args=("code_go",))
        if pressed("code_go"):
            st.session_state[_ANYWHERE] = (typed or "").strip()
            st.rerun()
    st.caption(_("Your teacher shows it. Upper or lower case and hyphens do not matter."))


def _card(here: Classroom, code: str, card: Card) -> None:
    st.header(literal(card.title), anchor=False)
    st.caption(ngettext("{n} question", "{n} questions", card.question_count).format(n=card.question_count))
    if card.state in ("closed", "revealed"):
        st.info(_("This assignment is closed: nobody can join it any more."), icon=":material/lock:")
        st.button(_("Another code"), key="other_code", on_click=_leave)
        return
    if card.state == "waiting" and card.opens_at:
        text = _("It opens at {time}. You can take your seat already.")
        st.info(text.format(time=literal(when(card.opens_at))), icon=":material/schedule:")
    if card.closes_at:
        st.caption(_("It closes at {time}.").format(time=literal(when(card.closes_at))))
    with st.form("join_name", width=520):
        name = st.text_input(
            _("Your name (may be empty, or a pseudonym)"), max_chars=LONGEST_NAME, autocomplete="off", key="name_field"
        )
        st.form_submit_button(
            _("Take a seat"),
            type="primary",
            icon=":material/event_seat:",
            key="take_seat",
            on_click=press,
            args=("take_seat",),
        )
    _statement(here)
    if pressed("take_seat"):
        with refusals():
            seat = here.join(code, name or "", source())
            st.session_state[_MINE] = seat.token
            st.session_state[_ANYWHERE] = ""
            st.rerun()


def _statement(here: Classroom) -> None:
    """What is stored and for how long: said before anybody joins."""
    lines = (_(s.template).format(**s.values) for s in here.statement())
    with st.container(border=True, width=760, key="what_is_stored"):
        st.markdown(f"**{_('What is stored')}**")
        st.markdown("\n".join(f"- {literal(line)}" for line in lines))
