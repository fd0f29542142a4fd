"""A student's seat: the questions, handing in, what was confirmed, and the solutions once they are shown.

An answer is confirmed by what the database says, never by the press of a button. A question's seed makes its solution
computable, so it stands in no key, link or text here.

Does not know: how a seat is found (exercise_join), how grading works.
"""

import uuid
from typing import Any

import streamlit as st

from specdec_core.classroom import Classroom, OwnAnswer, StudentQuestion, StudentView
from specdec_core.exercises import Kind, Question, Status, grade
from specdec_core.ui.classroom import grader, points, question_of, refusals, when
from specdec_core.ui.exercise_presses import press, pressed
from specdec_core.ui.exercise_view import field, hints, mark, points_text, prompt, show_parts, solution
from specdec_core.ui.literal import literal
from specdec_core.ui.part import part
from specdec_core.words import _, ngettext

#: How often the page asks whether the teacher opened, closed or revealed. Half a class's worth of answers at most.
_LOOK_SECONDS = {"waiting": 4.0, "open": 10.0, "closed": 4.0}


def seat_view(here: Classroom, token: str, view: StudentView) -> None:
    """Everything that the seat shows in the assignment's present state."""
    name = view.name or _("no name")
    st.header(literal(view.title), anchor=False)
    st.caption(_("Seat {number}: {name}").format(number=view.number, name=literal(name)))
    _state(view)
    _look_out(here, token, view.state)
    if not view.questions:
        return
    _own_score(view)
    index = _chosen(view)
    _question(here, token, view, view.questions[index])


def _state(view: StudentView) -> None:
    if view.state == "waiting":
        opens = when(view.opens_at) if view.opens_at else ""
        st.info(
            _("Your seat is taken. The questions appear here by themselves at {time}.").format(time=literal(opens)),
            icon=":material/schedule:",
        )
    elif view.state == "closed":
        st.info(
            _("This assignment is closed. The solutions appear here when your teacher shows them."),
            icon=":material/lock:",
        )
    elif view.state == "revealed":
        st.info(_("The solutions are shown. No more answers are taken."), icon=":material/visibility:")
    elif view.closes_at:
        st.caption(_("It closes at {time}.").format(time=literal(when(view.closes_at))))


def _look_out(here: Classroom, token: str, state: str) -> None:
    """Looks now and then whether the assignment's state changed, and draws the page anew when it did."""
    if state not in _LOOK_SECONDS:
        return

    def look() -> None:
        with refusals():
            if here.student_view(token).state != state:
                st.rerun()

    part(look, "seat_look", _LOOK_SECONDS[state])


def _own_score(view: StudentView) -> None:
    answered = sum(bool(q.answers) for q in view.questions)
    text = ngettext("{done} of {n} question answered.", "{done} of {n} questions answered.", view.question_count)
    line = text.format(done=answered, n=view.question_count)
    marks = [_counting(q, view.options.counts) for q in view.questions if q.answers]
    known = [a.result for a in marks if a.result is not None]
    if known:
        got, most = sum(r.score for r in known), sum(r.max_score for r in known)
        text = _("{got} of {most} points so far.")
        if view.state != "open":  # what was left out counts now
            text, most = _("{got} of {most} points."), _all_points(view, most)
        line += " " + text.format(got=points(got), most=points(most))
    elif marks:
        line += " " + _("The points come with the solutions.")
    st.progress(answered / max(1, view.question_count), line)


def _all_points(view: StudentView, otherwise: float) -> float:
    """What all questions of this seat are worth together."""
    try:
        return float(sum(question_of(q.question).max_points for q in view.questions))
    except ValueError:
        return otherwise


def _counting(q: StudentQuestion, counts: str) -> OwnAnswer:
    """The attempt whose points count."""
    if counts == "last" or any(a.result is None for a in q.answers):
        return q.answers[-1]
    return max(q.answers, key=lambda a: a.result.score if a.result else 0.0)


def _chosen(view: StudentView) -> int:
    """The question in view; the first that is not answered at first."""
    n = len(view.questions)
    if n == 1:
        return 0
    if st.session_state.get("seat_question") not in range(n):
        first = next((q.index for q in view.questions if not q.answers), 0)
        st.session_state["seat_question"] = first
    done = {q.index for q in view.questions if q.answers}

    def label(index: int) -> str:
        text = _("Question {n}").format(n=index + 1)
        return f":material/check: {text}" if index in done else text

    picked = st.segmented_control(
        _("Question"),
        range(n),
        key="seat_question",
        format_func=label,
        required=True,
        label_visibility="collapsed",
        wrap=True,
    )
    return int(picked or 0)


# --- One question -----------------------------------------------------------------------------------------------------


def _question(here: Classroom, token: str, view: StudentView, q: StudentQuestion) -> None:
    again = bool(q.answers) and q.attempts_left > 0
    if q.answers and again:
        _earlier(here, token, q)
        st.header(literal(_("Attempt {n}").format(n=q.attempt)), anchor=False)
    try:
        question = question_of(q.question)
    except ValueError:
        st.error(_("This question cannot be shown. Please tell your teacher."), icon=":material/error:")
        return
    with st.container(key=f"seat_question_{q.index}_{q.attempt}"):
        st.header(literal(question.title), anchor=False)
        show_parts(question.stem)
        if q.attempts_left:
            _form(here, token, view, q, question)
        elif q.answers:
            _too_late(q)
            _given(question, q.answers[-1], q.index)
        else:
            _too_late(q)
            st.caption(_("You gave no answer to this question."))
    _after(view, q)
    if view.revealed:
        solution(question, f"seat_{q.index}")


def _press_name(q: StudentQuestion) -> str:
    return f"seat_{q.index}_hand_in"


def _too_late(q: StudentQuestion) -> None:
    """A press on a button that the page still showed when the time was over."""
    if pressed(_press_name(q)):
        st.error(_("No more answers are taken: this one was not stored."), icon=":material/block:")


def _after(view: StudentView, q: StudentQuestion) -> None:
    """The way on, once an answer is stored."""
    if not q.answers or q.attempts_left:
        return
    following = next((x.index for x in view.questions if x.attempts_left and not x.answers), None)
    if following is not None:
        st.button(
            _("Next question"),
            type="primary",
            icon=":material/arrow_forward:",
            key="seat_next",
            on_click=st.session_state.__setitem__,
            args=("seat_question", following),
        )
    elif view.state == "open" and not any(x.attempts_left for x in view.questions):
        st.success(_("All done. The solutions appear here when your teacher shows them."), icon=":material/task_alt:")


def _form(here: Classroom, token: str, view: StudentView, q: StudentQuestion, question: Question) -> None:
    key = f"seat_{q.index}_{q.attempt}"
    if view.options.hints:
        _hint_buttons(question, key)
    with st.form(f"{key}_form"):
        answers: dict[str, Any] = {}
        for step in question.steps:
            prompt(step)
            answers[step.name] = field(step, f"{key}_{step.name}")
            hints(step, st.session_state.get(f"{key}_{step.name}_hints", 0))
        st.form_submit_button(
            _("Hand in"),
            type="primary",
            icon=":material/send:",
            key=f"{key}_hand_in",
            on_click=press,
            args=(_press_name(q),),
        )
        left = ngettext("{n} attempt left.", "{n} attempts left.", q.attempts_left).format(n=q.attempts_left)
        st.caption(left)
    if pressed(_press_name(q)) and _complete(question, answers, key):
        _hand_in(here, token, q, answers, key)


def _hint_buttons(question: Question, key: str) -> None:
    """Hints stand beside the form, because a button in a form would hand it in."""
    with st.container(horizontal=True):
        for number, step in enumerate(question.steps, start=1):
            shown = int(st.session_state.get(f"{key}_{step.name}_hints", 0))
            if shown < len(step.hints):
                text = _("Hint for step {n} ({k} of {total})").format(n=number, k=shown + 1, total=len(step.hints))
                st.button(
                    text,
                    icon=":material/lightbulb:",
                    type="tertiary",
                    key=f"{key}_{step.name}_hint",
                    on_click=st.session_state.__setitem__,
                    args=(f"{key}_{step.name}_hints", shown + 1),
                )


def _complete(question: Question, answers: dict[str, Any], key: str) -> bool:
    """Whether the answers can be handed in: readable, and not left empty without having been asked once."""
    result = grade(question, answers)
    unreadable = [s for s in result.steps if s.status is Status.UNREADABLE]
    if unreadable:
        for s in unreadable:
            st.error(
                literal(f"{question.step(s.name).prompt} {s.feedback}"),
                title=_("Not handed in: one answer cannot be read"),
                icon=":material/edit:",
            )
        return False
    empty = len(result.unanswered)
    graded = sum(step.kind is not Kind.SELF_CHECK for step in question.steps)
    if empty == graded and not any(answers.values()):
        st.warning(_("Not handed in: nothing is answered yet."), icon=":material/edit:")
        return False
    asked = f"{key}_asked_about_empty"
    if empty and st.session_state.get(asked) != answers:
        st.session_state[asked] = dict(answers)
        text = ngettext(
            "Not handed in yet: {n} step is empty. Press Hand in once more to leave it empty.",
            "Not handed in yet: {n} steps are empty. Press Hand in once more to leave them empty.",
            empty,
        )
        st.warning(text.format(n=empty), icon=":material/help:")
        return False
    return True


def _hand_in(here: Classroom, token: str, q: StudentQuestion, answers: dict[str, Any], key: str) -> None:
    """Submits. One press, one idempotency key: pressing again after a lost connection stores nothing twice."""
    press = f"{key}_press"
    st.session_state.setdefault(press, str(uuid.uuid4()))
    with refusals():
        here.submit(token, q.index, answers, grader, st.session_state[press], q.attempt)
        del st.session_state[press]
        st.rerun()


def _earlier(here: Classroom, token: str, q: StudentQuestion) -> None:
    """The last attempt with its marks, at the variant it was made at."""
    last = q.answers[-1]
    with refusals():
        question = question_of(here.attempt_question(token, q.index, last.attempt))
        with st.expander(_("Attempt {n}, stored").format(n=last.attempt), expanded=True, icon=":material/history:"):
            show_parts(question.stem)
            _given(question, last, q.index)


def _given(question: Question, own: OwnAnswer, index: int) -> None:
    """An answer that is stored: what was given, and its marks where they may be seen."""
    stored = _("Stored on the server at {time}.").format(time=literal(when(own.submitted_at)))
    if own.result is None:
        st.success(f"{stored} {_('The points come with the solutions.')}", icon=":material/cloud_done:")
    else:
        got = _("{got} of {most}.").format(got=points(own.result.score), most=points_text(int(own.result.max_score)))
        st.success(f"{stored} {got}", icon=":material/cloud_done:")
    result = grade(question, own.answers)
    for step, s in zip(question.steps, result.steps, strict=True):
        with st.container(border=True, key=f"given_{index}_{own.attempt}_{step.name}"):
            prompt(step)
            st.markdown(_("Your answer: {answer}").format(answer=literal(_as_typed(question, step.name, own.answers))))
            if own.result is not None:
                mark(s, step)


def _as_typed(question: Question, name: str, answers: Any) -> str:
    """A stored answer as it was given."""
    raw = answers.get(name) if isinstance(answers, dict) else None
    step = question.step(name)
    texts = {option.id: option.text for option in step.options}
    if isinstance(raw, list):
        return "; ".join(texts.get(str(x), str(x)) for x in raw) or _("nothing")
    return texts.get(str(raw), str(raw)) if raw else _("nothing")
