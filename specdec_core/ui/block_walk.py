"""The walk through a block that asks before it shows: will t = 2 pass? And at the end: what is n_a?

State: the answers as letters in the address, for the block they were given to.

Does not know: where the block comes from.
"""

from collections.abc import Sequence

import streamlit as st

from specdec_core.acceptance import Rule
from specdec_core.lessons import one_block as core
from specdec_core.steps import Kind, steps, verdict_sentence
from specdec_core.strip import strip_data
from specdec_core.trace import Block, Token
from specdec_core.ui.links import carry
from specdec_core.ui.literal import literal
from specdec_core.ui.part import part
from specdec_core.ui.strip import token_strip
from specdec_core.words import Notation, _, ngettext

ANSWERS, FOR, COUNT, FINISHED = "walk_answers", "walk_block", "walk_n_a", "walk_finished"


def walk(verified: Sequence[Token], block: Block, rule: Rule, n: Notation) -> None:
    """The walk as a part of the page: an answer redraws nothing else, but the last one, which may finish a task."""
    _begin(block)
    part(lambda: _body(verified, block, rule, n), "walk")


def all_right(block: Block) -> bool:
    """Whether the walk through ``block`` is finished without a mistake, n_a included; two positions at least."""
    if st.session_state.get(FOR) != block or block.tau < 2:
        return False
    told = core.predictions(block, st.session_state.get(ANSWERS, ""))
    finished = len(told) == block.judged and st.session_state.get(COUNT) == block.n_a
    return finished and all(x.right for x in told)


def _begin(block: Block) -> None:
    """Answers belong to one block. The first block of a visit may bring them in its link."""
    if st.session_state.get(FOR) == block:
        return
    first = FOR not in st.session_state
    asked = st.query_params.get("answers", "") if first else ""
    st.session_state[FOR] = block
    st.session_state[ANSWERS] = asked if set(asked) <= {"y", "n"} and len(asked) <= block.judged else ""
    st.session_state[COUNT] = None


def _answer(letter: str) -> None:
    st.session_state[ANSWERS] = st.session_state.get(ANSWERS, "") + letter


def _again() -> None:
    st.session_state[ANSWERS] = ""
    st.session_state[COUNT] = None


def _count(n_a: int) -> None:
    st.session_state[COUNT] = n_a
    st.session_state[FINISHED] = True


def _body(verified: Sequence[Token], block: Block, rule: Rule, n: Notation) -> None:
    answers = st.session_state[ANSWERS]
    carry("answers", answers)
    told = core.predictions(block, answers)
    asking = len(told) < block.judged
    open_count = not asking and st.session_state[COUNT] is None
    verify = next(i for i, s in enumerate(steps(block)) if s.kind is Kind.VERIFY)
    last = len(steps(block)) - 1
    cursor = verify + len(told) if asking or open_count else last
    data = strip_data(verified, block, cursor, rule, n, selected=len(told) + 1 if asking else None, say=False)
    if open_count:
        data["facts"] = []
    token_strip(data, "walk_strip")
    if told:
        _feedback(told[-1], block, rule, n)
    if asking:
        _ask(block, len(told), n)
    elif open_count:
        _ask_count(block, n)
    else:
        _result(told, block, n)
        # Only a run of the whole page can tick off a task; at the end of this one no widget is missed.
        if st.session_state.pop(FINISHED, False):
            st.rerun()


def _feedback(last: core.Prediction, block: Block, rule: Rule, n: Notation) -> None:
    said = _("Right.") if last.right else _("Not so.")
    icon = ":material/thumb_up:" if last.right else ":material/thumb_down:"
    st.markdown(f"{icon} **{said}** {literal(verdict_sentence(block.positions[last.t - 1], rule, n))}")


def _ask(block: Block, done: int, n: Notation) -> None:
    st.markdown(f"### {literal(core.ask_words(block.positions[done], n))}")
    with st.container(horizontal=True, key="walk_ask"):
        st.button(
            _("Yes, it stays"), key="walk_yes", icon=":material/check:", shortcut="Y", on_click=_answer, args=("y",)
        )
        st.button(
            _("No, it falls"), key="walk_no", icon=":material/close:", shortcut="N", on_click=_answer, args=("n",)
        )


def _ask_count(block: Block, n: Notation) -> None:
    st.markdown(f"### {literal(_('Nothing more is judged. So what is {n_a}?').format(n_a=n.n_a))}")
    with st.container(horizontal=True, key="walk_count"):
        for k in range(block.tau + 1):
            st.button(str(k), key=f"walk_count_{k}", on_click=_count, args=(k,))


def _result(told: Sequence[core.Prediction], block: Block, n: Notation) -> None:
    said = st.session_state[COUNT]
    words = _("Right: {n_a} = {value}.") if said == block.n_a else _("Not so: {n_a} = {value}.")
    st.markdown(f"### {literal(words.format(n_a=n.n_a, value=block.n_a))}")
    st.markdown(core.n_a_words(core.build_up(block, block.judged), block, n))
    right = sum(x.right for x in told) + (said == block.n_a)
    asked = len(told) + 1
    score = ngettext("{right} of {n} answer right.", "{right} of {n} answers right.", asked)
    st.markdown(f"**{score.format(right=right, n=asked)}**")
    st.button(_("Again"), key="walk_again", icon=":material/replay:", on_click=_again)
