"""A trace on the screen: its text, one block step by step, a row per candidate, one candidate's distributions, totals.

The live page shows what was just made with it, the recorded and uploaded traces too: one way for all.

Does not know: whether models are running.
"""

import streamlit as st

from specdec_core.figures.overlap import overlap_of, overlap_text
from specdec_core.numbers import probability
from specdec_core.steps import cards, verdict_sentence, verdict_word
from specdec_core.tables import blocks_to_csv
from specdec_core.tokens import shown
from specdec_core.trace import Block, Position, Settings, Totals, Trace, totals, trace_to_json
from specdec_core.ui.charts import chart
from specdec_core.ui.exercise_block import question_link
from specdec_core.ui.links import whole_field
from specdec_core.ui.literal import literal
from specdec_core.ui.shell import notation, theme
from specdec_core.ui.stepper import step_fragment, stepper
from specdec_core.ui.text_flow import text_flow
from specdec_core.words import Notation, _, ngettext

BLOCK, STEP, PICKED = "block", "step", "candidate"


def show_trace(trace: Trace, key: str) -> None:
    """Everything about ``trace``. ``key`` makes widget keys unique; block and step are in the address."""
    index = _chosen(len(trace.blocks))

    def pick() -> None:
        picked = st.session_state[f"{key}_flow"].picked
        if picked is not None:
            _go(int(picked))

    text_flow(trace.prompt, trace.blocks, f"{key}_flow", index, pick)
    block = trace.blocks[index]
    _block_line(block, len(trace.blocks))
    question_link(block, trace.verified_before(index))

    def body() -> None:
        cursor = stepper(
            trace.verified_before(index),
            block,
            trace.settings.acceptance,
            notation(),
            key=STEP,
            default=-1,
            picked=PICKED,
        )
        _candidates(block, cursor, trace.settings, key)

    step_fragment(body, STEP)
    show_totals(totals(trace.blocks), notation())
    downloads(trace, key)


def _chosen(n: int) -> int:
    """The block in view: the one in the address or the session, clipped to what there is. The last one at first."""
    if BLOCK not in st.session_state:
        asked = st.query_params.get(BLOCK, "")
        st.session_state[BLOCK] = int(asked) if asked.isdecimal() and len(asked) < 6 else 1
    st.session_state[BLOCK] = max(1, min(n, int(st.session_state[BLOCK])))
    return int(st.session_state[BLOCK]) - 1


def _go(index: int) -> None:
    st.session_state[BLOCK] = index + 1
    st.session_state[STEP] = 0
    st.session_state[PICKED] = None


def _block_line(block: Block, n: int) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        whole_field(
            _("Block, of {n}").format(n=n),
            1,
            max(1, n),
            key=BLOCK,
            on_change=_go_typed,
            width=140,
        )
        st.button(
            _("Previous block"),
            icon=":material/chevron_left:",
            on_click=_go,
            args=(block.index - 1,),
            disabled=block.index == 0,
            shortcut="PageUp",
        )
        st.button(
            _("Next block"),
            icon=":material/chevron_right:",
            on_click=_go,
            args=(block.index + 1,),
            disabled=block.index + 1 >= n,
            shortcut="PageDown",
        )


def _go_typed() -> None:
    st.session_state[STEP] = 0
    st.session_state[PICKED] = None


def _candidates(block: Block, cursor: int, settings: Settings, key: str) -> None:
    """A row per candidate as known at the cursor, and the distributions of the one that was clicked."""
    n = notation()
    known = cards(block, cursor)
    table(known_rows(block, cursor, n), key)
    picked = st.session_state.get(PICKED)
    chosen = next((c for c in known if c.position.t == picked), None)
    if chosen is None:
        st.caption(_("Click a candidate above to see its most likely tokens under {q} and {p}.").format(q=n.q, p=n.p))
    elif not chosen.shows_p:
        st.caption(_("The target has not scored this candidate yet; go on to Verify."))
    else:
        position_detail(chosen.position, settings, n, f"{key}_detail", judged=chosen.shows_r)


def known_rows(block: Block, cursor: int, n: Notation) -> list[dict[str, object]]:
    """One row per drafted candidate; numbers that are not known at the cursor are None."""
    rows: list[dict[str, object]] = []
    for c in cards(block, cursor):
        x = c.position
        if c.state.value == "hidden":
            continue
        rows.append(
            {
                "t": x.t,
                _("token"): shown(x.token.text),
                n.q: x.q,
                n.p: x.p if c.shows_p else None,
                f"{n.p}/{n.q}": x.ratio if c.shows_p else None,
                n.r: x.r if c.shows_r else None,
                _("verdict"): (_("first rejected") if c.first_rejected else verdict_word(x.verdict))
                if c.state.value in ("accepted", "rejected", "not reached")
                else "",
            }
        )
    return rows


def table(rows: list[dict[str, object]], key: str) -> None:
    """Rows as a table: four significant digits, so that what is small is not shown as 0, and full precision behind."""
    if not rows:
        return
    numbers = [name for name in rows[0] if name not in ("t", _("token"), _("verdict"))]
    st.dataframe(
        {name: [row[name] for row in rows] for name in rows[0]},
        hide_index=True,
        placeholder="",
        key=f"{key}_table",
        alt=_("One row per candidate with its probabilities, its draw and its verdict"),
        column_config={name: st.column_config.NumberColumn(format="%.4g") for name in numbers},
    )


def position_detail(x: Position, settings: Settings, n: Notation, key: str, judged: bool) -> None:
    """What draft and target thought at one position: overlap, residual, and how often the rule keeps a token here."""
    token = literal(shown(x.token.text))
    st.header(_("Position {t}: {token}").format(t=x.t, token=token), anchor=False)
    if judged:
        st.markdown(literal(verdict_sentence(x, settings.acceptance, n)))
    if not x.top:
        st.caption(_("This trace holds no distributions for the position."))
        return
    left, right = st.columns([3, 2])
    with left:
        alt = overlap_text([y.token.text for y in x.top], [y.p for y in x.top], [y.q for y in x.top], n)
        chart(overlap_of(x.top, theme(), n, x.token.id), key, alt)
    with right:
        if x.alpha is not None:
            st.metric(
                _("Chance that a candidate stays here, α"),
                probability(x.alpha),
                help=_("The sum of min({p}, {q}) over all tokens, for the random rule.").format(p=n.p, q=n.q),
            )
        rest = 1 - sum(y.p for y in x.top), 1 - sum(y.q for y in x.top)
        st.caption(
            _("All other tokens together: {q} {b}, {p} {a}.").format(
                q=n.q, b=probability(max(0.0, rest[1])), p=n.p, a=probability(max(0.0, rest[0]))
            )
        )
        st.dataframe(
            {
                _("token"): [shown(y.token.text) for y in x.top],
                n.q: [y.q for y in x.top],
                n.p: [y.p for y in x.top],
                _("residual"): [y.residual for y in x.top],
            },
            hide_index=True,
            height=260,
            key=f"{key}_top",
            alt=_("The most likely tokens with draft, target and residual probability"),
            column_config={name: st.column_config.NumberColumn(format="%.4g") for name in (n.q, n.p, _("residual"))},
        )


def show_totals(t: Totals, n: Notation) -> None:
    """Running totals. Three rates that people mix up stand side by side, each with its denominator."""
    with st.container(horizontal=True):
        st.metric(_("Blocks"), f"{t.blocks}", border=True, height="stretch")
        st.metric(
            _("Accepted / judged"),
            f"{t.accepted} / {t.judged}",
            f"{t.accepted_per_judged:.2f}",
            delta_color="off",
            delta_arrow="off",
            border=True,
            height="stretch",
            help=_("Judged are the accepted candidates and the first rejected one of each block."),
        )
        st.metric(
            _("Accepted / drafted"),
            f"{t.accepted} / {t.drafted}",
            f"{t.accepted_per_drafted:.2f}",
            delta_color="off",
            delta_arrow="off",
            border=True,
            height="stretch",
            help=_("Drafted includes the candidates that were not reached."),
        )
        st.metric(
            _("Tokens per block"),
            f"{t.tokens_per_block:.2f}",
            border=True,
            height="stretch",
            help=_("What one target pass gives on average: {n_a} + 1.").format(n_a=n.n_a),
        )
        st.metric(_("Target passes saved"), f"{t.passes_saved}", border=True, height="stretch")
    if t.seconds and t.blocks:
        parts = [
            (_("draft"), "draft"),
            (_("verify"), "verify"),
            (_("judge"), "judge"),
            (_("correct"), "correct"),
            (_("record"), "record"),
        ]
        text = ", ".join(f"{name} {1000 * t.seconds[k] / t.blocks:.1f} ms" for name, k in parts if k in t.seconds)
        st.caption(_("Time per block: {parts}.").format(parts=text))


def downloads(trace: Trace, key: str) -> None:
    """The trace as JSON (can be uploaded again) and its candidates as CSV."""
    with st.container(horizontal=True):
        st.download_button(
            _("Trace (JSON)"),
            lambda: trace_to_json(trace),
            "trace.json",
            "application/json",
            icon=":material/download:",
            key=f"{key}_json",
            on_click="ignore",
        )
        st.download_button(
            _("Candidates (CSV)"),
            lambda: "\ufeff" + blocks_to_csv(trace.blocks),
            "candidates.csv",
            "text/csv",
            icon=":material/table:",
            key=f"{key}_csv",
            on_click="ignore",
        )
    st.caption(describe_models(trace))


def describe_models(trace: Trace) -> str:
    """Which models made the trace, on what."""
    return _("Draft: {draft}. Target: {target}.").format(
        draft=literal(_model(trace.draft.name, trace.draft.device, trace.draft.dtype)),
        target=literal(_model(trace.target.name, trace.target.device, trace.target.dtype)),
    )


def _model(name: str, device: str, dtype: str) -> str:
    return f"{name} ({device}, {dtype})"


def summary(n: int) -> str:
    """How many blocks there are, in words."""
    return ngettext("{n} block", "{n} blocks", n).format(n=n)
