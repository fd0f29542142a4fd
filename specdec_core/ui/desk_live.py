"""The live view: who joined, how each question goes, and where the room goes wrong. It renews itself.

Names are shown on request only, because this view stands on a projector.

Does not know: how answers get there.
"""

import streamlit as st

from specdec_core.classroom import Assignment, Desk, Progress, QuestionProgress
from specdec_core.exercises import misconceptions
from specdec_core.figures.answers import answers_figure, answers_text, bars
from specdec_core.ui.charts import chart
from specdec_core.ui.classroom import points, question_of, refusals, when
from specdec_core.ui.exercise_view import prompt, show_parts, solution
from specdec_core.ui.literal import literal
from specdec_core.ui.part import part
from specdec_core.ui.shell import present, theme
from specdec_core.words import _, ngettext

EVERY_SECONDS = 2.0


def live(desk: Desk, assignment: Assignment) -> None:
    """The whole view; it renews itself while answers can come."""

    def body() -> None:
        with refusals():
            progress = desk.progress(assignment.id)
            if progress.assignment.state != assignment.state:
                st.rerun()
            _view(desk, progress)

    runs = EVERY_SECONDS if assignment.state in ("open", "waiting") else None
    part(body, "desk_live", runs)


def _view(desk: Desk, progress: Progress) -> None:
    st.header(_("Live"), anchor=False)
    with st.container(horizontal=True):
        st.metric(_("Joined"), len(progress.students), border=True)
        st.metric(_("Have answered something"), progress.started, border=True)
        st.metric(_("Have answered everything"), progress.finished, border=True)
    index = _chosen(progress)
    q = progress.questions[index]
    _summary(q)
    names = {id_: m.name for id_, m in misconceptions().items()}
    listed = bars(q.full, q.misconceptions, names)
    chart(answers_figure(listed, theme(), q.answered, large=present()), f"desk_answers_{index}", answers_text(listed))
    if not q.misconceptions and q.answered:
        st.caption(_("No answer so far shows a misconception that is known by name."))
    _what_was_asked(desk, progress, index)
    _students(progress)


def _chosen(progress: Progress) -> int:
    n = len(progress.questions)
    if n == 1:
        return 0
    if st.session_state.get("desk_question") not in range(n):
        st.session_state["desk_question"] = 0
    picked = st.segmented_control(
        _("Question"),
        range(n),
        key="desk_question",
        format_func=lambda i: _("Question {n}").format(n=i + 1),
        required=True,
        wrap=True,
        persist_state="session",
    )
    return int(picked or 0)


def _summary(q: QuestionProgress) -> None:
    answered = ngettext("{n} student has answered.", "{n} students have answered.", q.answered).format(n=q.answered)
    if q.mean_share is None:
        st.markdown(answered)
        return
    share = _("On average {share:.0%} of the points; all points: {full}, none: {none}.").format(
        share=q.mean_share, full=q.full, none=q.none
    )
    st.markdown(literal(f"{answered} {share}"))


def _what_was_asked(desk: Desk, progress: Progress, index: int) -> None:
    """The question in view, for talking about it. Its solution only once everyone may see it."""
    assignment = progress.assignment
    with st.expander(
        _("The question"), icon=":material/quiz:", on_change="rerun", key=f"desk_asked_{index}", expanded=False
    ) as box:
        if not box.open:
            return
        number = None
        if assignment.options.per_student:
            if not progress.students:
                st.caption(_("Every student gets other numbers; nobody has joined yet."))
                return
            number = progress.students[0].number
            st.caption(_("Every student has other numbers. These are seat {n}'s.").format(n=number))
        try:
            question = question_of(desk.variant(assignment.id, index, number))
        except ValueError:
            st.error(_("This question cannot be made any more."), icon=":material/error:")
            return
        st.markdown(f"**{literal(question.title)}**")
        show_parts(question.stem)
        for step in question.steps:
            prompt(step)
            if step.options:
                st.markdown("\n".join(f"- {literal(option.text)}" for option in step.options))
        if assignment.state == "revealed":
            solution(question, f"desk_live_{index}")
        else:
            st.caption(_("The solution stands here once you have shown it to everyone. The answer key is below."))


def _students(progress: Progress) -> None:
    if not progress.students:
        st.caption(_("Nobody has joined yet."))
        return
    if present():  # names have no place on a projector
        return
    shown = st.toggle(_("Show who answered what"), key="desk_names", persist_state="session")
    if not shown:
        return
    people = progress.students
    questions = range(len(progress.questions))
    columns: dict[str, list[object]] = {
        _("seat"): [p.number for p in people],
        _("name"): [p.name or _("no name") for p in people],
    }
    for i in questions:
        columns[_("question {n}").format(n=i + 1)] = [
            _cell(p.scores[i], p.max_scores[i], p.attempts[i]) for p in people
        ]
    columns[_("points")] = [f"{points(p.score)} / {points(p.max_score)}" for p in people]
    columns[_("last answer")] = [when(p.last_answer_at) if p.last_answer_at else "" for p in people]
    # A table of data shows texts as they are, markup included.
    st.dataframe(columns, hide_index=True, key="desk_students", alt=_("Who joined, and the points for each question"))


def _cell(score: float | None, most: float | None, attempts: int) -> str:
    if score is None or most is None:
        return "–"
    text = f"{points(score)} / {points(most)}"
    return _("{points}, attempt {n}").format(points=text, n=attempts) if attempts > 1 else text
