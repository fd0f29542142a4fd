"""The number line: 0 to 1, the bar from 0 to min(1, p/q), the mark r on it. The picture is the rule.

Left of the bar's end a draw accepts, right of it it rejects. Many draws stand below the line as points, and a second
figure shows how their accepted share settles.

Does not know: streamlit, where p, q and r come from.
"""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from specdec_core.figures.drawing import Drawing
from specdec_core.figures.palette import Theme, colours, layout
from specdec_core.words import BOOK, Notation, _

# A region narrower than this has no room for its word; its colour and pattern, and the verdict's word, say it.
_ROOM = 0.2
_GOLDEN = 0.6180339887


def number_line(
    bar: float,
    r: float | None,
    accepted: bool,
    labels: tuple[str, str],
    theme: Theme,
    notation: Notation = BOOK,
    draws: tuple[Sequence[float], Sequence[bool]] | None = None,
) -> go.Figure:
    """The line for one candidate.

    bar: min(1, p/q), 0 where p = 0. r: the draw, None while there is none. labels: p/q and r as they are written.
    draws: values in (0, 1] and whether each accepts; drawn as points below the line.
    """
    c = colours(theme)
    drawing = Drawing()
    _regions(drawing, bar, r, c)
    many = draws is not None and len(draws[0]) > 0
    if many and draws is not None:
        _points(drawing, draws, c)
    _end_of_bar(drawing, bar, f"{notation.p}/{notation.q} = {labels[0]}", c)
    if r is not None:
        _mark(drawing, r, f"{notation.r} = {labels[1]}", accepted, c)
    low = -2.5 if many else -0.62
    return drawing.figure(
        layout(
            theme,
            barmode="overlay",
            height=300 if many else 200,
            margin={"l": 22, "r": 22, "t": 52, "b": 8},
            showlegend=many,
            legend={"y": -0.16, "yanchor": "top", "x": 0.5, "xanchor": "center", "itemclick": False},
            xaxis={
                "range": [0, 1],
                "tickvals": [0, 0.25, 0.5, 0.75, 1],
                "tickformat": ".2~f",
                "tickfont": {"size": 16, "color": c["ink"]},
                "ticks": "outside",
                "ticklen": 6,
                "showgrid": False,
                "zeroline": False,
            },
            yaxis={"range": [low, 0.55], "visible": False},
        )
    )


def _regions(drawing: Drawing, bar: float, r: float | None, c: dict[str, str]) -> None:
    for low, high, colour, pattern in ((0.0, bar, c["accepted"], ""), (bar, 1.0, c["rejected"], "/")):
        if high <= low:
            continue
        drawing.add_bar(
            x=[high - low],
            y=[0],
            base=[low],
            orientation="h",
            width=0.5,
            showlegend=False,
            hoverinfo="skip",
            marker={
                "color": colour if not pattern else "rgba(0,0,0,0)",
                "line": {"color": colour, "width": 2},
                "pattern": {"shape": pattern, "fgcolor": colour, "solidity": 0.18, "size": 9},
            },
        )
    if bar >= _ROOM:
        _word(drawing, _free(0.0, bar, r), _("accept"), c["background"], "rgba(0,0,0,0)")
    if 1 - bar >= _ROOM:
        _word(drawing, _free(bar, 1.0, r), _("reject"), c["rejected"], c["background"])


def _free(low: float, high: float, r: float | None) -> float:
    """Where a region's word stands: its middle, or the middle of the wider part that the mark r leaves."""
    middle = (low + high) / 2
    if r is None or not low <= r <= high or abs(r - middle) > 0.14:
        return middle
    return (low + r) / 2 if r >= middle else (r + high) / 2


def _word(drawing: Drawing, x: float, word: str, colour: str, behind: str) -> None:
    drawing.add_annotation(
        x=x,
        y=0,
        text=f"<b>{word}</b>",
        showarrow=False,
        font={"size": 20, "color": colour},
        bgcolor=behind,
        borderpad=3,
    )


def _side(x: float) -> str:
    """Where a label at ``x`` is anchored, so that it stays inside the picture."""
    return "left" if x < 0.16 else "right" if x > 0.84 else "center"


def _end_of_bar(drawing: Drawing, bar: float, text: str, c: dict[str, str]) -> None:
    drawing.add_shape(
        type="line", x0=bar, x1=bar, y0=-0.34, y1=0.34, line={"color": c["ink"], "width": 2, "dash": "dot"}
    )
    drawing.add_annotation(
        x=bar,
        y=-0.45,
        text=text,
        showarrow=False,
        xanchor=_side(bar),
        font={"size": 17, "color": c["ink"]},
        bgcolor=c["background"],
    )


def _mark(drawing: Drawing, r: float, text: str, accepted: bool, c: dict[str, str]) -> None:
    colour = c["accepted"] if accepted else c["rejected"]
    drawing.add_shape(type="line", x0=r, x1=r, y0=-0.33, y1=0.42, line={"color": c["background"], "width": 9})
    drawing.add_shape(type="line", x0=r, x1=r, y0=-0.33, y1=0.46, line={"color": c["ink"], "width": 5})
    word = _("✓ accepted") if accepted else _("✗ rejected")
    drawing.add_annotation(
        x=r,
        y=0.48,
        yanchor="bottom",
        text=f"<b>{text}</b>  <span style='color:{colour}'><b>{word}</b></span>",
        showarrow=False,
        xanchor=_side(r),
        font={"size": 20, "color": c["ink"]},
    )


def _points(drawing: Drawing, draws: tuple[Sequence[float], Sequence[bool]], c: dict[str, str]) -> None:
    values, kept = draws
    for stays, name, symbol, colour in (
        (True, _("accepted"), "circle", c["accepted"]),
        (False, _("rejected"), "x", c["rejected"]),
    ):
        chosen = [i for i, k in enumerate(kept) if bool(k) is stays]
        drawing.add_scatter(
            x=[values[i] for i in chosen],
            # Points of one draw stand at the same height however many follow: a golden-ratio walk fills evenly.
            y=[-0.78 - 1.6 * (((i + 1) * _GOLDEN) % 1) for i in chosen],
            mode="markers",
            name=f"{name}: {len(chosen)}",
            marker={"symbol": symbol, "color": colour, "size": 8 if len(values) <= 300 else 6, "line": {"width": 0}},
            customdata=[i + 1 for i in chosen],
            hovertemplate=_("draw {n}: {value}").format(n="%{customdata}", value="%{x}") + "<extra></extra>",
        )


def running_share(shares: Sequence[float], expected: float, theme: Theme, notation: Notation = BOOK) -> go.Figure:
    """The accepted share after 1, 2, ... draws, and the line min(1, p/q) on which it settles."""
    c = colours(theme)
    n = len(shares)
    drawing = Drawing()
    bar: dict[str, Any] = {"color": c["p"], "width": 2, "dash": "dash"}
    drawing.add_scatter(
        x=[1, max(n, 2)],
        y=[expected, expected],
        mode="lines",
        name=f"min(1, {notation.p}/{notation.q})",
        line=bar,
        hoverinfo="skip",
    )
    drawing.add_scatter(
        x=list(range(1, n + 1)),
        y=list(shares),
        mode="lines" if n > 1 else "markers",
        name=_("accepted so far"),
        line={"color": c["accepted"], "width": 3},
        hovertemplate=_("after {n} draws: {value}").format(n="%{x}", value="%{y:.3f}") + "<extra></extra>",
    )
    return drawing.figure(
        layout(
            theme,
            height=230,
            yaxis={"range": [0, 1.04], "tickvals": [0, 0.25, 0.5, 0.75, 1], "tickformat": ".2~f"},
            xaxis={"title": {"text": _("draws")}, "range": [1, max(n, 2)], "showgrid": False},
        )
    )
