"""What the draft sees: the context of every candidate, and why the target needs one pass only."""

from specdec_core.ui.shell import begin_page

begin_page("what_the_draft_sees")

from collections.abc import Sequence

import streamlit as st

from specdec_core.figures.context import triangle
from specdec_core.figures.overlap import overlap, overlap_text
from specdec_core.lessons import context_examples, draft_context
from specdec_core.lessons.draft_context import DEFAULTS, MAX_CANDIDATES, Situation
from specdec_core.numbers import probability
from specdec_core.tokens import shown
from specdec_core.ui import lesson as ui
from specdec_core.ui.charts import chart
from specdec_core.ui.choices import several
from specdec_core.ui.context_view import context_view, filled_formula
from specdec_core.ui.links import check_link, choice, whole
from specdec_core.ui.literal import literal
from specdec_core.ui.part import part
from specdec_core.ui.shell import notation, theme
from specdec_core.words import _, ngettext

N = notation()
T = "ctx_t"
recorded = context_examples.load()
check_link(ctx_t=whole(1, MAX_CANDIDATES))


def ask_first() -> bool:
    """The worked example as a question. Returns whether it is answered right."""
    with st.expander(_("First a guess"), expanded=True, key="ctx_ask", bind="query-params"):
        st.markdown(
            literal(
                _(
                    "Input “{x}”, verified “The cat sat”, drafted so far “on”, “the”."
                    " What is the distribution of candidate 3 conditioned on? Choose all that count."
                ).format(x=draft_context.asked().x[0])
            )
        )
        labels = {name: literal(text) for name, text in draft_context.choices().items()}
        chosen = several(_("Candidate 3 sees"), labels, "ctx_sees")
        if st.toggle(_("Check my choice"), key="ctx_check", bind="query-params"):
            return _say(chosen)
    return False


def _say(chosen: Sequence[str]) -> bool:
    right = draft_context.right_choice(chosen)
    text = literal(draft_context.feedback(chosen))
    if right:
        st.success(text, icon=":material/check_circle:")
    else:
        st.info(text, icon=":material/help:")
    return right


def pick() -> None:
    """A clicked candidate becomes the position that is shown."""
    t = st.session_state["ctx_view"].picked
    if t is not None:
        st.session_state[T] = int(t)


def move(by: int, tau: int) -> None:
    st.session_state[T] = max(1, min(tau, int(st.session_state.get(T, 1)) + by))


def position(tau: int) -> int:
    """The t in use: the link's or the last one, as far as this block has it."""
    if T not in st.session_state:
        asked = st.query_params.get(T, "")
        st.session_state[T] = int(asked) if whole(1, MAX_CANDIDATES)(asked) else 1
    st.session_state[T] = max(1, min(tau, int(st.session_state[T])))
    return int(st.session_state[T])


def position_controls(t: int, tau: int) -> None:
    """Back, Next (also on the arrow keys), and the slider."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.button(
            _("Back"),
            key="ctx_back",
            icon=":material/arrow_back:",
            shortcut="Left",
            on_click=move,
            args=(-1, tau),
            disabled=t == 1,
        )
        st.button(
            _("Next"),
            key="ctx_next",
            icon=":material/arrow_forward:",
            type="primary",
            shortcut="Right",
            on_click=move,
            args=(1, tau),
            disabled=t == tau,
        )
        if tau > 1:
            st.slider(_("Candidate t"), 1, tau, key=T, bind="query-params", width=320)


def texts() -> Situation | None:
    """The three texts, typed."""
    left, middle, right = st.columns([3, 3, 4])
    x = left.text_input(_("Input"), DEFAULTS["x"], key="ctx_x", bind="query-params", max_chars=200)
    y = middle.text_input(_("Verified"), DEFAULTS["y"], key="ctx_y", bind="query-params", max_chars=200)
    c = right.text_input(
        _("Candidates, parted by blanks"), DEFAULTS["c"], key="ctx_c", bind="query-params", max_chars=200
    )
    situation, problems = draft_context.read(x or "", y or "", c or "")
    for problem in problems:
        st.error(literal(problem), icon=":material/edit:")
    return situation


def show_passes(situation: Situation, t: int) -> None:
    """The draft's passes and the target's one, side by side."""
    left, right = st.columns(2)
    with left:
        head = ngettext("Draft: {n} pass", "Draft: {n} passes, one after the other", situation.tau)
        st.markdown(f"**{literal(head.format(n=situation.tau))}**")
        chart(triangle(situation, t, False, theme(), N), "draft", draft_context.triangle_text(situation, False))
    with right:
        st.markdown(f"**{literal(_('Target: one pass for all {n} rows').format(n=situation.tau + 1))}**")
        chart(triangle(situation, t, True, theme(), N), "target", draft_context.triangle_text(situation, True))


def show_recorded() -> None:
    """A real draft with and without its own candidates in view."""
    titles = {f"{i}": f"{i}. {e.title}" for i, e in enumerate(recorded.examples, start=1)}
    example = recorded.examples[int(choice(_("Recorded example"), titles, "ctx_example", menu=True)) - 1]
    st.markdown(
        literal(
            _("Input “{x}”, verified “{y}”, drafted {own}. What does candidate {t} look like?").format(
                x=example.x,
                y=example.verified,
                own=", ".join(f"“{shown(c)}”" for c in example.candidates),
                t=len(example.candidates) + 1,
            )
        )
    )
    tokens, p = [x.token for x in example.top], [x.p for x in example.top]
    sides = (
        (_("Given everything: α = {alpha}"), [x.seen for x in example.top], example.alpha_seen, "seen"),
        (
            _("Given the verified tokens only: α = {alpha}"),
            [x.blind for x in example.top],
            example.alpha_blind,
            "blind",
        ),
    )
    for column, (head, q, alpha, key) in zip(st.columns(2), sides, strict=True):
        with column:
            st.markdown(f"**{literal(head.format(alpha=probability(alpha)))}**")
            chart(overlap(tokens, p, q, theme(), N), key, overlap_text(tokens, p, q, N))
    st.markdown(literal(context_examples.sentence(example, N)))
    st.caption(
        literal(
            _(
                "{tally} Shown are the likeliest tokens; α counts the whole vocabulary."
                " Draft: {draft}. Target: {target}."
            ).format(tally=context_examples.tally(recorded), draft=recorded.draft, target=recorded.target)
        )
    )


def tasks(situation: Situation | None, guessed: bool, t: int) -> list[ui.Task]:
    """Things to try, and whether what is on the screen does them."""
    changed = situation is not None and situation.candidates[0] != DEFAULTS["c"].split()[0]
    return [
        ui.Task(
            "guess",
            _("Answer the question at the top, and check your choice."),
            guessed,
            _("A candidate is drawn given all that came before it, verified or not."),
        ),
        ui.Task(
            "change",
            _("Replace the first candidate by another word, then go to a position whose distribution this changes."),
            changed and t >= 2,
            _(
                "Every later row has the new word in view; position 1 does not."
                " One bad guess leads the next ones astray."
            ),
        ),
        ui.Task(
            "six",
            _("Draft six candidates. How many passes does each model need?"),
            situation is not None and situation.tau == 6,
            _("Six of the draft, one of the target: that is where the time is won."),
        ),
    ]


def explain_passes() -> None:
    """Why one model takes many passes and the other one."""
    with ui.explanation(_("Why the draft needs many passes, and the target one")):
        st.markdown(
            _(
                "The draft cannot begin a row before the row above has given its token: ${tau}$ candidates take"
                " ${tau}$ passes. When the target comes, all candidates are there already. It computes every row in"
                " one pass; a mask lets each row see only what stands to its left, just as if it were written step by"
                " step. So ${p}$ and ${q}$ at position ${t}$ answer the same question and can be compared, and the last"
                " row gives the bonus token for nothing."
            ).format(**N.tex)
        )


def typed_part() -> None:
    """The question, the typed texts, and all that depends on them."""
    with first:
        ui.question(_("What does the draft know when it proposes candidate t?"))
        guessed = ask_first()
        picture = st.container()
        situation = texts()
        t = 1
        if situation is None:
            picture.caption(_("The picture comes back as soon as the texts below can be used."))
        else:
            t = position(situation.tau)
            with picture:
                context_view(situation, t, N, "ctx_view", pick)
                st.latex(draft_context.formula_tex(t, N))
                filled_formula(situation, t, N, "ctx_filled")
                st.markdown(literal(draft_context.sentence(situation, t, N)))
                position_controls(t, situation.tau)
            explain_passes()
            show_passes(situation, t)
    with last:
        ui.try_this("what_the_draft_sees", tasks(situation, guessed, t))


first, middle, last = st.container(), st.container(), st.container()
part(typed_part, "ctx_typed")
if recorded.examples:
    with middle:
        with ui.explanation(_("A real draft that ignores its own candidates")):
            st.markdown(
                _(
                    "Take the draft's own candidates away, and it can only answer the question of position 1 again."
                    " The answer is another distribution, and a worse one for the place it is meant for."
                )
            )
        part(show_recorded, "ctx_recorded")
ui.sources(ui.BOOK_SOURCE, ui.LEVIATHAN_SOURCE, ui.CHEN_SOURCE)
ui.next_lesson("the_correction")
