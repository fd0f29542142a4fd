"""The exact law of each rule beside p and q, what a threshold costs for every value of it, and what it buys.

Does not know: streamlit, random numbers, where p and q come from.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from specdec_core.acceptance import RULES, Rule
from specdec_core.bias import Change, Comparison, Sweep, Trade, rule_label, trade_curve
from specdec_core.distributions import Array
from specdec_core.figures.overlap import literal_label
from specdec_core.figures.palette import Theme, colours, layout
from specdec_core.figures.rules import Style, styles
from specdec_core.numbers import probability
from specdec_core.tokens import shown
from specdec_core.words import BOOK, Notation, _

_BAR = 19
_GAP = 16
#: Below this a total variation is the rounding of a sum over the vocabulary.
_ZERO = 5e-13


def axis_title(text: str, theme: Theme) -> dict[str, Any]:
    """An axis title in the palette's own font."""
    return {"text": text, "font": {"size": 14, "color": colours(theme)["soft"]}}


# --- laws side by side -----------------------------------------------------------------------------------------------


def law_bars(found: Comparison, labels: Sequence[str], theme: Theme, notation: Notation = BOOK) -> go.Figure:
    """Per token one bar per rule, with p as an upright line across them and q as a ring: a bar that ends short of the
    line has lost, one that passes it has gained.

    labels: the text of each of ``found.tokens``, shown literally.
    """
    c = colours(theme)
    names = _names(found, labels)
    figure = go.Figure()
    for i, (rule, style) in enumerate(zip(found.rules, styles(found.rules, theme), strict=True)):
        _add_rule(figure, found, i, names, rule_label(rule), style, c)
    row = _BAR * len(found.rules) + _GAP
    _add_marks(figure, found, names, row, c, notation)
    biggest = float(max([found.p.max(), found.q.max(), *(o.max() for o in found.outputs)]))
    figure.update_layout(
        layout(
            theme,
            barmode="group",
            bargap=_GAP / row,
            height=row * len(names) + 130,
            yaxis={
                "range": [len(names) - 0.5, -0.5],
                "type": "category",
                "tickfont": {"family": "Source Code, monospace", "size": 14, "color": c["ink"]},
                "showgrid": False,
            },
            xaxis={
                # Room on the right for the words at the ends of the bars.
                "range": [0, biggest * 1.32],
                "tickformat": ".2~f",
                "nticks": 6,
                "title": axis_title(_("probability of the emitted token"), theme),
            },
            legend={"traceorder": "normal"},
        )
    )
    return figure


def _names(found: Comparison, labels: Sequence[str]) -> list[str]:
    out: list[str] = []
    for label in labels:
        text = literal_label(shown(label, 14))
        while text in out:  # Plotly merges equal categories
            text += "\u200b"
        out.append(text)
    return [*out, _others(found)] if found.others else out


def _others(found: Comparison) -> str:
    return _("{n} others").format(n=f"{found.others:,}")


def _add_rule(
    figure: go.Figure, found: Comparison, i: int, names: list[str], title: str, style: Style, c: dict[str, str]
) -> None:
    values = found.outputs[i][: len(names)].tolist()
    changes = found.changes[i][: len(names)]
    figure.add_bar(
        y=names,
        x=values,
        orientation="h",
        name=title,
        text=[_mark(change, x - p) for change, x, p in zip(changes, values, found.p.tolist(), strict=False)],
        textposition="outside",
        textfont={"size": 14, "color": c["ink"]},
        cliponaxis=False,
        constraintext="none",
        marker={
            "color": style.colour,
            "line": {"width": 0},
            "pattern": {"shape": style.pattern, "fgcolor": c["background"], "solidity": 0.25, "size": 7},
        },
        customdata=[f"{title}: {probability(x)} ({_word(change)})" for x, change in zip(values, changes, strict=True)],
        hovertemplate="%{customdata}<extra></extra>",
    )


def _add_marks(
    figure: go.Figure, found: Comparison, names: list[str], row: int, c: dict[str, str], notation: Notation
) -> None:
    # Plotly draws this symbol 1.4 times as long as its size.
    line = {"symbol": "line-ns-open", "size": (row - 6) / 1.4, "color": c["p"], "line": {"width": 4, "color": c["p"]}}
    ring = {"symbol": "circle", "size": 12, "color": c["background"], "line": {"width": 3, "color": c["q"]}}
    for law, title, marker in (
        (found.p, _("target {p}").format(p=notation.p), line),
        (found.q, _("draft {q}").format(q=notation.q), ring),
    ):
        values = law[: len(names)].tolist()
        figure.add_scatter(
            y=names,
            x=values,
            mode="markers",
            name=title,
            marker=marker,
            cliponaxis=False,
            customdata=[f"{title}: {probability(x)}" for x in values],
            hovertemplate="%{customdata}<extra></extra>",
        )


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
        if law.tv < _ZERO:
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


# --- a sweep over the threshold --------------------------------------------------------------------------------------


def sweep_lines(
    line: Sweep, alpha: float, theme: Theme, at: float | None = None, notation: Notation = BOOK
) -> go.Figure:
    """Bias and acceptance against a rule's number, one above the other, with the random rule as a level in both.

    alpha: the random rule's acceptance. at: the value in use, marked.
    """
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.16)
    base = layout(theme, height=430, margin={"t": 28})
    figure.update_layout({k: v for k, v in base.items() if k not in ("xaxis", "yaxis")})
    figure.update_xaxes(base["xaxis"])
    figure.update_yaxes(base["yaxis"] | {"tickformat": ".2~f", "nticks": 5})
    panel = _Panel(figure, line, theme, at)
    panel.add(1, line.tv, 0.0, _("bias: total variation to {p}").format(p=notation.p), _("random rule: 0"))
    panel.add(2, line.acceptance, alpha, _("acceptance rate"), _("random rule: {a}").format(a=f"{alpha:.3f}"))
    figure.update_xaxes(title=axis_title(_number_name(line), theme), row=2, col=1)
    return figure


class _Panel:
    """One of the two panels of a sweep: curve, the random rule's level, and the value in use."""

    def __init__(self, figure: go.Figure, line: Sweep, theme: Theme, at: float | None) -> None:
        self.figure, self.line, self.at, self.c = figure, line, at, colours(theme)
        self.colour = styles([_rule_of(line)], theme)[0].colour

    def add(self, row: int, values: Array, level: float, title: str, level_text: str) -> None:
        x = self.line.values
        shape = "hv" if self.line.rule == "fixed" else "linear"
        self._line(row, x, values, {"color": self.colour, "width": 3, "shape": shape}, "%{x:.2f}: %{y:.4f}")
        self._line(row, x[[0, -1]], [level, level], {"color": self.c["accepted"], "width": 3, "dash": "dash"}, None)
        top = max(float(values.max()), level, 1e-3)
        self.figure.update_yaxes(range=[-0.05 * top, top * 1.16], row=row, col=1)
        # The level's name stands where the curve is not: at c near 1 the curve ends on the other side.
        above = float(values[-1]) < level or level < 0.1 * top
        self._note(row, level_text, x=1, y=level, data_y=True, anchor=("right", "bottom" if above else "top"))
        self._note(row, f"<b>{title}</b>", x=0, y=1, data_y=False, anchor=("left", "bottom"))
        if self.at is not None:
            self._mark(row, values, top)

    def _line(self, row: int, x: Any, y: Any, style: dict[str, Any], hover: str | None) -> None:
        more = {"hoverinfo": "skip"} if hover is None else {"hovertemplate": hover + "<extra></extra>"}
        self.figure.add_scatter(x=x, y=y, row=row, col=1, mode="lines", showlegend=False, line=style, **more)

    def _note(self, row: int, text: str, x: float, y: float, data_y: bool, anchor: tuple[str, str]) -> None:
        axis = "" if row == 1 else "2"
        colour = self.c["accepted"] if data_y else self.c["ink"]
        self.figure.add_annotation(
            text=text,
            x=x,
            xref=f"x{axis} domain",
            y=y,
            yref=f"y{axis}" if data_y else f"y{axis} domain",
            xanchor=anchor[0],
            yanchor=anchor[1],
            showarrow=False,
            font={"size": 14, "color": colour},
        )

    def _mark(self, row: int, values: Array, top: float) -> None:
        assert self.at is not None
        y = float(values[int(np.abs(self.line.values - self.at).argmin())])
        side = "left" if self.at > 0.8 else "right" if self.at < 0.2 else "center"
        self.figure.add_scatter(
            x=[self.at],
            y=[y],
            row=row,
            col=1,
            mode="markers+text",
            showlegend=False,
            text=[f"<b>{y:.3f}</b>"],
            textposition=f"{'bottom' if y > 0.85 * top else 'top'} {side}",
            textfont={"size": 16, "color": self.c["ink"]},
            marker={"size": 13, "color": self.c["ink"], "symbol": "diamond"},
            hoverinfo="skip",
            cliponaxis=False,
        )


def _rule_of(line: Sweep) -> Rule:
    return Rule(line.rule, float(line.values[0]), line.correction)


def _number_name(line: Sweep) -> str:
    parameter = RULES[line.rule].parameter
    if parameter is None:
        return ""
    name = {"threshold": _("threshold {symbol}"), "lenience": _("lenience {symbol}")}.get(parameter.name, "{symbol}")
    return name.format(symbol=parameter.symbol)


def sweep_text(line: Sweep, alpha: float, at: float | None = None) -> str:
    """The picture in words: the least and the greatest bias, and what happens at ``at``."""
    low, high = int(line.tv.argmin()), int(line.tv.argmax())
    text = _(
        "Total variation against the {name}: least {least} at {where}, greatest {most} at {there}."
        " The random rule has 0 everywhere and accepts {alpha}."
    ).format(
        name=_number_name(line),
        least=probability(_rounded(float(line.tv[low]))),
        where=f"{line.values[low]:.2f}",
        most=probability(_rounded(float(line.tv[high]))),
        there=f"{line.values[high]:.2f}",
        alpha=probability(min(1.0, alpha)),
    )
    if at is None:
        return text
    i = int(np.abs(line.values - at).argmin())
    here = _("At {at}: total variation {tv}, acceptance {a}.").format(
        at=f"{at:.2f}",
        tv=probability(_rounded(float(line.tv[i]))),
        a=probability(_rounded(min(1.0, float(line.acceptance[i])))),
    )
    return f"{text} {here}"


def _rounded(value: float) -> float:
    return 0.0 if value < _ZERO else value


# --- the trade -------------------------------------------------------------------------------------------------------


def trade_map(
    points: Sequence[Trade], theme: Theme, curves: Sequence[Sweep] = (), notation: Notation = BOOK
) -> go.Figure:
    """Bias against expected tokens per block: one point per rule, one line per rule that was swept.

    Exact rules lie on the floor; what lies further right is faster, what lies higher is more wrong.
    Raises ValueError without a point.
    """
    if not points:
        raise ValueError("points must hold at least one rule.")
    c = colours(theme)
    tau = points[0].tau
    figure = go.Figure()
    for line in curves:
        _add_curve(figure, line, tau, theme)
    for point, style in zip(points, styles([x.rule for x in points], theme), strict=True):
        figure.add_scatter(
            x=[point.tokens],
            y=[point.tv],
            mode="markers",
            name=rule_label(point.rule),
            marker={"size": 15, "color": style.colour, "symbol": style.symbol, "line": {"width": 1, "color": c["ink"]}},
            cliponaxis=False,
            hovertemplate="%{x:.3f}, %{y:.4f}<extra>" + rule_label(point.rule) + "</extra>",
        )
    highest = max([x.tv for x in points] + [float(line.tv.max()) for line in curves] + [0.01])
    across = _("expected tokens per block, {tau} = {n}").format(tau=notation.tau, n=tau)
    figure.update_layout(
        layout(
            theme,
            height=440,
            xaxis={"title": axis_title(across, theme), "range": [0.9, tau + 1.15]},
            yaxis={
                "title": axis_title(_("bias: total variation to {p}").format(p=notation.p), theme),
                "range": [-0.04 * highest, highest * 1.1],
                "tickformat": ".2~f",
            },
        )
    )
    return figure


def _add_curve(figure: go.Figure, line: Sweep, tau: int, theme: Theme) -> None:
    rule = _rule_of(line)
    symbol = rule.spec.parameter.symbol if rule.spec.parameter else ""
    tokens, tv = trade_curve(line, tau)
    figure.add_scatter(
        x=tokens,
        y=tv,
        mode="lines",
        name=_("{rule}, every {symbol}").format(rule=_(rule.spec.title), symbol=symbol),
        line={
            "color": styles([rule], theme)[0].colour,
            "width": 2,
            "dash": "dot" if line.rule == "fixed" else "dash",
        },
        customdata=line.values,
        hovertemplate="%{customdata:.2f}: %{x:.2f}, %{y:.4f}<extra></extra>",
    )


def trade_text(points: Sequence[Trade]) -> str:
    """The picture in words, one sentence per rule."""
    return " ".join(
        _("{rule}: {tokens} tokens per block for a total variation of {tv}.").format(
            rule=rule_label(x.rule), tokens=f"{x.tokens:.2f}", tv=probability(_rounded(x.tv))
        )
        for x in points
    )
