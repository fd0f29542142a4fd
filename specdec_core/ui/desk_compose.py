"""Composing an assignment: the list of questions, the options, the times.

A question of the bank is kept as family, level and a long random seed, so that nobody finds its numbers by trying
variants on the practice page. One from a file or a block is kept whole.

Does not know: what happens once an assignment is made (desk_run).
"""

import secrets
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import streamlit as st

from specdec_core.classroom import Desk, Options
from specdec_core.classroom.checks import LONGEST_TITLE, MOST_ATTEMPTS, MOST_QUESTIONS
from specdec_core.exercises import (
    Entry,
    InvalidQuestions,
    Question,
    UnsuitableBlock,
    entries,
    from_block,
    from_json,
    question_to_plain,
    suitable_levels,
)
from specdec_core.ui.classroom import question_of, refusals, zone
from specdec_core.ui.exercise_block import chosen_block
from specdec_core.ui.exercise_pick import thinking_word
from specdec_core.ui.exercise_presses import press, pressed
from specdec_core.ui.exercise_view import points_text, prompt, show_parts, solution
from specdec_core.ui.literal import literal
from specdec_core.words import _, ngettext

_LIST = "desk_list"
_SEED_BITS = 48


def compose(desk: Desk) -> None:
    """The whole form, top to bottom: questions, then how the class is run, then Create."""
    if st.session_state.pop("desk_made", False):
        # How a class is run stays as it was for the next assignment; what it is called and when it is open does not.
        st.session_state.update(desk_title="", desk_opens=None, desk_closes=None)
    st.header(_("Questions"), anchor=False)
    _add()
    _more_sources()
    _listed()
    st.header(_("How it runs"), anchor=False)
    title = st.text_input(
        _("Title"), max_chars=LONGEST_TITLE, key="desk_title", placeholder=_("Why random?"), persist_state="session"
    )
    options = _options()
    opens_at, closes_at = _times()
    listed = _entries()
    st.button(
        _("Create the assignment"),
        type="primary",
        icon=":material/add_task:",
        key="desk_create",
        on_click=press,
        args=("desk_create",),
    )
    if pressed("desk_create"):
        if not listed:
            st.warning(_("Add a question first."), icon=":material/edit:")
            return
        with refusals():
            made_now = desk.create_assignment(title or "", listed, options, opens_at, closes_at)
            st.session_state["desk_assignment"] = made_now.id
            st.session_state[_LIST] = []
            st.session_state["desk_to_run"] = st.session_state["desk_made"] = True
            st.rerun()


def _entries() -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = st.session_state.setdefault(_LIST, [])
    return listed


# --- Adding -----------------------------------------------------------------------------------------------------------


def _add() -> None:
    bank = {f"{e.family}.{e.level}": e for e in entries(needs_block=False)}

    def title(name: str) -> str:
        e = bank[name]
        return f"{e.family_title} · {e.level}. {e.title} ({thinking_word(e.thinking)}, {points_text(e.points)})"

    with st.container(horizontal=True, vertical_alignment="bottom"):
        with st.container(width="stretch"):
            name = st.selectbox(_("From the bank"), list(bank), format_func=title, key="desk_bank")
        count = st.number_input(_("How many"), 1, 10, key="desk_count", width=110)
        st.button(
            _("Add"), icon=":material/add:", key="desk_add", on_click=_append_bank, args=(bank[name], int(count or 1))
        )


def _append_bank(entry: Entry, count: int) -> None:
    for _i in range(count):
        _append({"family": entry.family, "level": entry.level, "seed": secrets.randbits(_SEED_BITS)})


def with_new_numbers(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The same question of the bank with other numbers; a whole question has but one variant."""
    return {**entry, "seed": secrets.randbits(_SEED_BITS)} if "family" in entry else dict(entry)


def _append(entry: dict[str, Any]) -> None:
    listed = _entries()
    if len(listed) < MOST_QUESTIONS:
        listed.append(entry)
    else:
        st.session_state["desk_message"] = _("An assignment has at most {most} questions.").format(most=MOST_QUESTIONS)


def _more_sources() -> None:
    message = st.session_state.pop("desk_message", "")
    if message:
        st.warning(literal(message), icon=":material/info:")
    with st.expander(_("Other questions: a set in a file, or a real block"), icon=":material/upload_file:"):
        file = st.file_uploader(_("A question set that was saved here (JSON)"), type=["json"], key="desk_file")
        if file is not None:
            _offer_file(file.getvalue())
        _offer_block()


def _offer_file(data: bytes) -> None:
    try:
        found = from_json(data)
    except InvalidQuestions as error:
        st.error(literal(str(error)), icon=":material/error:")
        return

    def take() -> None:
        for question in found.questions:
            _append({"question": question_to_plain(question)})

    n = len(found.questions)
    text = ngettext("Add {n} question from the file", "Add {n} questions from the file", n).format(n=n)
    st.button(text, icon=":material/add:", key="desk_add_file", on_click=take)


def _offer_block() -> None:
    chosen = chosen_block()
    if chosen is None:
        st.caption(_("A block of the live page or a lesson can be added too: press “Make it a question” there."))
        return
    levels = suitable_levels(chosen.block, chosen.context)
    if not levels:
        st.caption(_("The block that you chose is good for no question; choose another one."))
        return
    titles = {e.level: e.title for e in entries(needs_block=True)}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        level = st.selectbox(
            _("From the block that you chose"), levels, format_func=lambda x: literal(titles[x]), key="desk_block_level"
        )

        def take() -> None:
            try:
                question = from_block(chosen.block, int(level), secrets.randbelow(2**31), chosen.context)
            except UnsuitableBlock as error:
                st.session_state["desk_message"] = str(error)
                return
            _append({"question": question_to_plain(question)})

        st.button(_("Add"), icon=":material/add:", key="desk_add_block", on_click=take)


# --- The list ---------------------------------------------------------------------------------------------------------


def _listed() -> None:
    listed = _entries()
    if not listed:
        st.info(_("Nothing chosen yet."), icon=":material/playlist_add:")
        return
    questions = [question_of(entry) for entry in listed]
    for i, (entry, question) in enumerate(zip(listed, questions, strict=True)):
        _row(i, entry, question, last=i + 1 == len(listed))
    total = sum(q.max_points for q in questions)
    text = ngettext("{n} question, {points}.", "{n} questions, {points}.", len(listed))
    st.caption(text.format(n=len(listed), points=points_text(total)))


def _row(i: int, entry: Mapping[str, Any], question: Question, last: bool) -> None:
    with st.container(border=True, key=f"desk_row_{i}"):
        with st.container(horizontal=True, vertical_alignment="center"):
            text = _("{n}. {title}").format(n=i + 1, title=question.title)
            st.markdown(f"**{literal(text)}** :gray[{points_text(question.max_points)}]", width="stretch")
            _tool(i, "up", ":material/arrow_upward:", _("Move up"), i == 0)
            _tool(i, "down", ":material/arrow_downward:", _("Move down"), last)
            _tool(i, "other", ":material/casino:", _("Other numbers"), "question" in entry)
            _tool(i, "drop", ":material/delete:", _("Take out"), False)
        with st.expander(_("Preview"), on_change="rerun", key=f"desk_preview_{i}") as preview:
            if preview.open:
                show_question(question, f"desk_preview_{i}", answers=True)


def _tool(i: int, name: str, icon: str, says: str, disabled: bool) -> None:
    st.button(
        says,
        icon=icon,
        key=f"desk_{name}_{i}",
        type="tertiary",
        disabled=disabled,
        on_click=_change,
        args=(i, name),
    )


def _change(i: int, name: str) -> None:
    listed = _entries()
    if not 0 <= i < len(listed):
        return
    if name == "drop":
        del listed[i]
    elif name == "other":
        listed[i] = with_new_numbers(listed[i])
    else:
        j = i - 1 if name == "up" else i + 1
        if 0 <= j < len(listed):
            listed[i], listed[j] = listed[j], listed[i]


def show_question(question: Question, key: str, answers: bool) -> None:
    """A question as the class sees it, and its solution."""
    show_parts(question.stem)
    for step in question.steps:
        prompt(step)
        if step.options:
            st.markdown("\n".join(f"- {literal(option.text)}" for option in step.options))
    if answers:
        solution(question, key)


# --- How it runs ------------------------------------------------------------------------------------------------------


def _options() -> Options:
    left, right = st.columns(2)
    with left:
        per_student = st.toggle(
            _("Every student gets other numbers"),
            key="desk_per_student",
            help=_("Nobody can copy a neighbour's result. Off: everyone has the same, good for talking about it."),
            persist_state="session",
        )
        hints = st.toggle(_("Hints may be asked for"), value=True, key="desk_hints", persist_state="session")
        at_once = st.toggle(
            _("Marks are shown at once"),
            value=True,
            key="desk_at_once",
            help=_("Off: a student sees points and feedback only when you show the solutions."),
            persist_state="session",
        )
    with right:
        attempts = st.number_input(
            _("Attempts per question"), 1, MOST_ATTEMPTS, key="desk_attempts", width=180, persist_state="session"
        )
        several = (attempts or 1) > 1
        best = st.segmented_control(
            _("Which attempt counts"),
            ["best", "last"],
            default="best",
            required=True,
            key="desk_counts",
            format_func=lambda x: _("the best") if x == "best" else _("the last"),
            disabled=not several,
            persist_state="session",
        )
        anew = st.toggle(
            _("Each attempt has other numbers"), key="desk_anew", disabled=not several, persist_state="session"
        )
    return Options(
        per_student=per_student,
        hints=hints,
        attempts=int(attempts or 1),
        counts="last" if best == "last" else "best",
        feedback="at_once" if at_once else "after_reveal",
        new_variant_on_retry=bool(anew and several),
    )


def _times() -> tuple[datetime | None, datetime | None]:
    _where, name = zone()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        opens = moment_field(_("Opens (empty: at once)"), "desk_opens")
        closes = moment_field(_("Closes (empty: when you close it)"), "desk_closes")
    st.caption(_("Times are in your browser's time zone, {zone}.").format(zone=literal(name)))
    return opens, closes


def moment_field(label: str, key: str) -> datetime | None:
    """A moment in the browser's time zone, or None."""
    value = st.datetime_input(label, value=None, key=key, width=280, persist_state="session")
    return None if value is None else value.replace(tzinfo=zone()[0])
