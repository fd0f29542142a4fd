"""What alpha, tau and the cost of a draft step come to: the speed-up's landscape, the time of a block, run and formula.

Formulas: Leviathan et al. 2023, theorem 3.8 (speed-up) and equation 1 (tokens per block); see ``theory``.

Does not know: streamlit, clocks, models.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import plotly.graph_objects as go

from specdec_core.distributions import Array
from specdec_core.figures.drawing import Drawing
from specdec_core.figures.palette import Theme, colours, layout
from specdec_core.figures.rules import axis_title
from specdec_core.theory import best_tau, expected_tokens, speed_up
from specdec_core.words import BOOK, Notation, _

# --- the landscape ---------------------------------------------------------------------------------------------------


def speed_map(
    cost: float,
    theme: Theme,
    here: tuple[float, int] | None = None,
    highest: int = 16,
    notation: Notation = BOOK,
    name: str = "",
) -> go.Figure:
    """Speed-up over alpha and tau for one ``cost`` (a draft step over a target pass).

    A thick line parts gain from loss (break-even), a dotted one joins the best tau of each alpha. here: the (alpha,
    tau) of a run, marked; name: what the legend says of it, with a place for {gain}.
    """
    c = colours(theme)
    alphas, taus = _ALPHAS, np.arange(1, highest + 1)
    gains = _gains(cost, highest)
    gain = gains[1:]
    drawing = Drawing()
    hover = f"α = %{{x:.2f}}, {notation.tau} = %{{y}}: × %{{z:.2f}}<extra></extra>"
    drawing.add_heatmap(
        x=alphas, y=taus, z=np.log2(gain), customdata=gain, zmid=0, zmin=-2, zmax=2, colorscale=_scale(theme),
        hovertemplate=hover.replace("%{z:.2f}", "%{customdata:.2f}"), colorbar=_colour_bar(c), zsmooth=False,
    )  # fmt: skip
    _add_levels(drawing, alphas, taus, gain, c)
    best = gains.argmax(axis=0)  # the smaller tau on a tie, 0 for plain decoding: ``theory.best_tau``
    drawing.add_scatter(
        x=alphas[best > 0].tolist(), y=best[best > 0].tolist(), mode="lines",
        name=_("best {tau}").format(tau=notation.tau), hoverinfo="skip",
        line={"color": c["ink"], "width": 3, "dash": "dot", "shape": "hv"},
    )  # fmt: skip
    if here is not None:
        drawing.add_scatter(
            x=[here[0]], y=[here[1]], mode="markers", cliponaxis=False,
            name=(name or _("this run: × {gain}")).format(gain=f"{speed_up(here[0], here[1], cost):.2f}"),
            marker={"symbol": "star", "size": 20, "color": c["background"], "line": {"width": 2, "color": c["ink"]}},
        )  # fmt: skip
    return drawing.figure(
        layout(
            theme,
            height=480,
            xaxis={"title": axis_title(_("acceptance rate α"), theme), "range": [0, 1], "showgrid": False},
            yaxis={
                "title": axis_title(_("candidates per block, {tau}").format(tau=notation.tau), theme),
                "range": [0.5, highest + 0.5],
                "showgrid": False,
                "tickvals": [t for t in (1, 2, 4, 6, 8, 10, 12, 14, 16) if t <= highest],
            },
        )
    )


_ALPHAS = np.round(np.linspace(0, 1, 101), 2)


def _gains(cost: float, highest: int) -> Array:
    """``theory.speed_up`` for tau = 0 ... highest (rows) and every alpha of the map (columns)."""
    if not cost >= 0:
        raise ValueError(f"cost must be 0 or more, not {cost:g}.")
    return _expected(highest) / (np.arange(highest + 1) * cost + 1.0)[:, None]


@lru_cache(maxsize=4)
def _expected(highest: int) -> Array:
    """The part of ``_gains`` that knows no cost: it is drawn again for each, and 1,700 sums take their time."""
    found = np.array([[expected_tokens(a, tau) for a in _ALPHAS.tolist()] for tau in range(highest + 1)])
    found.setflags(write=False)
    return found


def _scale(theme: Theme) -> list[list[object]]:
    """Orange is slower, blue is faster, the middle is as fast as plain decoding: told apart by every kind of eye."""
    if theme == "dark":
        return [[0, "#b3541e"], [0.5, "#20262e"], [1, "#2f8fd0"]]
    return [[0, "#d9772f"], [0.5, "#f7f7f5"], [1, "#3a94cc"]]


def _colour_bar(c: dict[str, str]) -> dict[str, object]:
    return {
        "title": {"text": _("speed-up"), "font": {"size": 14, "color": c["soft"]}, "side": "top"},
        "tickvals": [-2, -1, 0, 1, 2],
        "ticktext": ["× ¼", "× ½", "× 1", "× 2", "× 4"],
        "tickfont": {"size": 14, "color": c["ink"]},
        "thickness": 12,
        "outlinewidth": 0,
    }


def _add_levels(drawing: Drawing, alphas: np.ndarray, taus: np.ndarray, gain: np.ndarray, c: dict[str, str]) -> None:
    for level, width in ((1.0, 4), (1.5, 1.5), (2.0, 1.5), (3.0, 1.5), (5.0, 1.5)):
        if not gain.min() < level < gain.max():
            continue
        drawing.add_contour(
            x=alphas, y=taus, z=gain, showscale=False, hoverinfo="skip", ncontours=1,
            contours={
                "start": level, "end": level, "size": 1, "coloring": "none", "showlabels": True,
                "labelfont": {"size": 14, "color": c["ink"]}, "labelformat": ".2~f",
            },
            line={"color": c["ink"], "width": width},
            name=_("break-even"), showlegend=level == 1.0,
        )  # fmt: skip


def speed_map_text(
    cost: float, here: tuple[float, int] | None = None, highest: int = 16, notation: Notation = BOOK
) -> str:
    """The picture in words: for a few alphas the best tau and what it gives; where nothing is gained."""
    rows = []
    for alpha in (0.3, 0.5, 0.7, 0.9):
        tau = best_tau(alpha, cost, highest)
        if tau == 0:
            rows.append(_("At α = {alpha} plain decoding is fastest.").format(alpha=alpha))
            continue
        rows.append(
            _("At α = {alpha} the best {tau} is {n}, {gain} times plain decoding.").format(
                alpha=alpha, tau=notation.tau, n=tau, gain=f"{speed_up(alpha, tau, cost):.2f}"
            )
        )
    if here is not None:
        rows.append(
            _("This run, with α = {alpha} and {tau} = {n}, should be {gain} times plain decoding.").format(
                alpha=f"{here[0]:.2f}", tau=notation.tau, n=here[1], gain=f"{speed_up(here[0], here[1], cost):.2f}"
            )
        )
    first = _("A draft step costs {cost} of a target pass; nothing is gained where α is below that.").format(
        cost=f"{cost:.3f}"
    )
    return " ".join([first, *rows])


# --- the time of a block ---------------------------------------------------------------------------------------------

_PARTS = ("draft", "verify", "judge", "correct", "record")
_PART_PATTERNS = {"draft": "", "verify": "/", "judge": "x", "correct": ".", "record": "-"}


def _part_names() -> dict[str, str]:
    return {
        "draft": _("draft"),
        "verify": _("verify"),
        "judge": _("judge"),
        "correct": _("correct"),
        "record": _("record"),
    }


def time_bar(seconds: Mapping[str, float], blocks: int, theme: Theme) -> go.Figure:
    """Where the time of an average block went: one bar, milliseconds per part.

    seconds: totals by part over ``blocks`` blocks, as ``trace.totals`` sums them.
    """
    c = colours(theme)
    tones = {"draft": c["q"], "verify": c["p"], "judge": c["accepted"], "correct": c["corrected"], "record": c["kept"]}
    names = _part_names()
    milliseconds = {part: 1000 * seconds[part] / max(1, blocks) for part in _ordered(seconds)}
    total = sum(milliseconds.values()) or 1.0
    drawing = Drawing()
    for part, value in milliseconds.items():
        share = value / total
        drawing.add_bar(
            y=[""],
            x=[value],
            orientation="h",
            name=_("{part}: {ms} ms ({share})").format(
                part=names.get(part, part), ms=f"{value:.1f}", share=f"{share:.0%}"
            ),
            text=[f"{share:.0%}" if share >= 0.1 else ""],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            textfont={"size": 16, "color": c["background"]},
            marker={
                "color": tones.get(part, c["residual"]),
                "line": {"width": 2, "color": c["background"]},
                "pattern": {
                    "shape": _PART_PATTERNS.get(part, "+"),
                    "fgcolor": c["background"],
                    "fillmode": "overlay",  # with "replace", the default, only the pattern would be drawn
                    "solidity": 0.12,
                    "size": 9,
                },
            },
            hovertemplate="%{x:.2f} ms<extra>" + names.get(part, part) + "</extra>",
        )
    return drawing.figure(
        layout(
            theme,
            barmode="stack",
            height=190,
            yaxis={"showticklabels": False, "showgrid": False},
            xaxis={"title": axis_title(_("milliseconds per block"), theme), "rangemode": "tozero"},
            legend={"traceorder": "normal"},
        )
    )


def _ordered(seconds: Mapping[str, float]) -> list[str]:
    return [x for x in _PARTS if x in seconds] + sorted(x for x in seconds if x not in _PARTS)


def time_text(seconds: Mapping[str, float], blocks: int) -> str:
    """The picture in words: milliseconds and share of every part."""
    names, total = _part_names(), sum(seconds.values()) or 1.0
    parts = ", ".join(
        _("{part} {ms} ms ({share})").format(
            part=names.get(x, x), ms=f"{1000 * seconds[x] / max(1, blocks):.1f}", share=f"{seconds[x] / total:.0%}"
        )
        for x in _ordered(seconds)
    )
    return _("An average block takes {ms} ms: {parts}.").format(ms=f"{1000 * total / max(1, blocks):.1f}", parts=parts)


# --- run and formula -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """What a run measured: alpha (accepted/judged or mean sum min(p, q)), its tau, emitted tokens per block.

    n_a: how many blocks accepted 0, 1, ... tau candidates; may be empty. name: what the legend says.
    """

    name: str
    alpha: float
    tau: int
    tokens_per_block: float
    n_a: tuple[int, ...] = ()


def tokens_curve(runs: Sequence[Run], theme: Theme, notation: Notation = BOOK) -> go.Figure:
    """Tokens per block against alpha: the formula as a line per tau, the runs as points.

    Raises ValueError without runs.
    """
    if not runs:
        raise ValueError("runs must hold at least one run.")
    c = colours(theme)
    alphas = np.linspace(0, 1, 101)
    drawing = Drawing()
    dashes = ("solid", "dash", "dot", "dashdot")
    symbols = ("circle", "square", "diamond", "triangle-up", "x", "star")
    for i, tau in enumerate(sorted({run.tau for run in runs})):
        drawing.add_scatter(
            x=alphas,
            y=[expected_tokens(float(a), tau) for a in alphas],
            mode="lines",
            name=_("formula, {tau} = {n}").format(tau=notation.tau, n=tau),
            line={"color": c["soft"], "width": 2.5, "dash": dashes[i % len(dashes)]},
            hovertemplate="α = %{x:.2f}: %{y:.2f}<extra></extra>",
        )
    for i, run in enumerate(runs):
        drawing.add_scatter(
            x=[run.alpha],
            y=[run.tokens_per_block],
            mode="markers",
            name=run.name,
            cliponaxis=False,
            marker={
                "size": 14,
                "symbol": symbols[i % len(symbols)],
                "color": [c["accepted"], c["corrected"], c["rejected"], c["residual"]][i % 4],
                "line": {"width": 1, "color": c["ink"]},
            },
            hovertemplate="α = %{x:.3f}: %{y:.3f}<extra></extra>",
        )
    return drawing.figure(
        layout(
            theme,
            height=420,
            xaxis={"title": axis_title(_("acceptance rate α"), theme), "range": [0, 1.02]},
            yaxis={"title": axis_title(_("tokens per block"), theme), "rangemode": "tozero"},
        )
    )


def tokens_curve_text(runs: Sequence[Run]) -> str:
    """The picture in words: what each run measured, and what the formula says for its alpha."""
    return " ".join(
        _("{run}: α = {alpha}, {measured} tokens per block; the formula says {formula}.").format(
            run=run.name,
            alpha=f"{run.alpha:.3f}",
            measured=f"{run.tokens_per_block:.2f}",
            formula=f"{expected_tokens(min(1.0, max(0.0, run.alpha)), run.tau):.2f}",
        )
        for run in runs
    )


def n_a_bars(run: Run, theme: Theme, notation: Notation = BOOK) -> go.Figure:
    """How many blocks accepted 0, 1, ... tau candidates, beside what one rate alpha would make of it.

    P(n_a = k) = (1 - alpha) alpha^k below tau and alpha^tau at tau. Raises ValueError where the run counted no block.
    """
    if not sum(run.n_a):
        raise ValueError("n_a must count at least one block.")
    c = colours(theme)
    k = list(range(run.tau + 1))
    counted = [(run.n_a[i] if i < len(run.n_a) else 0) / sum(run.n_a) for i in k]
    drawing = Drawing()
    drawing.add_bar(
        x=k, y=counted, name=_("this run"), marker={"color": c["accepted"]}, hovertemplate="%{y:.3f}<extra></extra>"
    )
    drawing.add_scatter(
        x=k, y=geometric(run.alpha, run.tau), mode="markers", hovertemplate="%{y:.3f}<extra></extra>",
        name=_("formula, α = {alpha}").format(alpha=f"{run.alpha:.3f}"),
        marker={"symbol": "line-ew-open", "size": 30, "line": {"width": 4, "color": c["ink"]}, "color": c["ink"]},
    )  # fmt: skip
    return drawing.figure(
        layout(
            theme,
            height=360,
            xaxis={"title": axis_title(_("accepted in a block, {n_a}").format(n_a=notation.n_a), theme), "dtick": 1},
            yaxis={"title": axis_title(_("share of blocks"), theme), "rangemode": "tozero", "tickformat": ".0%"},
        )
    )


def geometric(alpha: float, tau: int) -> list[float]:
    """P(n_a = k) for k = 0 ... tau, if every position were accepted with the same probability alpha."""
    return [(1 - alpha) * alpha**k for k in range(tau)] + [alpha**tau]


def n_a_text(run: Run) -> str:
    """The picture in words: share of blocks by the number accepted, with the formula's in brackets."""
    total = max(1, sum(run.n_a))
    parts = ", ".join(
        _("{k}: {share} ({formula})").format(
            k=k, share=f"{(run.n_a[k] if k < len(run.n_a) else 0) / total:.0%}", formula=f"{f:.0%}"
        )
        for k, f in enumerate(geometric(run.alpha, run.tau))
    )
    return _("Share of blocks by accepted candidates, with the formula's share in brackets: {parts}.").format(
        parts=parts
    )
