"""From a block on the screen to a question, with one click; and from a trace in a file.

The block travels in the session: its numbers are too long for an address.

Does not know: how a question is made of a block.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from specdec_core.exercises import suitable_levels
from specdec_core.trace import Block, InvalidTrace, Token, Trace, trace_from_json
from specdec_core.ui.exercise_pick import FAMILY, LEVEL, REAL
from specdec_core.ui.exercise_presses import press, pressed
from specdec_core.ui.literal import literal
from specdec_core.ui.pages import spec
from specdec_core.words import _

_CHOSEN = "block_for_question"
_WANTED = "question_wanted"


@dataclass(frozen=True)
class ChosenBlock:
    """A block that somebody wants to be asked about, and the texts of the last tokens before it."""

    block: Block
    context: tuple[str, ...]


def question_button(block: Block, verified: Sequence[Token], key: str) -> None:
    """“Make it a question”: opens the exercises with a question about ``block``."""

    name = f"{key}_question"
    st.button(_("Make it a question"), icon=":material/quiz:", key=name, on_click=press, args=(name,))
    if pressed(name):
        keep_block(block, tuple(token.text for token in verified[-12:]))
        st.switch_page(spec("exercises").file)


def keep_block(block: Block, context: tuple[str, ...]) -> None:
    """Remember the block, and choose the richest level that it is good for."""
    st.session_state[_CHOSEN] = ChosenBlock(block, context)
    levels = suitable_levels(block, context)
    st.session_state[_WANTED] = "2" if 2 in levels else str(levels[0] if levels else 1)


def take_wanted() -> None:
    """On the exercises page, before its widgets: turn to the block that was chosen on another page."""
    level = st.session_state.pop(_WANTED, None)
    if level is not None:
        st.session_state[f"{FAMILY}_choice"], st.session_state[f"{LEVEL}_choice"] = REAL, level
        # What the address said before must not win.
        for key, value in ((FAMILY, REAL), (LEVEL, level)):
            st.session_state[key] = st.session_state[f"{key}_sent"] = value
        st.session_state["do_choice"] = "practise"


def chosen_block() -> ChosenBlock | None:
    """The block in this session, if there is one."""
    kept: ChosenBlock | None = st.session_state.get(_CHOSEN)
    return kept


def offer_block(chosen: ChosenBlock | None) -> None:
    """Where a block comes from: another page, or a trace in a file."""
    if chosen is None:
        st.info(
            _("These questions are made from a block that models judged. Open one and press “Make it a question”."),
            icon=":material/quiz:",
        )
    with st.container(horizontal=True, vertical_alignment="center"):
        if chosen is not None:
            st.markdown(_("Another block:"))
        for name in ("live_models", "one_block"):
            page = spec(name)
            st.page_link(page.file, label=page.title, icon=page.icon)
    with st.expander(_("Or take a block from a trace in a file"), expanded=chosen is None):
        _upload()


def _upload() -> None:
    file = st.file_uploader(_("A trace that was downloaded here (JSON)"), type=["json"], key="question_trace")
    if file is None:
        return
    try:
        trace = trace_from_json(file.getvalue())
    except InvalidTrace as error:
        st.error(literal(str(error)), icon=":material/error:")
        return
    if not trace.blocks:
        st.info(_("This trace has no blocks."))
        return
    _choose(trace)


def _choose(trace: Trace) -> None:
    n = len(trace.blocks)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        number = int(st.number_input(_("Block, of {n}").format(n=n), 1, n, key="question_trace_block", width=160) or 1)

        def take() -> None:
            index = min(number, n) - 1
            keep_block(trace.blocks[index], tuple(x.text for x in trace.verified_before(index)[-12:]))

        st.button(_("Make it a question"), icon=":material/quiz:", key="question_from_trace", on_click=take)
