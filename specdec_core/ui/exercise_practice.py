"""Practice: one question, step by step, with feedback at once. Nothing is stored on the server.

A step can be corrected after its feedback. Two scores are told: the one at the first try, and the one as it stands.

Does not know: how a question is drawn or graded.
"""

from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from specdec_core.exercises import (
    FORMATS,
    Entry,
    Format,
    Kind,
    Question,
    Result,
    Step,
    UnsuitableBlock,
    from_block,
    grade,
    variant,
)
from specdec_core.ui import exercise_pick
from specdec_core.ui.classroom import points
from specdec_core.ui.exercise_block import chosen_block, offer_block
from specdec_core.ui.exercise_presses import press, pressed
from specdec_core.ui.exercise_view import field as answer_field
from specdec_core.ui.exercise_view import hints, mark, points_text, prompt, show_parts, solution
from specdec_core.ui.literal import literal
from specdec_core.words import _, ngettext

_STATE = "practice"
#: Questions on a sheet to take along.
_MOST_ON_A_SHEET = 20


@dataclass
class Attempt:
    """Where somebody stands with one question. first, now: answers by step, at the first try and as they are."""

    question: str
    first: dict[str, Any] = field(default_factory=dict)
    now: dict[str, Any] = field(default_factory=dict)
    hints: dict[str, int] = field(default_factory=dict)
    solved: bool = False


def practice() -> None:
    """The whole page below its title, without a class."""
    entry, seed = exercise_pick.choose()
    question = _question(entry, seed)
    if question is None:
        return
    attempt = _attempt(question)
    st.header(literal(question.title), anchor=False)
    st.caption(
        _("{points}. Level of thinking: {thinking}. Topics: {topics}.").format(
            points=points_text(question.max_points), **exercise_pick.described(entry)
        )
    )
    show_parts(question.stem)
    _steps(question, attempt)
    _end(question, attempt)
    _take_along(entry, question, seed)


def _question(entry: Entry, seed: int) -> Question | None:
    if not entry.needs_block:
        return variant(entry.family, entry.level, seed)
    chosen = chosen_block()
    offer_block(chosen)
    if chosen is None:
        return None
    try:
        return from_block(chosen.block, entry.level, seed, chosen.context)
    except UnsuitableBlock as error:
        st.warning(literal(str(error)), icon=":material/block:")
        return None


def _attempt(question: Question) -> Attempt:
    """The attempt at this question; a new one when another question was shown before."""
    kept: Attempt | None = st.session_state.get(_STATE)
    if kept is None or kept.question != question.id:
        kept = Attempt(question.id)
        st.session_state[_STATE] = kept
    return kept


# --- The steps --------------------------------------------------------------------------------------------------------


def _steps(question: Question, attempt: Attempt) -> None:
    """The steps up to the first that is not answered yet."""
    result = grade(question, attempt.now)
    marks = {s.name: s for s in result.steps}
    total = len(question.steps)
    for number, step in enumerate(question.steps, start=1):
        answered = step.name in attempt.now
        with st.container(border=True, key=f"step_{question.id}_{step.name}".replace(".", "_")):
            if total > 1:
                st.caption(_("Step {n} of {total}").format(n=number, total=total))
            _ask(question, step, attempt)
            if answered:
                mark(marks[step.name], step)
                if step.kind is Kind.SELF_CHECK:
                    _tick(question, step, attempt)
        if not answered and not attempt.solved:
            break


def _ask(question: Question, step: Step, attempt: Attempt) -> None:
    key = f"answer_{question.id}_{step.name}"
    right = step.name in attempt.now and _is_good(question, step, attempt)
    locked = attempt.solved or right
    prompt(step)
    with st.form(f"form_{key}", border=False):
        given = answer_field(step, key, disabled=locked, given=_kept(step, attempt))
        label = _("Check again") if step.name in attempt.now else _("Check")
        # A form without a button is a fault, so the button stays when there is nothing left to check.
        st.form_submit_button(
            label, type="primary", key=f"check_{key}", disabled=locked, on_click=press, args=(f"check_{key}",)
        )
        if pressed(f"check_{key}"):
            _check(step, attempt, given)
    shown = attempt.hints.get(step.name, 0)
    hints(step, shown)
    if shown < len(step.hints) and not locked:
        text = _("Hint ({n} of {total})").format(n=shown + 1, total=len(step.hints))
        st.button(
            text,
            icon=":material/lightbulb:",
            key=f"hint_{key}",
            type="tertiary",
            on_click=attempt.hints.__setitem__,
            args=(step.name, shown + 1),
        )


def _kept(step: Step, attempt: Attempt) -> Any:
    given = attempt.now.get(step.name)
    return given.get("text") if isinstance(given, dict) else given


def _is_good(question: Question, step: Step, attempt: Attempt) -> bool:
    """Whether the step has all its points, so that nothing is left to correct. Free text stays open."""
    return step.kind is not Kind.SELF_CHECK and any(
        s.good for s in grade(question, attempt.now).steps if s.name == step.name
    )


def _check(step: Step, attempt: Attempt, given: Any) -> None:
    if given is None or given == [] or (isinstance(given, str) and not given.strip()):
        st.warning(_("Answer first, or ask for a hint."), icon=":material/edit:")
        return
    if step.kind is Kind.SELF_CHECK:
        before = attempt.now.get(step.name)
        given = {"text": given, "ticked": before.get("ticked", []) if isinstance(before, dict) else []}
    attempt.first.setdefault(step.name, given)
    attempt.now[step.name] = given
    st.rerun()


def _tick(question: Question, step: Step, attempt: Attempt) -> None:
    """The key ideas of a free text, to be ticked by whoever wrote it; and one good answer."""
    given = attempt.now[step.name]
    st.markdown(_("Which of these does your text say?"))
    ticked = [
        idea.id
        for idea in step.key_ideas
        if st.checkbox(
            literal(idea.text), key=f"idea_{question.id}_{step.name}_{idea.id}", value=idea.id in given["ticked"]
        )
    ]
    if ticked != given["ticked"]:
        attempt.now[step.name] = {**given, "ticked": ticked}
        st.rerun()
    if step.model_answer:
        st.caption(_("One good answer: {text}").format(text=literal(step.model_answer)))


# --- Afterwards -------------------------------------------------------------------------------------------------------


def _end(question: Question, attempt: Attempt) -> None:
    done = all(step.name in attempt.now for step in question.steps)
    result, first = grade(question, attempt.now), grade(question, attempt.first)
    if done:
        _score(result, first)
    all_good = done and result.score == result.max_points
    with st.container(horizontal=True):
        if all_good or attempt.solved:
            st.button(
                _("Next variant"),
                type="primary",
                icon=":material/skip_next:",
                key="next_variant",
                on_click=exercise_pick.new_variant,
            )
        else:
            st.button(
                _("Show the solution"),
                icon=":material/visibility:",
                key="show_solution",
                help=_("Ends this variant. A new one has other numbers."),
                on_click=setattr,
                args=(attempt, "solved", True),
            )
    if all_good or attempt.solved:
        solution(question, "practice")


def _score(result: Result, first: Result) -> None:
    now, total = points(float(result.score)), points_text(result.max_points)
    if result.score == first.score:
        st.markdown(_("**{now} of {total}**, at the first try.").format(now=now, total=total))
    else:
        text = _("**{now} of {total}**; at the first try {first}.")
        st.markdown(text.format(now=now, total=total, first=points(float(first.score))))


def _take_along(entry: Entry, question: Question, seed: int) -> None:
    """Sheets without answers: those with answers are on the teacher's desk."""
    with st.expander(_("Take it along"), icon=":material/print:"):
        count = 1
        if not entry.needs_block:
            count = int(
                st.number_input(_("How many variants"), 1, _MOST_ON_A_SHEET, key="sheet_variants", width=160) or 1
            )
        with st.container(horizontal=True):
            for form in (f for f in FORMATS.values() if not f.answers):
                _download(form, entry, question, seed, count)
        text = ngettext(
            "{n} question, without the answers. The sheet prints cleanly from the browser.",
            "{n} questions, without the answers. The sheet prints cleanly from the browser.",
            count,
        )
        st.caption(text.format(n=count))


def _download(form: Format, entry: Entry, question: Question, seed: int, count: int) -> None:
    def data() -> str | bytes:
        more = (variant(entry.family, entry.level, (seed + i) % exercise_pick.MAX_SEED) for i in range(1, count))
        return form.write([question, *more], entry.family_title)

    st.download_button(
        _(form.title),
        data,
        f"{entry.family}{form.suffix}",
        form.mime,
        icon=":material/download:",
        key=f"take_{form.name}",
        on_click="ignore",
    )
