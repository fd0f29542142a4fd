"""The correction: after a rejection the next token comes from what p still lacks."""

from specdec_core.ui.shell import begin_page

begin_page("the_correction")

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from specdec_core.figures.laws import law_bars, law_text, residual_bars, residual_text
from specdec_core.figures.overlap import overlap, overlap_text
from specdec_core.lessons import correction as lesson
from specdec_core.lessons.correction import Correction
from specdec_core.lessons.recorded_positions import find, labels
from specdec_core.numbers import probability
from specdec_core.theory import all_accepted
from specdec_core.tokens import shown
from specdec_core.ui import lesson as ui
from specdec_core.ui.charts import chart
from specdec_core.ui.links import choice
from specdec_core.ui.literal import literal
from specdec_core.ui.pair_editor import pair_editor
from specdec_core.ui.part import part
from specdec_core.ui.shell import notation, theme
from specdec_core.words import _

N = notation()
TAU = 4
OWN, REAL = "own", "real"
recorded = labels(N)


def controls(picture: DeltaGenerator) -> Correction | None:
    """The numbers of the page: typed, or a recorded position's. None while they are unfinished, as ``picture`` says."""
    source = OWN
    if recorded:
        titles = {OWN: _("Numbers to change"), REAL: _("A real block")}
        source = choice(_("Numbers"), titles, "corr_from", label_visibility="collapsed")
    if source == REAL:
        position = find(choice(_("Position"), recorded, "corr_at", menu=True))
        return lesson.of_position(position) if position else None
    reading = pair_editor("corr", lesson.presets(), lesson.preset_title, N)
    if reading.pair is None and reading.numbers is not None:
        numbers = reading.numbers
        with picture:
            st.caption(_("The residual comes back as soon as both columns sum to 1."))
            p, q = numbers.p_array.tolist(), numbers.q_array.tolist()
            chart(overlap(numbers.tokens, p, q, theme(), N), "overlap", overlap_text(numbers.tokens, p, q, N))
    elif reading.pair is None:
        picture.caption(_("The picture comes back as soon as every field of the table holds a probability."))
    return None if reading.pair is None else lesson.of_pair(reading.pair)


def show_picture(x: Correction) -> None:
    """What is kept, cut and lacking; below it the lack, scaled to one."""
    tokens = [piece.token for piece in x.listed]
    p, q = [piece.p for piece in x.listed], [piece.q for piece in x.listed]
    chart(overlap(tokens, p, q, theme(), N, x.candidate), "overlap", overlap_text(tokens, p, q, N))
    if x.nothing_left:
        st.info(_("Nothing left to correct."), icon=":material/done_all:")
    else:
        chart(residual_bars(x, theme(), N), "residual", residual_text(x))
    st.markdown(literal(lesson.summary(x, N)))


def show_identity(x: Correction) -> None:
    """min(p, q) + (1 - alpha) residual = p, with the numbers of every token."""
    st.latex(lesson.identity_tex(N))
    alpha = _("α = {alpha}: the sum of the column “kept”.").format(alpha=probability(x.alpha))
    st.caption(alpha)
    table = {
        _("token"): [literal(piece.token if piece.others else shown(piece.token)) for piece in x.pieces],
        N.q: [probability(piece.q) for piece in x.pieces],
        N.p: [probability(piece.p) for piece in x.pieces],
        _("kept"): [probability(piece.kept) for piece in x.pieces],
        _("lack"): [probability(piece.lack) for piece in x.pieces],
        _("residual"): [probability(piece.residual) for piece in x.pieces],
        _("kept + (1 − α) residual"): [
            f"{probability(piece.kept)} + {probability(x.rejected)} · {probability(piece.residual)}"
            f" = {probability(x.back(piece))}"
            for piece in x.pieces
        ],
    }
    st.table(table, hide_index=True, alt=_("Per token: kept, lack, residual, and their sum"))
    st.download_button(
        _("These numbers as CSV"),
        lesson.to_csv(x),
        "correction.csv",
        "text/csv",
        key="csv",
        icon=":material/download:",
        type="tertiary",
        on_click="ignore",
    )


def show_wrong(x: Correction) -> None:
    """What comes out when something else is drawn."""
    ways = {"residual": _("From the residual"), "target": _("Again from {p}"), "argmax": _("Argmax of {p}")}
    titles = {name: title.format(p=N.p) for name, title in ways.items()}
    way = choice(_("After a rejection, draw"), titles, "corr_instead", "target")
    result = lesson.outcome(x, way)
    tokens, p = [piece.token for piece in x.pieces], [piece.p for piece in x.pieces]
    figure = law_bars(tokens, p, result.output, _("what comes out"), theme(), N)
    chart(figure, "outcome", law_text(tokens, p, result.output, N))
    st.markdown(literal(lesson.wrong_sentence(x, result, N)))


def explain_bonus(x: Correction) -> None:
    """What is drawn when nothing fell."""
    with ui.explanation(_("And when nothing falls: the bonus token")):
        st.markdown(
            _(
                "If all ${tau}$ candidates stay, the same target pass has scored one position more. The draft proposed"
                " nothing there, so there is no ${q}$ to make up for: the next token is drawn from ${p}$ itself."
                " A block always gives ${n_a} + 1$ tokens. With an α of {alpha} at every one of {n} positions, that"
                " happens in {share} of all blocks."
            ).format(
                **N.tex | {"alpha": probability(x.alpha)},
                n=TAU,
                share=probability(all_accepted(min(1.0, x.alpha), TAU)),
            )
        )


def tasks(x: Correction | None) -> list[ui.Task]:
    """Things to try, and whether what is on the screen does them."""
    again = None if x is None else lesson.outcome(x, "target")
    return [
        ui.Task(
            "equal",
            _("Change the table so that nothing is left to correct."),
            x is not None and x.nothing_left,
            _("{p} = {q} for every token: every ratio is 1, and no threshold from 0 to 1 lies above it.").format(
                p=N.p, q=N.q
            ),
        ),
        ui.Task(
            "one",
            _("Make the residual hold a single token, although some candidates stay."),
            x is not None and 0 < x.alpha < 1 and sum(piece.residual > 0 for piece in x.pieces) == 1,
            _("Only one token has {p} above {q}. There, taking the argmax of the residual would do no harm.").format(
                p=N.p, q=N.q
            ),
        ),
        ui.Task(
            "again",
            _("Find a table with {p} ≠ {q} for which drawing again from {p} does no harm.").format(p=N.p, q=N.q),
            x is not None and not x.nothing_left and again is not None and again.exact,
            _("Here the residual is {p} itself, so both ways draw from the same law.").format(p=N.p),
        ),
    ]


def body() -> None:
    """The table, and all that depends on it."""
    ui.question(_("A candidate fell. Which token takes its place?"))
    # Side by side, so that the table stays where it is while the picture changes.
    picture, table = st.columns([3, 2], gap="medium")
    with table:
        current = controls(picture)
    if current is not None:
        with picture:
            show_picture(current)
        with ui.explanation(_("Why this gives exactly {p}").format(p=N.p)):
            st.markdown(
                _(
                    "The kept candidates already bring part of every token's share: ${min}$. Drawn from the residual,"
                    " the corrections bring the part that is lacking, no more and no less."
                ).format(min=rf"\min({N.tex['p']}, {N.tex['q']})")
            )
        show_identity(current)
        with ui.explanation(_("What goes wrong otherwise")):
            part(lambda: show_wrong(current), "corr_wrong")
        explain_bonus(current)
    ui.try_this("the_correction", tasks(current))


part(body, "correction")
ui.sources(ui.BOOK_SOURCE, ui.LEVIATHAN_SOURCE, ui.CHEN_SOURCE)
ui.next_lesson("why_random")
