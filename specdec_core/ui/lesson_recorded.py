"""Real numbers in lesson 1: one candidate of a recorded block on the same number line.

Does not know: how traces are recorded.
"""

import streamlit as st

from specdec_core.acceptance import Verdict
from specdec_core.figures.number_line import number_line
from specdec_core.models import recorded
from specdec_core.numbers import probability, ratio
from specdec_core.steps import position_sentence, verdict_sentence
from specdec_core.tokens import context, shown
from specdec_core.trace import Trace
from specdec_core.ui.charts import chart
from specdec_core.ui.links import check_link, choice, whole, whole_field
from specdec_core.ui.literal import literal
from specdec_core.ui.shell import notation, theme
from specdec_core.words import Notation, _


@st.cache_data(max_entries=8, show_spinner=False)
def random_traces(names: tuple[str, ...]) -> list[tuple[str, str]]:
    """Name and title of the recorded traces among ``names`` that were decided by r."""
    out = []
    for name in names:
        trace = recorded.load(name)
        if trace.settings.acceptance.exact and trace.blocks:
            out.append((name, trace.title or context(trace.prompt, 48)))
    return out


def choose_block(key: str) -> tuple[Trace, int] | None:
    """Controls that choose a recorded block, bound to the address. None where nothing was recorded."""
    known = dict(random_traces(tuple(recorded.names())))
    if not known:
        return None
    text_key, block_key = f"{key}_text", f"{key}_block"
    check_link(**{block_key: whole(1, 4096)})
    titles = {name: shown(title, 60) for name, title in known.items()}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = choice(_("Recorded text"), titles, text_key, menu=True, width=420)
        trace = recorded.load(name)
        last = len(trace.blocks)
        if last > 1:
            block = whole_field(_("Block, 1 to {last}").format(last=last), 1, last, key=block_key, width=140)
        else:
            block = 1
    return trace, block - 1


def real_token(n: Notation) -> None:
    """The same thing for a candidate that a real draft proposed and a real target judged."""
    if not random_traces(tuple(recorded.names())):
        return
    st.header(_("The same on a recorded real token"), anchor=False)
    chosen = choose_block("real")
    if chosen is None:
        return
    trace, index = chosen
    block = trace.blocks[index]
    tokens = {str(x.t): f"{x.t}: {literal(shown(x.token.text))}" for x in block.positions}
    t = choice(_("Candidate"), tokens, "real_t")
    x = block.positions[int(t) - 1]
    before = context([*trace.verified_before(index), *(c.token for c in block.positions[: x.t - 1])], 90)
    st.markdown(_("After: {text}").format(text=f"**{literal(before.strip())}**"))
    accepted = x.verdict is not Verdict.REJECTED and x.level <= x.ratio and x.p > 0
    figure = number_line(min(1.0, x.ratio), x.r, accepted, (ratio(x.ratio), probability(x.r)), theme(), notation())
    sentence = verdict_sentence(x, trace.settings.acceptance, n)
    chart(figure, "real_line", position_sentence(x, x.t == block.first_rejected, trace.settings.acceptance, n))
    st.markdown(literal(sentence))
