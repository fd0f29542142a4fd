"""Lesson 2 on the screen: the table, the strip with its steps, n_a from its formula, and the walk that asks first.

One block feeds the strip, the build-up of n_a, the sentences and the downloads, whether its numbers were typed or
recorded.

Does not know: how a block is judged (``specdec_core.cases`` does) or how the table is kept (``block_table`` does).
"""

from dataclasses import dataclass

import streamlit as st

from specdec_core.acceptance import RANDOM, Rule
from specdec_core.cases import Case, Row, judge_case
from specdec_core.lessons import one_block as core
from specdec_core.lessons.one_block import Example
from specdec_core.lessons.table_text import case_json
from specdec_core.models import recorded
from specdec_core.steps import Kind, steps
from specdec_core.strip import strip_data
from specdec_core.tables import blocks_to_csv
from specdec_core.trace import Block, Token
from specdec_core.ui import block_table, block_walk
from specdec_core.ui.exercise_block import question_link
from specdec_core.ui.lesson import (
    BOOK_SOURCE,
    CHEN_SOURCE,
    LEVIATHAN_SOURCE,
    Task,
    explanation,
    next_lesson,
    question,
    sources,
    try_this,
)
from specdec_core.ui.lesson_recorded import choose_block, random_traces
from specdec_core.ui.links import choice
from specdec_core.ui.shell import notation, present
from specdec_core.ui.stepper import step_fragment, stepper
from specdec_core.ui.strip import token_strip
from specdec_core.words import Notation, _

STEP = "block_step"


@dataclass(frozen=True)
class Shown:
    """The block on the screen, with the tokens before it and, for typed ones, its case and example."""

    verified: tuple[Token, ...]
    block: Block
    rule: Rule = RANDOM
    case: Case | None = None
    example: Example | None = None


def lesson() -> None:
    """The whole page below its title."""
    n = notation()
    question(
        _("The draft proposes {tau} tokens at once. How many of them stay: what is {n_a}?").format(tau=n.tau, n_a=n.n_a)
    )
    choices = st.container(horizontal=True, vertical_alignment="bottom")
    with choices:
        real = _is_real()
        example = None if real else block_table.choose_example()
        titles = {"steps": _("Step through it"), "predict": _("Predict first")}
        mode = choice(_("How"), titles, "mode")
    # On a projector the picture comes first; at a desk the table does, because it is what hands work on.
    first, second = st.container(), st.container()
    table_place, picture_place = (second, first) if present() else (first, second)
    with table_place:
        shown = _recorded() if example is None else _typed(example, n)
    with picture_place:
        if shown is None:
            st.info(_("The picture comes back when every line can be judged."))
        else:
            _picture(shown, mode, n)
    if shown is not None:
        _downloads(shown)
    _explanation(n)
    try_this("one_block", _tasks(shown))
    next_lesson("what_the_draft_sees")
    sources(BOOK_SOURCE, LEVIATHAN_SOURCE, CHEN_SOURCE)


def _is_real() -> bool:
    """Whether a recorded block is asked for; the choice is there only where something was recorded."""
    if not random_traces(tuple(recorded.names())):
        return False
    titles = {"typed": _("By hand"), "recorded": _("A recorded real block")}
    return choice(_("Whose numbers"), titles, "source") == "recorded"


def _typed(example: Example, n: Notation) -> Shown | None:
    checked = core.check_table(block_table.edit(example, n), n)
    block_table.messages(checked)
    if checked.case is None:
        return None
    verified = tuple(Token(x) for x in checked.case.context)
    return Shown(verified, judge_case(checked.case), case=checked.case, example=example)


def _recorded() -> Shown | None:
    chosen = choose_block("real")
    if chosen is None:
        return None
    trace, index = chosen
    block = trace.blocks[index]

    def copy() -> None:
        rows = tuple(Row(x.token.text, x.q, x.p, x.r) for x in block.positions)
        before = "".join(x.text for x in trace.verified_before(index))[-400:]
        block_table.keep_copy(core.table_of(Case(rows, (before,))))
        st.session_state["source_choice"] = "typed"

    st.button(_("Copy into the table, to change it"), icon=":material/edit:", key="block_copy", on_click=copy)
    return Shown(trace.verified_before(index), block, trace.settings.acceptance)


# --- The picture ----------------------------------------------------------------------------------------------------


def _picture(shown: Shown, mode: str, n: Notation) -> None:
    if shown.block.tau > core.MAX_CARDS:
        _long(shown, n)
        return
    if mode == "predict":
        block_walk.walk(shown.verified, shown.block, shown.rule, n)
        return
    _keep_at_end(len(steps(shown.block)) - 1)

    def body() -> None:
        cursor = stepper(shown.verified, shown.block, shown.rule, n, key=STEP, default=-1)
        done = steps(shown.block)[: cursor + 1]
        scored = any(s.kind is Kind.VERIFY for s in done)
        build_up(shown.block, sum(s.kind is Kind.JUDGE for s in done), scored, n)

    step_fragment(body, STEP)


def _keep_at_end(last: int) -> None:
    """A person who looks at the finished block still does after a line was added or an example chosen."""
    before = st.session_state.get("block_last_step")
    if before is not None and st.session_state.get(STEP) == before:
        st.session_state[STEP] = last
    st.session_state["block_last_step"] = last


def _long(shown: Shown, n: Notation) -> None:
    """A block of hundreds: the cards around the one that decides, and the whole build-up."""
    block = shown.block
    data = strip_data(shown.verified, block, len(steps(block)) - 1, shown.rule, n)
    last = len(data["cards"])
    start = max(0, min((block.first_rejected or last) - core.MAX_CARDS // 2, last - core.MAX_CARDS))
    data["cards"] = data["cards"][start : start + core.MAX_CARDS]
    st.caption(
        _("{n} candidates are too many to step through. Cards {first} to {last} are shown; the files have all.").format(
            n=block.tau, first=start + 1, last=min(start + core.MAX_CARDS, block.tau)
        )
    )
    token_strip(data, "block_long_strip")
    build_up(block, block.judged, True, n)


def build_up(block: Block, judged: int, scored: bool, n: Notation) -> None:
    """n_a from its formula, as far as ``judged`` positions allow. scored: whether p, and so p/q, is known yet."""
    built = core.build_up(block, judged)
    t = n.tex
    with st.container(border=True, key="n_a_build_up"):
        left, right = st.columns(2, vertical_alignment="center")
        with left:
            if scored and block.tau <= core.MAX_CARDS:
                st.markdown(_comparisons(built, n))
            elif not scored:
                st.caption(_("Nothing can be compared before the target has scored the block."))
            else:
                st.caption(_("The comparisons are in the files."))
        with right:
            members = core.set_tex(built.members, built.settled)
            st.markdown(f"${core.formula_tex(n)}$")
            st.markdown(rf"$\{{ {t['t']} : {t['r']} > {t['p']}/{t['q']} \}} = {members}$")
            st.markdown(f"$\\Large {core.n_a_tex(built, block.tau, n)}$")
            st.markdown(core.n_a_words(built, block, n))


def _comparisons(built: core.BuildUp, n: Notation) -> str:
    """The comparisons side by side as a small table; numbers and words only, no token text."""
    t = n.tex
    above = rf"${t['r']} > {t['p']}/{t['q']}$ ?"
    head = f"| ${t['t']}$ | ${t['r']}$ | ${t['p']}/{t['q']}$ | {above} |\n|---|---|---|---|\n"
    words = {True: _("**yes**, in the set"), False: _("no"), None: "·"}
    unknown = "·"
    first = built.members[0] if built.settled and built.members else len(built.lines)
    unreached = _("{answer}, but not reached")
    lines = []
    for x in built.lines:
        answer = words[x.above]
        if x.t > first:
            answer = unreached.format(answer=answer)
        lines.append(f"| {x.t} | {unknown if x.above is None else x.r} | {x.ratio} | {answer} |")
    return head + "\n".join(lines)


def _downloads(shown: Shown) -> None:
    with st.container(horizontal=True):
        question_link(shown.block, shown.verified)
        st.download_button(
            _("Block as CSV"),
            blocks_to_csv([shown.block]),
            "block.csv",
            "text/csv",
            key="block_csv",
            icon=":material/download:",
            on_click="ignore",
        )
        if shown.case is not None:
            st.download_button(
                _("Table as JSON"),
                case_json(shown.case),
                "case.json",
                "application/json",
                key="block_json",
                icon=":material/download:",
                on_click="ignore",
            )


# --- Words ----------------------------------------------------------------------------------------------------------


def _explanation(n: Notation) -> None:
    t = n.tex
    with explanation():
        st.markdown(
            _(
                "Every position has its **own** fresh ${r}$. The first whose ${r}$ is above its ${p}/{q}$ falls, and"
                " ${n_a}$ counts those before it."
            ).format(**t)
        )
        st.markdown(
            _(
                "Positions after it are **not reached**. Nobody found them bad: they were drafted after a token that is"
                " gone, so their ${q}$ and ${p}$ belong to a text that does not exist."
            ).format(**t)
        )
        st.markdown(
            _(
                "When nothing falls, the set is empty and its minimum is not defined. Then ${n_a} = {tau}$."
                " The block then adds ${n_a} + 1$ tokens: after a fall a corrected one, else a bonus."
            ).format(**t)
        )


def _tasks(shown: Shown | None) -> list[Task]:
    name = shown.example.name if shown and shown.example else ""
    n_a = shown.block.n_a if shown else -1
    names = {e.name: _(e.title) for e in core.examples()}
    changed = 0
    if shown and shown.case and shown.example and len(shown.case.rows) == len(shown.example.case.rows):
        pairs = zip(shown.case.rows, shown.example.case.rows, strict=True)
        changed = sum(getattr(a, f) != getattr(b, f) for a, b in pairs for f in ("token", "q", "p", "r"))
    impossible = bool(shown and shown.case and len(shown.case.rows) > 3 and shown.case.rows[-1].p == 0)
    return [
        Task(
            "rescue",
            _("In “{example}”, change one single number so that all three stay.").format(example=names["second-falls"]),
            name == "second-falls" and changed == 1 and n_a == 3,
            _("Once the second stays, the third is judged again, and passes: it never was bad."),
        ),
        Task(
            "repair",
            _("In “{example}”, repair t = 2. By how much does the count jump?").format(example=names["flags"]),
            name == "flags" and n_a == 4,
            _("From 1 to 4: two that would have passed had been waiting behind it."),
        ),
        Task(
            "doomed",
            _("Add a line with a target probability of 0 to “{example}”. Can any draw save it?").format(
                example=names["all-pass"]
            ),
            name == "all-pass" and impossible and n_a == 3,
            _("None can. The three before it stay, and the fall costs nothing but the new one."),
        ),
        Task(
            "predict",
            _("Choose “Predict first” and get a whole block right."),
            bool(shown and block_walk.all_right(shown.block)),
            _("You judged as the machine does: position by position, and no further than the first fall."),
        ),
    ]
