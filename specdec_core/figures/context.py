"""Two triangles: which tokens each row of the draft's steps, and of the target's one pass, is given.

Does not know: streamlit, models.
"""

import plotly.graph_objects as go

from specdec_core.figures.drawing import Drawing
from specdec_core.figures.laws import token_labels
from specdec_core.figures.palette import Theme, colours, layout
from specdec_core.lessons.draft_context import Situation, candidate_symbol
from specdec_core.words import BOOK, Notation, _

_ROW = 40


def triangle(situation: Situation, t: int, target: bool, theme: Theme, notation: Notation = BOOK) -> go.Figure:
    """Rows are positions, columns are tokens: a filled square is seen, a dot is not. Row t is marked.

    target: all rows in one frame, one more row for the bonus. Otherwise one frame per row: a pass each, whose drawn
    token (the diamond) the next row needs.
    """
    c = colours(theme)
    rows = list(range(1, situation.tau + (2 if target else 1)))
    tokens = token_labels(situation.candidates, 8)
    columns = ["X", "Y", *(f"{candidate_symbol(k, notation)} {x}" for k, x in enumerate(tokens, start=1))]
    drawing = Drawing()
    seen = [(j, row) for row in rows for j in range(len(columns)) if j < 2 or situation.sees(row, j - 1)]
    drawn = [] if target else [(row + 1, row) for row in rows]
    taken = {*seen, *drawn}
    unseen = [(j, row) for row in rows for j in range(len(columns)) if (j, row) not in taken]
    groups = (
        (_("input and verified"), [x for x in seen if x[0] < 2], c["accepted"], "square", 20),
        (_("candidates it is given"), [x for x in seen if x[0] >= 2], c["q"], "square", 20),
        (_("drawn in this pass"), drawn, c["ink"], "diamond-open", 16),
        (_("not seen"), unseen, c["soft"], "circle", 5),
    )
    for name, cells, colour, symbol, size in groups:
        if cells:
            drawing.add_scatter(
                x=[x for x, _row in cells],
                y=[row for _x, row in cells],
                mode="markers",
                name=name,
                marker={"symbol": symbol, "size": size, "color": colour, "line": {"width": 2, "color": colour}},
                hoverinfo="skip",
            )
    _frames(drawing, rows, len(columns), t, target, c)
    return drawing.figure(
        layout(
            theme,
            height=150 + _ROW * len(rows),
            xaxis={
                "tickvals": list(range(len(columns))),
                "ticktext": columns,
                "tickangle": -45,
                "side": "bottom",
                "range": [-0.7, len(columns) - 0.3],
                "showgrid": False,
                "zeroline": False,
                "tickfont": {"size": 13, "color": c["ink"]},
            },
            yaxis={
                "tickvals": rows,
                "ticktext": [_row_label(row, situation, target) for row in rows],
                "range": [rows[-1] + 0.6, 0.4],
                "showgrid": False,
                "zeroline": False,
            },
        )
    )


def _row_label(row: int, situation: Situation, target: bool) -> str:
    if not target:
        return _("pass {n}").format(n=row)
    return _("bonus") if row == situation.tau + 1 else f"t = {row}"


def _frames(drawing: Drawing, rows: list[int], columns: int, t: int, target: bool, c: dict[str, str]) -> None:
    """One frame per pass, and a band behind row t."""
    if t in rows:
        drawing.add_shape(
            type="rect",
            x0=-0.6,
            x1=columns - 0.4,
            y0=t - 0.46,
            y1=t + 0.46,
            fillcolor=c["corrected_bg"],
            line={"width": 0},
            layer="below",
        )
    edges = [(rows[0] - 0.5, rows[-1] + 0.5)] if target else [(row - 0.44, row + 0.44) for row in rows]
    for top, bottom in edges:
        drawing.add_shape(
            type="rect",
            x0=-0.6,
            x1=columns - 0.4,
            y0=top,
            y1=bottom,
            line={"width": 2, "color": c["p"] if target else c["q"]},
            layer="below",
        )
