"""Pictures of laws over a few tokens: the residual scaled to one, an output beside p, candidates under a threshold.

Does not know: streamlit, where the numbers come from.
"""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from specdec_core.figures.drawing import Drawing
from specdec_core.figures.overlap import literal_label
from specdec_core.figures.palette import Theme, colours, layout
from specdec_core.lessons.correction import Correction
from specdec_core.lessons.why_random import Comparison, Sample
from specdec_core.numbers import probability
from specdec_core.tokens import shown
from specdec_core.words import BOOK, Notation, _

_MONO = {"family": "Source Code, monospace"}


def token_labels(tokens: Sequence[str], longest: int = 16) -> list[str]:
    """Token texts as axis labels: literal, and different from each other even where the texts, cut short, are not."""
    out: list[str] = []
    for token in tokens:
        text = literal_label(shown(token, longest))
        while text in out:
            text += "\u200b"
        out.append(text)
    return out


def residual_bars(correction: Correction, theme: Theme, notation: Notation = BOOK) -> go.Figure:
    """The residual, one bar per token, in the rows of the overlap picture beside it."""
    c = colours(theme)
    values = [x.residual for x in correction.listed]
    drawing = Drawing()
    drawing.add_bar(
        y=token_labels([x.token for x in correction.listed]),
        x=values,
        orientation="h",
        name=_("residual: the lack, scaled to one"),
        marker={"color": c["residual"], "line": {"width": 0}},
        text=[probability(v) if v > 0 else "" for v in values],
        textposition="outside",
        textfont={"color": c["ink"], "size": 14},
        cliponaxis=False,
        hovertemplate="%{y}: %{text}<extra></extra>",
        showlegend=True,
    )
    return drawing.figure(_bars(theme, len(values), max([*values, 0.2]) * 1.2))


def _bars(theme: Theme, rows: int, right: float, per_row: int = 34) -> dict[str, Any]:
    return layout(
        theme,
        height=80 + per_row * rows,
        yaxis={"autorange": "reversed", "type": "category", "tickfont": _MONO},
        xaxis={"range": [0, min(1.15, right)], "tickformat": ".2~f", "showgrid": True},
        legend={"traceorder": "normal"},
    )


def residual_text(correction: Correction) -> str:
    """The residual bars in words."""
    if correction.nothing_left:
        return _("No residual: nothing is left to correct.")
    rows = [f"“{shown(x.token)}” {probability(x.residual)}" for x in correction.listed]
    return _("The residual: {rows}.").format(rows=", ".join(rows))


def law_bars(
    tokens: Sequence[str],
    p: Sequence[float],
    output: Sequence[float],
    title: str,
    theme: Theme,
    notation: Notation = BOOK,
    right: float = 0.0,
) -> go.Figure:
    """Per token two bars: what p asks for, and what comes out. right: how far the axis reaches at least."""
    c = colours(theme)
    names = token_labels(tokens)
    drawing = Drawing()
    series = (
        (_("{p}, the target").format(p=notation.p), p, c["p"], "x"),
        (title, output, c["corrected"], ""),
    )
    for name, values, hue, pattern in series:
        drawing.add_bar(
            y=names,
            x=list(values),
            orientation="h",
            name=name,
            marker={
                "color": hue,
                "line": {"width": 0},
                "pattern": {
                    "shape": pattern,
                    "fgcolor": c["background"],
                    "fillmode": "overlay",
                    "solidity": 0.25,
                    "size": 7,
                },
            },
            text=[probability(v) for v in values],
            textposition="outside",
            textfont={"color": c["ink"], "size": 13},
            cliponaxis=False,
            hovertemplate="%{y}: %{text}<extra></extra>",
        )
    right = max([*p, *output, right, 0.2]) * 1.25
    return drawing.figure(_bars(theme, len(names), right, per_row=42) | {"barmode": "group"})


def law_text(tokens: Sequence[str], p: Sequence[float], output: Sequence[float], notation: Notation = BOOK) -> str:
    """The two laws in words."""
    rows = [
        _("“{token}”: {p} {meant}, comes out {got}.").format(
            token=shown(t), p=notation.p, meant=probability(a), got=probability(b)
        )
        for t, a, b in zip(tokens, p, output, strict=True)
    ]
    return " ".join(rows)


def candidates(
    drawn: Sequence[Sample], comparison: Comparison, fixed: bool, theme: Theme, notation: Notation = BOOK
) -> go.Figure:
    """One number line per candidate: the bar reaches min(1, p/q); the mark is its own r, or c for all of them."""
    c = colours(theme)
    keeps = [s.fixed_keeps if fixed else s.random_keeps for s in drawn]
    rows = [f"{s.n}" for s in drawn]
    drawing = Drawing()
    words = ((True, _("kept"), "✓", "accepted", ""), (False, _("thrown away"), "✗", "rejected", "/"))
    for kept, word, icon, colour, pattern in words:
        drawing.add_bar(
            y=[row for row, k in zip(rows, keeps, strict=True) if k is kept],
            x=[s.bar for s, k in zip(drawn, keeps, strict=True) if k is kept],
            orientation="h",
            name=f"{icon} {word}",
            marker={
                "color": c[colour],
                "line": {"width": 0},
                "pattern": {
                    "shape": pattern,
                    "fgcolor": c["background"],
                    "fillmode": "overlay",
                    "solidity": 0.3,
                    "size": 6,
                },
            },
            hovertemplate=f"{notation.p}/{notation.q} → %{{x:.3f}}<extra></extra>",
            showlegend=True,
        )
    marks = [comparison.c if fixed else s.r for s in drawn]
    drawing.add_scatter(
        y=rows,
        x=marks,
        mode="markers",
        name=f"c = {comparison.c:g}" if fixed else notation.r,
        marker={"symbol": "line-ns", "size": 14, "line": {"width": 3, "color": c["ink"]}},
        hovertemplate="%{x:.3f}<extra></extra>",
    )
    ticks = [f"{literal_label(shown(s.token, 8))} {'✓' if kept else '✗'}" for s, kept in zip(drawn, keeps, strict=True)]
    return drawing.figure(
        layout(
            theme,
            height=110 + 21 * len(rows),
            yaxis={
                "type": "category",
                "categoryorder": "array",
                "categoryarray": rows[::-1],
                "tickvals": rows,
                "ticktext": ticks,
                "tickfont": {**_MONO, "size": 13},
                "showgrid": False,
            },
            xaxis={"range": [-0.02, 1.02], "tickvals": [0, 0.25, 0.5, 0.75, 1], "tickformat": ".2~f"},
            bargap=0.4,
        )
    )


def candidates_text(drawn: Sequence[Sample], comparison: Comparison, fixed: bool) -> str:
    """The candidates in words."""
    rows = []
    for s in drawn:
        word = _("kept") if (s.fixed_keeps if fixed else s.random_keeps) else _("thrown away")
        mark = comparison.c if fixed else s.r
        rows.append(f"{s.n}: “{shown(s.token)}” {probability(s.bar)} | {probability(mark)} {word}")
    return "; ".join(rows) + "."
