"""From a block on the screen to a question, with one click; and from a trace in a file.

The block travels in the session: its numbers are too long for an address.

Does not know: how a question is made of a block.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from specdec_core.trace import Block, InvalidTrace, Token, Trace, trace_from_json
from specdec_core.ui.exercise_pick import FAMILY, LEVEL, REAL
from specdec_core.ui.literal import literal
from specdec_core.ui.pages import spec
from specdec_core.ui.shell import present
from specdec_core.words import _

_CHOSEN = "block_for_question"


@dataclass(frozen=True)
class ChosenBlock:
    """The block that was looked at last, and the texts of the last tokens before it."""

    block: Block
    context: tuple[str, ...]


def question_link(block: Block, verified: Sequence[Token]) -> None:
    """“Make it a question”: opens the exercises with a question about ``block``, which is in view here.

    A link and not a button: ``st.switch_page`` refuses to leave a page that has widgets bound to the address.
    """
    keep_block(block, tuple(token.text for token in verified[-12:]))
    asked = {"do": "practise", FAMILY: REAL, LEVEL: "2"} | ({"present": "true"} if present() else {})
    st.page_link(spec("exercises").file, label=_("Make it a question"), icon=":material/quiz:", query_params=asked)


def keep_block(block: Block, context: tuple[str, ...]) -> None:
    """The block that questions are made from, until another one is looked at."""
    st.session_state[_CHOSEN] = ChosenBlock(block, context)


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
