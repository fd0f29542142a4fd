"""The overlap picture of two distributions: what is kept, what is cut off q, what p still lacks.

Per token one bar: min(p, q), and on top of it either the part that sticks out of q or the part that p has more. The
second part, scaled to one, is the residual.

Does not know: streamlit, where p and q come from.
"""

from collections.abc import Sequence

import plotly.graph_objects as go

from specdec_core.figures.drawing import Drawing
from specdec_core.figures.palette import Theme, colours, layout
from specdec_core.numbers import probability
from specdec_core.tokens import shown
from specdec_core.trace import TopToken
from specdec_core.words import BOOK, Notation, _


def overlap(
    labels: Sequence[str],
    p: Sequence[float],
    q: Sequence[float],
    theme: Theme,
    notation: Notation = BOOK,
    marked: int | None = None,
) -> go.Figure:
    """Horizontal bars, first token on top. labels are shown literally. marked: index of the candidate, if any.

    p and q may be parts of distributions (the most likely tokens); they need not sum to one.
    """
    c = colours(theme)
    names = _axis_labels(labels, marked)
    rows = list(zip(p, q, strict=True))
    hover = [f"{notation.q} = {probability(b)}, {notation.p} = {probability(a)}" for a, b in rows]
    drawing = Drawing()
    parts = (
        (_("kept: min({p}, {q})"), [min(a, b) for a, b in rows], c["kept"], ""),
        (_("cut: {q} above {p}"), [max(0.0, b - a) for a, b in rows], c["q"], "/"),
        (_("lacking: {p} above {q}"), [max(0.0, a - b) for a, b in rows], c["p"], "x"),
    )
    for title, values, colour, pattern in parts:
        drawing.add_bar(
            y=names,
            x=values,
            orientation="h",
            name=title.format(p=notation.p, q=notation.q),
            marker={
                "color": colour,
                "line": {"width": 0},
                "pattern": {
                    "shape": pattern,
                    "fgcolor": c["background"],
                    "fillmode": "overlay",
                    "solidity": 0.25,
                    "size": 7,
                },
            },
            customdata=hover,
            hovertemplate="%{customdata}<extra></extra>",
        )
    biggest = max([*p, *q, 1e-9])
    return drawing.figure(
        layout(
            theme,
            barmode="stack",
            height=96 + 34 * len(names),
            yaxis={"autorange": "reversed", "type": "category", "tickfont": {"family": "Source Code, monospace"}},
            xaxis={"range": [0, min(1.0, biggest * 1.08)], "tickformat": ".2~f", "showgrid": True},
            legend={"traceorder": "normal"},
        )
    )


def _axis_labels(labels: Sequence[str], marked: int | None) -> list[str]:
    """Plotly reads a little HTML in labels and merges equal ones: escape the first, tell the second apart."""
    out: list[str] = []
    for i, label in enumerate(labels):
        text = literal_label(shown(label, 16))
        if i == marked:
            text = f"<b>▸ {text}</b>"
        while text in out:
            text += "\u200b"
        out.append(text)
    return out


def literal_label(text: str) -> str:
    """``text`` for a Plotly label, which would otherwise take ``<b>`` and ``&amp;`` for markup and ``$`` for TeX."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("$", "&#36;")


def overlap_of(
    top: Sequence[TopToken], theme: Theme, notation: Notation = BOOK, candidate: int | None = None
) -> go.Figure:
    """The overlap picture of a recorded position: its most likely tokens, and the candidate (by id) marked."""
    marked = next((i for i, x in enumerate(top) if x.token.id == candidate), None) if candidate is not None else None
    return overlap([x.token.text for x in top], [x.p for x in top], [x.q for x in top], theme, notation, marked)


def overlap_text(labels: Sequence[str], p: Sequence[float], q: Sequence[float], notation: Notation = BOOK) -> str:
    """The picture in words: its text alternative."""
    rows = [
        _("“{token}”: {q} {b}, {p} {a}.").format(
            token=shown(t), q=notation.q, b=probability(b), p=notation.p, a=probability(a)
        )
        for t, a, b in zip(labels, p, q, strict=True)
    ]
    kept = sum(min(a, b) for a, b in zip(p, q, strict=True))
    total = _("Kept in all: {kept}.").format(kept=f"{kept:.3f}")
    return " ".join([*rows, total])
