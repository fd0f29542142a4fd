"""Why random? The same candidates under a random threshold and under a fixed one."""

from specdec_core.ui.shell import begin_page

begin_page("why_random")

import streamlit as st

from specdec_core.figures.laws import candidates, candidates_text, law_bars, law_text
from specdec_core.lessons import why_random as lesson
from specdec_core.lessons.why_random import SAMPLES, Comparison, compare, samples
from specdec_core.numbers import probability
from specdec_core.tokens import shown
from specdec_core.ui import lesson as ui
from specdec_core.ui.charts import chart
from specdec_core.ui.links import check_link, number, whole, whole_field
from specdec_core.ui.literal import literal
from specdec_core.ui.pair_editor import pair_editor
from specdec_core.ui.part import part
from specdec_core.ui.shell import notation, theme
from specdec_core.words import _, ngettext

N = notation()
LAST_SEED = 9999
check_link(why_c=number(0, 1), why_seed=whole(0, LAST_SEED))


def show_laws(x: Comparison) -> None:
    """What comes out under each rule, beside p."""
    tokens, p = list(x.pair.tokens), [row.p for row in x.rows]
    out = [row.fixed for row in x.rows]
    most = max([*p, *out])  # one scale on both sides
    random = x.random.output.tolist()
    head = _("A random threshold, {r} from U(0,1): total variation from {p} is 0, whatever the table says.")
    st.markdown(literal(head.format(r=N.r, p=N.p)))
    figure = law_bars(tokens, p, random, _("what comes out"), theme(), N, most)
    chart(figure, "random_law", law_text(tokens, p, random, N))
    head = _("A fixed threshold, c = {c}: total variation from {p} is {tv}.")
    tv = probability(0.0 if x.exact else x.fixed.tv)
    st.markdown(literal(head.format(c=f"{x.c:g}", p=N.p, tv=tv)))
    figure = law_bars(tokens, p, out, _("what comes out"), theme(), N, most)
    chart(figure, "fixed_law", law_text(tokens, p, out, N))


def show_fates(x: Comparison) -> None:
    """Who is kept and who is thrown away, token by token, in words."""
    table = {
        _("token"): [literal(shown(row.token)) for row in x.rows],
        N.q: [probability(row.q) for row in x.rows],
        N.p: [probability(row.p) for row in x.rows],
        f"{N.p}/{N.q}": [lesson.ratio_words(row) for row in x.rows],
        _("under {r}").format(r=N.r): [lesson.random_words(row) for row in x.rows],
        _("under c = {c}").format(c=f"{x.c:g}"): [lesson.fixed_words(row) for row in x.rows],
        _("comes out"): [probability(row.fixed) for row in x.rows],
    }
    st.table(table, hide_index=True, alt=_("Per token: what both thresholds do to it, and how often it comes out"))
    st.download_button(
        _("These numbers as CSV"),
        lesson.to_csv(x),
        "why_random.csv",
        "text/csv",
        key="csv",
        icon=":material/download:",
        type="tertiary",
        on_click="ignore",
    )


def show_candidates(x: Comparison, seed: int) -> None:
    """The same drafted candidates under both rules."""
    drawn = samples(x, seed)
    left, right = st.columns(2)
    for column, fixed in ((left, False), (right, True)):
        kept = sum(s.fixed_keeps if fixed else s.random_keeps for s in drawn)
        head = (
            ngettext("Fixed: {n} of {all} stays", "Fixed: {n} of {all} stay", kept)
            if fixed
            else ngettext("Random: {n} of {all} stays", "Random: {n} of {all} stay", kept)
        )
        with column:
            st.markdown(f"**{literal(head.format(n=kept, all=len(drawn)))}**")
            key = "fixed_candidates" if fixed else "random_candidates"
            chart(candidates(drawn, x, fixed, theme(), N), key, candidates_text(drawn, x, fixed))


def redraw() -> None:
    """Other candidates: the next seed."""
    st.session_state["why_seed"] = (int(st.session_state.get("why_seed", 0)) + 1) % (LAST_SEED + 1)


def judged_twice(x: Comparison) -> None:
    """The seed, and the candidates that it draws."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        ui.begin_number("why_seed", 0, 0, LAST_SEED)
        seed = whole_field(
            _("Seed"),
            0,
            LAST_SEED,
            key="why_seed",
            width=160,
            help=_("The same seed, the same candidates."),
        )
        st.button(_("Draw others"), key="redraw", icon=":material/casino:", on_click=redraw)
    show_candidates(x, seed)


def tasks(x: Comparison | None) -> list[ui.Task]:
    """Things to try, and whether what is on the screen does them."""
    return [
        ui.Task(
            "draft",
            _("Find a threshold that lets the draft's text through unchanged, although {p} ≠ {q}.").format(
                p=N.p, q=N.q
            ),
            x is not None and not x.exact and x.keeps_all,
            _("Every {p}/{q} reaches c, so the target never says no.").format(p=N.p, q=N.q),
        ),
        ui.Task(
            "lost",
            _("Make two tokens vanish that the target would allow."),
            x is not None and len(x.vanished) >= 2,
            _(
                "Both have {p}/{q} below c. The random rule would keep them now and then, which is what {p} asks for."
            ).format(p=N.p, q=N.q),
        ),
        ui.Task(
            "exact",
            _("Find a table with {p} ≠ {q} for which c does no harm at all.").format(p=N.p, q=N.q),
            x is not None and x.exact and x.pair.p != x.pair.q,
            _("Every {p}/{q} is 0 or at least 1: chance has nothing to decide.").format(p=N.p, q=N.q),
        ),
    ]


def body() -> None:
    """The table and the threshold, and all that depends on them."""
    ui.question(_("Why a random number? Why not simply keep every candidate with {p}/{q} ≥ 0.5?").format(p=N.p, q=N.q))
    # Side by side, so that the table stays where it is while the picture changes.
    picture, table = st.columns([3, 2], gap="medium")
    with table:
        c = st.slider(_("Fixed threshold c"), 0.0, 1.0, 0.5, 0.01, key="why_c", bind="query-params")
        reading = pair_editor("why", lesson.presets(), lesson.preset_title, N)
    current = None if reading.pair is None else compare(reading.pair, round(float(c), 2))
    if current is None:
        picture.caption(_("The picture comes back as soon as both columns of the table are distributions."))
    else:
        with picture:
            show_laws(current)
            st.info(literal(lesson.conclusion(current, N)), icon=":material/lightbulb:")
        with ui.explanation(_("Who is kept, who is thrown away")):
            st.markdown(
                _(
                    "To come out with ${p}(x)$, a token that the draft proposes too often must stay in a share"
                    " ${p}(x)/{q}(x)$ of its turns. A threshold that is drawn anew from $U(0,1)$ does that:"
                    " it lies at or below ${p}/{q}$ with just that probability. A fixed one keeps the token"
                    " every time or never."
                ).format(**N.tex)
            )
        show_fates(current)
        st.markdown(literal(lesson.best_words(current, N)))
        with ui.explanation(_("{n} candidates, judged twice").format(n=SAMPLES)):
            st.markdown(
                _(
                    "Both sides see the same candidates, drawn from ${q}$. A bar reaches ${p}/{q}$, at most 1;"
                    " the candidate stays when its mark lies inside the bar or at its end."
                ).format(**N.tex)
            )
        part(lambda: judged_twice(current), "why_judged")
    ui.try_this("why_random", tasks(current))


part(body, "why")
ui.sources(ui.BOOK_SOURCE, ui.LEVIATHAN_SOURCE, ui.CHEN_SOURCE)
ui.next_lesson("bias_lab")
