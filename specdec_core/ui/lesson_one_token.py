"""Lesson 1 on the screen: typed q, p and r, the number line, the verdict, and many draws.

State: q, p and r are texts in the address; the draws are a seed and a count. Everything else follows from these.

Does not know: how a verdict is found (``specdec_core.lessons.one_token`` does).
"""

from fractions import Fraction

import streamlit as st

from specdec_core.figures.number_line import number_line, running_share
from specdec_core.lessons import one_token as core
from specdec_core.lessons.one_token import OneToken
from specdec_core.lessons.typed import read_probability, written
from specdec_core.ui.charts import chart
from specdec_core.ui.lesson import (
    BOOK_SOURCE,
    CHEN_SOURCE,
    LEVIATHAN_SOURCE,
    Task,
    begin_number,
    explanation,
    next_lesson,
    probability_field,
    question,
    sources,
    try_this,
)
from specdec_core.ui.lesson_recorded import real_token
from specdec_core.ui.links import check_link, whole, whole_field
from specdec_core.ui.literal import literal
from specdec_core.ui.part import part
from specdec_core.ui.shell import notation, theme
from specdec_core.words import Notation, _

DEFAULTS = {"q": "0.8", "p": "0.6", "r": "0.7"}
MAX_SEED = 2**32 - 1


def lesson() -> None:
    """The whole page below its title."""
    n = notation()
    part(lambda: _by_hand(n), "one_token")
    part(lambda: real_token(n), "one_token_real")
    next_lesson("one_block")
    sources(BOOK_SOURCE, LEVIATHAN_SOURCE, CHEN_SOURCE)


def _by_hand(n: Notation) -> None:
    """What q, p and r decide, with everything that depends on them."""
    check_link(draws=whole(0, core.MAX_DRAWS), draw_seed=whole(0, MAX_SEED))
    question(
        _("The draft proposes a token. It gives it {q}, the target gives it {p}. Does it stay?").format(q=n.q, p=n.p)
    )
    picture = st.container()
    x = _controls(n)
    count, seed = _draw_controls(n)
    with picture:
        _picture(x, count, seed, n)
    if x is not None:
        _settling(x, count, seed, n)
    _explanation(x, n)
    try_this("one_token", _tasks(x, count, n))


# --- The three numbers ----------------------------------------------------------------------------------------------


def _controls(n: Notation) -> OneToken | None:
    """Fields and sliders for q, p and r. None while one of them cannot be used."""
    names = {
        "q": (_("Draft, {q}").format(q=n.q), n.q, _("How likely the draft finds this token.")),
        "p": (_("Target, {p}").format(p=n.p), n.p, _("How likely the target finds the same token, in the same place.")),
        "r": (_("Draw, {r}").format(r=n.r), n.r, _("Drawn anew from 0 to 1 for every candidate.")),
    }
    values: dict[str, Fraction | None] = {}
    for key, column in zip(names, st.columns(3), strict=True):
        label, symbol, help_text = names[key]
        with column:
            values[key] = probability_field(
                label, key, DEFAULTS[key], symbol, help_text, _drafted(n) if key == "q" else None
            )
            _slider(key, label)
    q, p, r = values["q"], values["p"], values["r"]
    return None if q is None or p is None or r is None else OneToken(q, p, r)


def _drafted(n: Notation):  # type: ignore[no-untyped-def]
    text = _("{q} = 0: a token that the draft gives no chance cannot have been proposed. Type a number above 0.")
    return lambda value: text.format(q=n.q) if value == 0 else ""


def _slider(key: str, label: str) -> None:
    """The same number to pull at. It writes into the field; where the field holds no number it rests."""
    value, _problem = read_probability(str(st.session_state.get(key, "")), key)
    slide = f"{key}_slider"
    st.session_state[slide] = float(value) if value is not None else 0.0

    def moved() -> None:
        st.session_state[key] = f"{st.session_state[slide]:.2f}".rstrip("0").rstrip(".")

    st.slider(
        label,
        0.0,
        1.0,
        step=0.01,
        key=slide,
        label_visibility="collapsed",
        on_change=moved,
        disabled=value is None,
    )


# --- Drawing --------------------------------------------------------------------------------------------------------


def _draw(k: int) -> None:
    count = min(core.MAX_DRAWS, int(st.session_state.get("draws", 0)) + k)
    st.session_state["draws"] = count
    st.session_state["r"] = core.draw_text(core.draws(int(st.session_state.get("draw_seed", 1)), count)[-1])


def _forget() -> None:
    st.session_state["draws"] = 0


def _draw_controls(n: Notation) -> tuple[int, int]:
    """Buttons that draw, with the seed and the count they stand for. Returns count and seed."""
    begin_number("draws", 0, 0, core.MAX_DRAWS)
    begin_number("draw_seed", 1, 0, MAX_SEED)
    full = int(st.session_state["draws"] or 0) >= core.MAX_DRAWS
    with st.container(horizontal=True, vertical_alignment="bottom", key="draw_controls"):
        st.button(
            _("Draw {r}").format(r=n.r),
            icon=":material/casino:",
            key="draw_one",
            shortcut="D",
            type="primary",
            on_click=_draw,
            args=(1,),
            disabled=full,
        )
        st.button(
            _("Draw 100 times"), icon=":material/grain:", key="draw_many", on_click=_draw, args=(100,), disabled=full
        )
        st.button(_("Clear"), icon=":material/delete_sweep:", key="draw_clear", on_click=_forget)
        count = whole_field(_("Draws"), 0, core.MAX_DRAWS, key="draws", width=130)
        seed = whole_field(
            _("Seed"),
            0,
            MAX_SEED,
            key="draw_seed",
            width=130,
            help=_("The same seed gives the same draws, each rounded to four decimals."),
        )
    if full:
        st.caption(_("{n} draws are enough for one picture. Clear them to begin again.").format(n=core.MAX_DRAWS))
    return count, seed


# --- What is seen ---------------------------------------------------------------------------------------------------


def _picture(x: OneToken | None, count: int, seed: int, n: Notation) -> None:
    if x is None:
        st.info(_("The number line comes back when all three fields hold numbers that can be used."))
        return
    ticks = core.draws(seed, count)
    kept = core.stays(x.q, x.p, ticks)
    shown = ((ticks / core.GRID).tolist(), kept.tolist()) if count else None
    labels = ("" if core.is_short(x.ratio) else "≈ ") + written(x.ratio), written(x.r)
    figure = number_line(float(x.bar), float(x.r), x.accepted, labels, theme(), n, shown)
    chart(figure, "number_line", core.picture_words(x, n, kept))
    word = _("Accepted.") if x.accepted else _("Rejected.")
    icon = ":material/check:" if x.accepted else ":material/close:"
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="one_token_verdict"):
        st.markdown(f"$\\Large {core.arithmetic(x, n)}$", width="content")
        st.markdown(f"$\\Large {core.comparison(x, n)}$", width="content")
        st.markdown(f"{icon} **{word}** {literal(core.verdict_words(x, n))}")


def _settling(x: OneToken, count: int, seed: int, n: Notation) -> None:
    if not count:
        return
    kept = core.stays(x.q, x.p, core.draws(seed, count))
    share = core.running_frequency(kept)
    words = _("{kept} of {count} draws accepted: {share}. The line is at min(1, {p}/{q}) = {bar}.").format(
        kept=int(kept.sum()), count=count, share=f"{share[-1]:.3f}", p=n.p, q=n.q, bar=written(x.bar)
    )
    st.markdown(f"**{literal(words)}**")
    chart(running_share(share.tolist(), float(x.bar), theme(), n), "running_share", words)


def _explanation(x: OneToken | None, n: Notation) -> None:
    with explanation():
        st.markdown(
            _(
                "The token is **rejected when ${r} > {p}/{q}$**. So it stays with probability $\\min(1, {p}/{q})$:"
                " the length of the bar."
            ).format(**n.tex)
        )
        if x is not None:
            st.markdown(literal(core.chance_words(x, n)))
        st.markdown(
            _("Every candidate gets its own fresh ${r}$. It is not drawn once for a block, and it is not 0.5.").format(
                **n.tex
            )
        )


def _tasks(x: OneToken | None, count: int, n: Notation) -> list[Task]:
    names = {"q": n.q, "p": n.p, "r": n.r}
    usable = x is not None
    return [
        Task(
            "reject",
            _("Make it reject, by changing {r} only. How far must {r} go?").format(**names),
            x is not None and not x.accepted,
            _("It has to pass the end of the bar, {p}/{q}.").format(**names),
        ),
        Task(
            "never",
            _("Find {q} and {p} with which it can never reject.").format(**names),
            x is not None and x.ratio >= 1,
            _("Whenever {p} is at least {q}: the target likes the token no less than the draft does.").format(**names),
        ),
        Task(
            "tie",
            _("Where does the tie go? Set {r} to exactly {p}/{q}.").format(**names),
            x is not None and x.tie and x.p > 0,
            _("A tie accepts: only {r} above {p}/{q} rejects.").format(**names),
        ),
        Task(
            "settle",
            _("Guess how many of 100 draws will be accepted, then draw 100 times."),
            usable and count >= 100,
            _("The share settles at min(1, {p}/{q}), wherever single draws fall.").format(**names),
        ),
    ]
