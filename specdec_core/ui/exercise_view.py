"""A question on the screen: what is given, the fields, the marks, the worked solution with its picture.

Practice, assignments and the desk show questions through here. Texts come from files and people: all of them are shown
literally.

Does not know: where answers are kept, when a solution may be shown.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from specdec_core.acceptance import RANDOM, Verdict
from specdec_core.cases import InvalidCase, case_from_plain, judge_case
from specdec_core.exercises import Kind, Question, Status, Step, StepResult, Table, Text, answer_text, misconceptions
from specdec_core.figures.number_line import number_line
from specdec_core.figures.overlap import overlap, overlap_text
from specdec_core.numbers import probability, ratio
from specdec_core.steps import position_sentence, steps
from specdec_core.strip import strip_data
from specdec_core.trace import Block, Token
from specdec_core.ui.charts import chart
from specdec_core.ui.classroom import points
from specdec_core.ui.literal import literal
from specdec_core.ui.shell import theme
from specdec_core.ui.strip import token_strip
from specdec_core.words import BOOK, _, ngettext

#: Options whose texts are together longer than this stand below each other.
_ROW = 60


def show_parts(parts: Sequence[Text | Table]) -> None:
    """Paragraphs and tables."""
    for part in parts:
        st.markdown(literal(part.text) if isinstance(part, Text) else _table(part))


def _table(table: Table) -> str:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(literal(cell) or "\u00a0" for cell in cells) + " |"

    rows = [line(table.columns), "|" + "---|" * len(table.columns), *(line(row) for row in table.rows)]
    return (f"{literal(table.caption)}\n\n" if table.caption else "") + "\n".join(rows)


def points_text(n: int) -> str:
    """What a step is worth."""
    return ngettext("{n} point", "{n} points", n).format(n=n)


def prompt(step: Step) -> None:
    """The step's question, with its points."""
    worth = f" :gray[({points_text(step.points)})]" if step.points else ""
    st.markdown(f"**{literal(step.prompt)}**{worth}")


def field(step: Step, key: str, disabled: bool = False, given: Any = None) -> Any:
    """The step's field; returns what is in it in the form that ``grade`` takes. given: what it holds at first."""
    if given is not None and key not in st.session_state and step.kind is not Kind.MULTI_CHOICE:
        st.session_state[key] = given
    shared: dict[str, Any] = {"key": key, "disabled": disabled, "label_visibility": "collapsed"}
    # The label is for screen readers: the prompt stands above.
    label = literal(step.prompt)
    match step.kind:
        case Kind.NUMBER | Kind.INTEGER:
            text = st.text_input(label, max_chars=40, width=260, placeholder=_placeholder(step), **shared)
            if step.tolerance_text:
                st.caption(literal(step.tolerance_text))
            return text or ""
        case Kind.CHOICE:
            texts = [option.text for option in step.options]
            return st.radio(
                label,
                [option.id for option in step.options],
                index=None,
                format_func=lambda id_: literal(step.option(id_).text),
                horizontal=sum(map(len, texts)) < _ROW,
                **shared,
            )
        case Kind.MULTI_CHOICE:
            return [
                option.id
                for option in step.options
                if st.checkbox(
                    literal(option.text),
                    value=option.id in (given or ()),
                    key=f"{key}_{option.id}",
                    disabled=disabled,
                )
            ]
        case Kind.TOKEN_LIST:
            return list(
                st.pills(
                    label,
                    [option.id for option in step.options],
                    selection_mode="multi",
                    format_func=lambda id_: literal(step.option(id_).text),
                    **shared,
                )
                or []
            )
        case Kind.SELF_CHECK:
            return st.text_area(label, max_chars=4000, height=140, **shared) or ""


def _placeholder(step: Step) -> str:
    return _("a whole number") if step.kind is Kind.INTEGER else _("for example 0.75, 3/4 or 75 %")


def hints(step: Step, shown: int) -> None:
    """The first ``shown`` hints of a step."""
    for number, hint in enumerate(step.hints[:shown], start=1):
        st.info(literal(hint), icon=":material/lightbulb:", title=_("Hint {n}").format(n=number))


def mark(result: StepResult, step: Step) -> None:
    """What became of one step: right or wrong in word, symbol and colour, and the misconception by name."""
    share = _("{points} of {n}").format(points=points(float(result.points)), n=points_text(result.max_points))
    text = literal(result.feedback)
    if result.status is Status.SELF_CHECK:
        st.info(text or _("Nothing is graded here."), icon=":material/edit_note:")
    elif result.status is Status.UNANSWERED:
        st.info(_("Not answered: {share}.").format(share=share), icon=":material/remove:")
    elif result.status is Status.UNREADABLE:
        st.warning(text, icon=":material/edit:", title=_("This cannot be read as an answer"))
    elif result.good:
        st.success(f"{text} {share}.", icon=":material/check_circle:")
    else:
        known = misconceptions().get(result.misconception or "")
        partly = result.status is Status.PARTLY
        name = literal(known.name) if known else ""
        title = _("Partly right") if partly else _("Not right")
        show = st.warning if partly else st.error
        icon = ":material/indeterminate_check_box:" if partly else ":material/cancel:"
        show(f"{text} {share}.", icon=icon, title=f"{title}: {name}" if name else title)


# --- The solution -----------------------------------------------------------------------------------------------------


def solution(question: Question, key: str) -> None:
    """The right answers, the worked solution, and the picture. Only where a solution may be shown."""
    st.header(_("Solution"), anchor=False)
    for step in question.steps:
        if step.kind is Kind.SELF_CHECK:
            _model_answer(step)
        else:
            st.markdown(f"{literal(step.prompt)} **{literal(answer_text(step, step.answer))}**")
    show_parts(question.solution)
    picture(question, key)


def _model_answer(step: Step) -> None:
    st.markdown(f"**{literal(step.prompt)}**")
    if step.model_answer:
        st.markdown(_("One good answer: {text}").format(text=literal(step.model_answer)))
    if step.key_ideas:
        st.markdown(_("It mentions:"))
        st.markdown("\n".join(f"- {literal(idea.text)}" for idea in step.key_ideas))


def picture(question: Question, key: str) -> None:
    """The strip for a block, the number line for one token, the overlap for distributions."""
    block = _block(question.block)
    if block is not None:
        verified, judged = block
        if len(judged.positions) == 1:
            _line(judged, key)
        else:
            data = strip_data(verified, judged, len(steps(judged)) - 1, RANDOM, BOOK)
            token_strip(data, f"{key}_strip")
    if question.distributions:
        d = question.distributions
        vocabulary, p, q = list(d["vocabulary"]), [float(x) for x in d["p"]], [float(x) for x in d["q"]]
        chart(overlap(vocabulary, p, q, theme(), BOOK), f"{key}_overlap", overlap_text(vocabulary, p, q, BOOK))


def _block(plain: Mapping[str, Any] | None) -> tuple[tuple[Token, ...], Block] | None:
    """The question's block, judged; None where there is none or it has no numbers (what a draft sees needs none)."""
    if not plain or "q" not in plain:
        return None
    try:
        case = case_from_plain(dict(plain))
        return tuple(Token(text) for text in case.context), judge_case(case)
    except InvalidCase:
        return None


def _line(block: Block, key: str) -> None:
    x = block.positions[0]
    accepted = x.verdict is Verdict.ACCEPTED
    figure = number_line(min(1.0, x.ratio), x.r, accepted, (ratio(x.ratio), probability(x.r)), theme(), BOOK)
    chart(figure, f"{key}_line", position_sentence(x, x.t == block.first_rejected, RANDOM, BOOK))
