"""Taking results and questions along: CSV, printable sheet, answer key, and the formats of course systems.

Does not know: how the formats are written.
"""

from collections.abc import Callable

import streamlit as st

from specdec_core.classroom import Assignment, Desk
from specdec_core.exercises import FORMATS, Format, Question
from specdec_core.ui.classroom import question_of
from specdec_core.words import _


def results(desk: Desk, assignment: Assignment) -> None:
    """Results, then questions."""
    st.header(_("Save"), anchor=False)
    with st.container(horizontal=True):
        _file(_("Results, a row per student (CSV)"), lambda: desk.export_csv(assignment.id), "results.csv", "text/csv")
        _file(
            _("Every answer (CSV)"),
            lambda: desk.export_csv(assignment.id, "answers"),
            "answers.csv",
            "text/csv",
        )
    st.caption(_("The files hold names as students typed them. Times in them are in UTC."))
    with st.expander(
        _("The questions: sheet, answer key, course systems"),
        icon=":material/print:",
        on_change="rerun",
        key="desk_save",
    ) as box:
        if box.open:
            _questions(desk, assignment)


def _file(label: str, data: Callable[[], str | bytes], name: str, mime: str) -> None:
    st.download_button(label, data, name, mime, icon=":material/download:", key=f"desk_file_{name}", on_click="ignore")


def _questions(desk: Desk, assignment: Assignment) -> None:
    number = _whose(desk, assignment)
    try:
        made = [_question(desk, assignment, i, number) for i in range(assignment.question_count)]
    except ValueError:
        st.error(_("These questions cannot be made any more."), icon=":material/error:")
        return
    for answers, title in (
        (False, _("For students, without answers")),
        (True, _("For you: these hold the answers")),
    ):
        st.markdown(f"**{title}**")
        with st.container(horizontal=True):
            for form in FORMATS.values():
                if form.answers == answers:
                    _format(form, made, assignment.title)
    st.caption(
        _("The sheet is a page that prints cleanly: open it, and print or save as PDF. JSON can be read in again.")
    )


def _format(form: Format, made: list[Question], title: str) -> None:
    _file(_(form.title), lambda: form.write(made, title), f"questions{form.suffix}", form.mime)


def _whose(desk: Desk, assignment: Assignment) -> int | None:
    """Whose numbers: everyone's, or where everyone has their own, one student's; 0 for an example of nobody's."""
    if not assignment.options.per_student:
        return None
    seats = {0: _("an example with nobody's numbers")}
    for person in desk.progress(assignment.id).students:
        seats[person.number] = _("seat {n}: {name}").format(n=person.number, name=person.name or _("no name"))
    return int(
        st.selectbox(_("Whose numbers"), list(seats), format_func=lambda n: seats[n], key="desk_whose_numbers") or 0
    )


def _question(desk: Desk, assignment: Assignment, index: int, number: int | None) -> Question:
    if number == 0:
        return question_of(desk.questions(assignment.id)[index])
    return question_of(desk.variant(assignment.id, index, number))
