"""The room's answers to one question as bars: full points on top, then each misconception, the commonest first.

Does not know: streamlit, who answered.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from specdec_core.figures.drawing import Drawing
from specdec_core.figures.overlap import literal_label
from specdec_core.figures.palette import Theme, colours, layout
from specdec_core.words import _, ngettext


@dataclass(frozen=True)
class Bar:
    """One bar: how many students. good: full points."""

    name: str
    students: int
    good: bool = False


def bars(full: int, shown: Mapping[str, int], names: Mapping[str, str]) -> tuple[Bar, ...]:
    """Full points, then the misconceptions (ids to students), named by ``names``."""
    ordered = sorted(shown.items(), key=lambda item: (-item[1], item[0]))
    return (Bar(_("Full points"), full, good=True), *(Bar(names.get(id_, id_), n) for id_, n in ordered))


def answers_figure(listed: Sequence[Bar], theme: Theme, answered: int = 0, large: bool = False) -> go.Figure:
    """Horizontal bars with their counts; the full width is everyone who ``answered``. large: for a projector."""
    c = colours(theme)
    size = 24 if large else 15
    drawing = Drawing()
    drawing.add_bar(
        y=[_label(bar) for bar in listed],
        x=[bar.students for bar in listed],
        orientation="h",
        text=[f"{bar.students}" for bar in listed],
        textposition="outside",
        textfont={"size": size, "color": c["ink"]},
        cliponaxis=False,
        hoverinfo="skip",
        showlegend=False,
        marker={
            "color": [c["accepted"] if bar.good else c["rejected"] for bar in listed],
            "line": {"width": 0},
            "pattern": {
                "shape": ["" if bar.good else "/" for bar in listed],
                "fgcolor": c["background"],
                "fillmode": "overlay",
                "solidity": 0.2,
                "size": 9,
            },
        },
    )
    most = max([bar.students for bar in listed] + [answered, 1])
    return drawing.figure(
        layout(
            theme,
            height=40 + (74 if large else 46) * len(listed),
            margin={"t": 8, "r": 40},
            yaxis={"autorange": "reversed", "type": "category", "showgrid": False, "ticklabelposition": "outside"}
            | {"tickfont": {"size": size, "color": c["ink"]}},
            xaxis={"range": [0, most * 1.1], "visible": False},
        )
    )


def _label(bar: Bar) -> str:
    """Broken into short lines, so that a phone has room for the bars."""
    lines = [""]
    for word in f"{'✓' if bar.good else '✗'} {bar.name}".split():
        if lines[-1] and len(lines[-1]) + len(word) > 20:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "<br>".join(literal_label(line) for line in lines)


def answers_text(listed: Sequence[Bar]) -> str:
    """The picture in words: its text alternative."""
    return " ".join(
        ngettext("{name}: {n} student.", "{name}: {n} students.", bar.students).format(name=bar.name, n=bar.students)
        for bar in listed
    )
