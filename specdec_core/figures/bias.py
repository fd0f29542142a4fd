"""The exact law of each rule beside p and q: which tokens gained, lost, vanished.

Does not know: streamlit, random numbers, where p and q come from.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from specdec_core.bias import Change, Comparison, rule_label
from specdec_core.figures.drawing import Drawing
from specdec_core.figures.overlap import literal_label
from specdec_core.figures.palette import Theme, colours, layout
from specdec_core.figures.rules import ZERO, axis_title, styles
from specdec_core.numbers import probability
from specdec_core.tokens import shown
from specdec_core.words import BOOK, Notation, _

#: Height of a bar in pixels, and the part of a row that its bars fill.
_BAR = 19
_FILL = 0.76


def law_bars(found: Comparison, labels: Sequence[str], theme: Theme, notation: Notation = BOOK) -> go.Figure:
    """Per token one bar per rule, with p as an upright line across them and q as a ring: a bar that ends short of the
    line has lost, one that passes it has gained.

    labels: the text of each of ``found.tokens``, shown literally. Where all others together outweigh every shown token
    their numbers are written, not drawn, because their bars would shrink the rest to nothing.
    """
    rows = _Rows(found, labels, theme, notation)
    for i, rule in enumerate(found.rules):
        rows.add_rule(i, rule_label(rule))
    rows.add_target()
    rows.add_draft()
    rows.add_texts()
    return rows.drawing.figure(rows.layout())


class _Rows:
    """The rows of ``law_bars``, on a numeric axis: row k is centred at k, its bars stacked within ``_FILL`` of it."""

    def __init__(self, found: Comparison, labels: Sequence[str], theme: Theme, notation: Notation) -> None:
        self.found, self.theme, self.notation, self.c = found, theme, notation, colours(theme)
        self.names = [literal_label(shown(label, 14)) for label in labels]
        n = len(self.names)
        self.biggest = max((float(x[:n].max()) for x in (found.p, found.q, *found.outputs) if n), default=1.0)
        rest = max(float(x[-1]) for x in (found.p, found.q, *found.outputs))
        self.written = found.others > 0 and rest > 1.25 * self.biggest
        if found.others:
            self.names.append(_others(found))
        if not self.written:
            self.biggest = max(self.biggest, rest)
        self.drawn = n + (found.others > 0 and not self.written)
        self.bar = _FILL / max(1, len(found.rules))
        self.drawing = Drawing()

    def _y(self, row: int, rule: int) -> float:
        return row - _FILL / 2 + (rule + 0.5) * self.bar

    def add_rule(self, i: int, title: str) -> None:
        style = styles(self.found.rules, self.theme)[i]
        values = self.found.outputs[i][: self.drawn].tolist()
        words = [_word(change) for change in self.found.changes[i][: self.drawn]]
        self.drawing.add_bar(
            y=[self._y(row, i) for row in range(self.drawn)],
            x=values,
            width=self.bar,
            orientation="h",
            name=title,
            marker={
                "color": style.colour,
                "line": {"width": 0},
                "pattern": {
                    "shape": style.pattern,
                    "fgcolor": self.c["background"],
                    "fillmode": "overlay",  # with "replace", the default, only the pattern would be drawn
                    "solidity": 0.25,
                    "size": 7,
                },
            },
            customdata=[f"{title}: {probability(x)} ({word})" for x, word in zip(values, words, strict=True)],
            hovertemplate="%{customdata}<extra></extra>",
        )

    def add_target(self) -> None:
        x: list[float | None] = []
        y: list[float | None] = []
        for row, value in enumerate(self.found.p[: self.drawn].tolist()):
            x += [value, value, None]
            y += [row - _FILL / 2 - 0.06, row + _FILL / 2 + 0.06, None]
        title = _("target {p}").format(p=self.notation.p)
        self.drawing.add_scatter(
            x=x,
            y=y,
            mode="lines",
            name=title,
            line={"color": self.c["p"], "width": 4},
            hovertemplate=title + ": %{x:.4f}<extra></extra>",
        )

    def add_draft(self) -> None:
        title = _("draft {q}").format(q=self.notation.q)
        self.drawing.add_scatter(
            x=self.found.q[: self.drawn],
            y=list(range(self.drawn)),
            mode="markers",
            name=title,
            cliponaxis=False,
            marker={"size": 12, "color": self.c["background"], "line": {"width": 3, "color": self.c["q"]}},
            hovertemplate=title + ": %{x:.4f}<extra></extra>",
        )

    def add_texts(self) -> None:
        """What happened, right of the bar, the line and a ring that would lie under the words."""
        x, y, texts = [], [], []
        for i, (out, changes) in enumerate(zip(self.found.outputs, self.found.changes, strict=True)):
            for row in range(len(self.names)):
                before, after, q = (float(v[row]) for v in (self.found.p, out, self.found.q))
                end = max(before, after)
                middle = abs(self._y(row, i) - row) < 0.45 * self.bar + 0.1
                if middle and end - 0.03 * self.biggest < q < end + 0.3 * self.biggest:
                    end = q + 0.01 * self.biggest
                said = _mark(changes[row], after - before)
                if row >= self.drawn:
                    end, said = 0.0, f"{probability(after)}  {said}"
                x.append(end + 0.012 * self.biggest)
                y.append(self._y(row, i))
                texts.append(said)
        self.drawing.add_scatter(
            x=x,
            y=y,
            text=texts,
            mode="text",
            textposition="middle right",
            textfont={"size": 14, "color": self.c["ink"]},
            showlegend=False,
            hoverinfo="skip",
            cliponaxis=False,
        )

    def layout(self) -> dict[str, Any]:
        rows = len(self.names)
        return layout(
            self.theme,
            barmode="overlay",
            height=round(_BAR / self.bar * rows) + 130,
            yaxis={
                "range": [rows - 0.5, -0.5],
                "tickvals": list(range(rows)),
                "ticktext": self.names,
                "tickfont": {"family": "Source Code, monospace", "size": 14, "color": self.c["ink"]},
                "showgrid": False,
                "zeroline": False,
            },
            xaxis={
                # Room on the right for the words at the ends of the bars, on the left for a ring at 0.
                "range": [-0.02 * self.biggest, self.biggest * 1.32],
                "tickformat": ".2~f",
                "nticks": 6,
                "title": axis_title(_("probability of the emitted token"), self.theme),
            },
            legend={"traceorder": "normal"},
        )


def _others(found: Comparison) -> str:
    return _("{n} others").format(n=f"{found.others:,}")


def _mark(change: Change, difference: float) -> str:
    """Sign, word and size: the colour says nothing that these do not."""
    small = abs(difference) < 0.0005
    moved = "&lt;0.001" if small else f"{abs(difference):.3f}"
    return {
        Change.SAME: "",
        Change.GAINED: f"▲ {moved}" if small else f"▲ +{moved}",
        Change.LOST: f"▼ {moved}" if small else f"▼ −{moved}",
        Change.VANISHED: "✕ " + _("vanished"),
        Change.APPEARED: "! " + _("impossible"),
    }[change]


def _word(change: Change) -> str:
    return {
        Change.SAME: _("as under the target"),
        Change.GAINED: _("gained"),
        Change.LOST: _("lost"),
        Change.VANISHED: _("vanished"),
        Change.APPEARED: _("impossible under the target"),
    }[change]


def law_bars_text(found: Comparison, labels: Sequence[str], notation: Notation = BOOK) -> str:
    """The picture in words: per rule its acceptance, its distance to p, and the token it changes most."""
    names = [shown(x) for x in labels] + [_others(found)]
    sentences = []
    for rule, law, out in zip(found.rules, found.laws, found.outputs, strict=True):
        words = {"rule": rule_label(rule), "a": probability(min(1.0, law.acceptance)), "p": notation.p}
        if law.tv < ZERO:
            sentences.append(_("{rule}: accepts {a}, and its law is exactly {p}.").format(**words))
            continue
        i = int(np.abs(out - found.p).argmax())
        sentences.append(
            _(
                "{rule}: accepts {a}; total variation to {p} {tv}; most changed: “{token}”, from {before} to {after}."
            ).format(
                **words,
                tv=probability(law.tv),
                token=names[i],
                before=probability(float(found.p[i])),
                after=probability(float(out[i])),
            )
        )
    return " ".join(sentences)
