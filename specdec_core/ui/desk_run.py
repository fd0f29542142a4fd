"""Running a class: which assignment, the way in, the live view, and what the teacher can do with it.

Does not know: how assignments are composed.
"""

from datetime import UTC, datetime

import streamlit as st

from specdec_core.classroom import Assignment, ClassroomError, Deleted, Desk
from specdec_core.ui.classroom import exercises_link, state_word, when
from specdec_core.ui.desk_compose import moment_field, with_new_numbers
from specdec_core.ui.desk_live import live
from specdec_core.ui.desk_results import results
from specdec_core.ui.literal import literal
from specdec_core.ui.shell import present
from specdec_core.words import _, ngettext

_CHOSEN = "desk_assignment"


def run_class(desk: Desk) -> None:
    """Everything about one assignment, the newest at first."""
    _message()
    listed = desk.assignments()
    if not listed:
        st.info(_("No assignment yet. Compose one under “New assignment”."), icon=":material/playlist_add:")
        return
    assignment = _choose(listed)
    _way_in(assignment)
    _times(assignment)
    _actions(desk, assignment)
    live(desk, assignment)
    if not present():
        results(desk, assignment)
        _forget(desk, assignment)


def _message() -> None:
    kind, text = st.session_state.pop("desk_said", ("", ""))
    if text:
        show = st.success if kind == "done" else st.error if kind == "refused" else st.warning
        show(literal(text), icon=":material/info:")


def _choose(listed: tuple[Assignment, ...]) -> Assignment:
    known = {a.id: a for a in listed}
    if st.session_state.get(_CHOSEN) not in known:
        st.session_state[_CHOSEN] = listed[0].id

    def title(id_: str) -> str:
        a = known[id_]
        return _("{title} ({state}, made {time})").format(
            title=a.title, state=state_word(a.state), time=when(a.created_at)
        )

    # A menu's entries are plain text, so nothing is escaped.
    chosen = st.selectbox(
        _("Assignment, newest first"), list(known), format_func=title, key=_CHOSEN, persist_state="session"
    )
    return known[chosen]


# --- The way in -------------------------------------------------------------------------------------------------------


def _way_in(assignment: Assignment) -> None:
    """The join code for the back row, the link to copy."""
    if assignment.state in ("closed", "revealed"):
        return
    link = exercises_link(code=assignment.code)
    with st.container(border=True, key="way_in"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(
                _("Join code. Students type it on the page “Exercises”, under “Join a class”, or open the link."),
                width="stretch",
            )
            large = st.toggle(_("Large"), value=True, key="desk_code_large", persist_state="session")
        # The code has letters, digits and hyphens only. It fills the width that there is, and never wraps.
        size = "clamp(1.2rem, 10cqw, 7rem)" if large else "1.6rem"
        st.html(
            '<div style="container-type: inline-size;"><div style="font-family: monospace; font-weight: 700;'
            f' white-space: nowrap; line-height: 1.2; font-size: {size};">{assignment.code}</div></div>'
        )
        st.code(link, language=None, wrap_lines=True)


def _times(assignment: Assignment) -> None:
    """State and times in one line."""
    parts = [_("State: {state}.").format(state=state_word(assignment.state))]
    if assignment.revealed_at:
        parts = [_("Solutions shown since {time}.").format(time=when(assignment.revealed_at))]
    if assignment.state == "waiting" and assignment.opens_at:
        parts.append(_("Opens at {time}.").format(time=when(assignment.opens_at)))
    if assignment.closes_at and not assignment.revealed_at:
        sentence = _("Closes at {time}.") if assignment.state in ("open", "waiting") else _("Closed since {time}.")
        parts.append(sentence.format(time=when(assignment.closes_at)))
    st.markdown(literal(" ".join(parts)))


# --- What can be done -------------------------------------------------------------------------------------------------


def _do(desk: Desk, name: str, assignment_id: str, said: str, closes_at: datetime | None = None) -> None:
    """A callback: one change at the desk, and a word about it on the next run."""
    try:
        if name == "reveal":
            desk.reveal(assignment_id)
        elif name == "close":
            desk.close(assignment_id)
        elif name == "reopen":
            desk.reopen(assignment_id, closes_at)
        elif name == "open":
            desk.reschedule(assignment_id, None, desk.assignment(assignment_id).closes_at)
        elif name == "copy":
            st.session_state[_CHOSEN] = _copy(desk, assignment_id).id
        st.session_state["desk_said"] = ("done", said)
    except ClassroomError as error:
        st.session_state["desk_said"] = ("refused", str(error))


def _copy(desk: Desk, assignment_id: str) -> Assignment:
    """The same for another class. With other numbers: the first class knows the solutions of these."""
    old = desk.assignment(assignment_id)
    questions = [with_new_numbers(entry) for entry in desk.questions(assignment_id)]
    return desk.create_assignment(old.title, questions, old.options)


def _actions(desk: Desk, assignment: Assignment) -> None:
    state, id_ = assignment.state, assignment.id
    with st.container(horizontal=True, vertical_alignment="center"):
        if state == "waiting":
            said = _("Open: answers are taken from now on.")
            st.button(_("Open now"), type="primary", key="desk_open", on_click=_do, args=(desk, "open", id_, said))
        if state in ("open", "waiting"):
            said = _("Closed: no more answers are taken. The solutions stay hidden until you show them.")
            st.button(
                _("Close"), icon=":material/lock:", key="desk_close", on_click=_do, args=(desk, "close", id_, said)
            )
        if state == "closed":
            _reopen(desk, id_)
        if state != "revealed":
            _reveal(desk, id_)
        said = _("A copy for another class: a new code, new numbers, nobody in it yet.")
        st.button(
            _("Copy for another class"),
            icon=":material/content_copy:",
            key="desk_copy",
            on_click=_do,
            args=(desk, "copy", id_, said),
        )


def _reopen(desk: Desk, id_: str) -> None:
    with st.popover(_("Open again"), icon=":material/lock_open:", key="desk_reopen_box"):
        closes = moment_field(_("Closes (empty: when you close it)"), "desk_reopen_closes")
        past = closes is not None and closes <= datetime.now(UTC)
        if past:
            st.warning(_("This time is over already."), icon=":material/schedule:")
        said = _("Open again: answers are taken.")
        st.button(
            _("Open again"),
            type="primary",
            key="desk_reopen",
            disabled=past,
            on_click=_do,
            args=(desk, "reopen", id_, said, closes),
        )


def _reveal(desk: Desk, id_: str) -> None:
    with st.popover(_("Show the solutions"), icon=":material/visibility:", key="desk_reveal_box"):
        st.markdown(_("Everyone who joined sees the solutions. No answer is taken then, and there is no way back."))
        said = _("The solutions are shown.")
        st.button(_("Show them now"), type="primary", key="desk_reveal", on_click=_do, args=(desk, "reveal", id_, said))


# --- Deleting ---------------------------------------------------------------------------------------------------------


def _forget(desk: Desk, assignment: Assignment) -> None:
    with st.expander(_("Delete"), icon=":material/delete:"):
        st.markdown(_("Deleting is final. Save the results first."))
        sure = st.checkbox(
            _("Yes, I want to delete data of this assignment"), key=f"desk_sure_{assignment.id}", value=False
        )
        with st.container(horizontal=True, vertical_alignment="bottom"):
            st.button(
                _("Delete all students and answers"),
                key="desk_delete_class",
                disabled=not sure,
                on_click=_delete,
                args=(desk, "class", assignment.id, assignment.id),
            )
            st.button(
                _("Delete the whole assignment"),
                key="desk_delete_all",
                disabled=not sure,
                on_click=_delete,
                args=(desk, "all", assignment.id, assignment.id),
            )
        with st.container(horizontal=True, vertical_alignment="bottom"):
            number = st.number_input(_("Seat"), 1, 1000, key="desk_delete_seat", width=120)
            st.button(
                _("Delete this student"),
                key="desk_delete_one",
                disabled=not sure,
                on_click=_delete,
                args=(desk, "one", assignment.id, assignment.id, int(number or 1)),
            )


def _delete(desk: Desk, what: str, assignment_id: str, box: str, number: int = 0) -> None:
    st.session_state[f"desk_sure_{box}"] = False
    try:
        if what == "one":
            gone = desk.remove_student(assignment_id, number)
        elif what == "class":
            gone = desk.delete_class_data(assignment_id)
        else:
            gone = desk.delete_assignment(assignment_id)
        st.session_state["desk_said"] = ("done", _what_went(gone))
    except ClassroomError as error:
        st.session_state["desk_said"] = ("refused", str(error))


def _what_went(gone: Deleted) -> str:
    students = ngettext("{n} student", "{n} students", gone.students).format(n=gone.students)
    answers = ngettext("{n} answer", "{n} answers", gone.answers).format(n=gone.answers)
    text = _("Deleted: {students}, {answers}.").format(students=students, answers=answers)
    if gone.wiped:
        return text
    rest = _("Remains may stay in the database file until the next deletion, because somebody was reading.")
    return f"{text} {rest}"
