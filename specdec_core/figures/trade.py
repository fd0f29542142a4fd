"""What a threshold costs for every value of it, and what each rule buys: bias against tokens per block.

Does not know: streamlit, random numbers, where p and q come from.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from specdec_core.acceptance import RULES, Rule
from specdec_core.bias import Sweep, Trade, frontier, rule_label, trade_curve
from specdec_core.distributions import Array
from specdec_core.figures.drawing import Drawing
from specdec_core.figures.palette import Theme, colours, layout
from specdec_core.figures.rules import ZERO, axis_title, styles
from specdec_core.numbers import probability
from specdec_core.words import BOOK, Notation, _

# --- a sweep over the threshold --------------------------------------------------------------------------------------


def sweep_lines(
    line: Sweep, alpha: float, theme: Theme, at: float | None = None, notation: Notation = BOOK
) -> go.Figure:
    """Bias and acceptance against a rule's number, one above the other, with the random rule as a level in both.

    alpha: the random rule's acceptance. at: the value in use, marked.
    """
    panels = _Panels(line, theme, at)
    panels.add(1, line.tv, 0.0, _("bias: total variation to {p}").format(p=notation.p), _("random rule: 0"))
    panels.add(2, line.acceptance, alpha, _("acceptance rate"), _("random rule: {a}").format(a=f"{alpha:.3f}"))
    return panels.figure()


class _Panels:
    """Two panels with one x axis: curve, the random rule's level, and the value in use in each."""

    _DOMAINS = {1: (0.58, 1.0), 2: (0.0, 0.42)}

    def __init__(self, line: Sweep, theme: Theme, at: float | None) -> None:
        self.line, self.at, self.theme, self.c = line, at, theme, colours(theme)
        self.colour = styles([_rule_of(line)], theme)[0].colour
        self.drawing = Drawing()
        self.ranges: dict[int, list[float]] = {}

    def add(self, row: int, values: Array, level: float, title: str, level_text: str) -> None:
        x = self.line.values
        shape = "hv" if self.line.rule == "fixed" else "linear"
        self._line(row, x, values, {"color": self.colour, "width": 3, "shape": shape}, "%{x:.2f}: %{y:.4f}")
        self._line(row, x[[0, -1]], [level, level], {"color": self.c["accepted"], "width": 3, "dash": "dash"}, None)
        top = max(float(values.max()), level, 1e-3)
        self.ranges[row] = [-0.05 * top, top * 1.16]
        # The level's name stands where the curve is not: bias starts high, and acceptance ends on the other side.
        if row == 1:
            self._note(row, level_text, x=0.005, y=level, data_y=True, anchor=("left", "bottom"))
        else:
            anchor = ("right", "bottom" if float(values[-1]) < level else "top")
            self._note(row, level_text, x=1, y=level, data_y=True, anchor=anchor)
        self._note(row, f"<b>{title}</b>", x=0, y=1, data_y=False, anchor=("left", "bottom"))
        if self.at is not None:
            self._mark(row, values, top)

    def figure(self) -> go.Figure:
        base = layout(self.theme, height=430, margin={"t": 28})
        x, y = base.pop("xaxis"), base.pop("yaxis")
        axes: dict[str, Any] = {}
        for row, domain in self._DOMAINS.items():
            end = _axis(row)
            across: dict[str, Any] = {"anchor": f"y{end}", "domain": [0, 1]}
            across |= {"matches": "x2", "showticklabels": False} if row == 1 else {}
            axes[f"xaxis{end}"] = {**x, **across}
            axes[f"yaxis{end}"] = {
                **y, "tickformat": ".2~f", "nticks": 5, "anchor": f"x{end}", "domain": domain, "range": self.ranges[row]
            }  # fmt: skip
        axes["xaxis2"]["title"] = axis_title(_number_name(self.line), self.theme)
        return self.drawing.figure({**base, **axes})

    def _line(self, row: int, x: Any, y: Any, style: dict[str, Any], hover: str | None) -> None:
        more = {"hoverinfo": "skip"} if hover is None else {"hovertemplate": hover + "<extra></extra>"}
        self._trace(row, x=x, y=y, mode="lines", line=style, **more)

    def _trace(self, row: int, **given: Any) -> None:
        end = _axis(row)
        self.drawing.add_scatter(xaxis=f"x{end}", yaxis=f"y{end}", showlegend=False, **given)

    def _note(self, row: int, text: str, x: float, y: float, data_y: bool, anchor: tuple[str, str]) -> None:
        end = _axis(row)
        self.drawing.add_annotation(
            text=text,
            x=x,
            xref=f"x{end} domain",
            y=y,
            yref=f"y{end}" if data_y else f"y{end} domain",
            xanchor=anchor[0],
            yanchor=anchor[1],
            showarrow=False,
            font={"size": 14, "color": self.c["accepted"] if data_y else self.c["ink"]},
        )

    def _mark(self, row: int, values: Array, top: float) -> None:
        assert self.at is not None
        y = float(values[int(np.abs(self.line.values - self.at).argmin())])
        side = "left" if self.at > 0.8 else "right" if self.at < 0.2 else "center"
        self._trace(
            row,
            x=[self.at],
            y=[y],
            mode="markers+text",
            text=[f"<b>{y:.3f}</b>"],
            textposition=f"{'bottom' if y > 0.85 * top else 'top'} {side}",
            textfont={"size": 16, "color": self.c["ink"]},
            marker={"size": 13, "color": self.c["ink"], "symbol": "diamond"},
            hoverinfo="skip",
            cliponaxis=False,
        )


def _axis(row: int) -> str:
    return "" if row == 1 else str(row)


def _rule_of(line: Sweep) -> Rule:
    return Rule(line.rule, float(line.values[0]), line.correction)


def _number_name(line: Sweep) -> str:
    parameter = RULES[line.rule].parameter
    if parameter is None:
        return ""
    name = {
        "threshold": _("threshold {symbol}"),
        "lenience": _("lenience {symbol}"),
        "weight": _("weight {symbol}"),
    }.get(parameter.name, "{symbol}")
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
    return 0.0 if value < ZERO else value


# --- the trade -------------------------------------------------------------------------------------------------------


def trade_map(
    points: Sequence[Trade],
    theme: Theme,
    curves: Sequence[Sweep] = (),
    notation: Notation = BOOK,
    alpha: float | None = None,
) -> go.Figure:
    """Bias against expected tokens per block: one point per rule, one line per rule that was swept.

    Exact rules lie on the floor; what lies further right is faster, what lies higher is more wrong. alpha: the random
    rule's acceptance; with it the least bias that any rule can have is drawn (``bias.frontier``).
    Raises ValueError without a point.
    """
    if not points:
        raise ValueError("points must hold at least one rule.")
    c = colours(theme)
    tau = points[0].tau
    drawing = Drawing()
    if alpha is not None:
        tokens, tv = frontier(alpha, tau)
        drawing.add_scatter(
            x=tokens,
            y=tv,
            mode="lines",
            name=_("no rule has less bias"),
            line={"color": c["kept"], "width": 7},
            hoverinfo="skip",
        )
    for line in curves:
        _add_curve(drawing, line, tau, theme)
    for point, style in zip(points, styles([x.rule for x in points], theme), strict=True):
        drawing.add_scatter(
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
    return drawing.figure(
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


def _add_curve(drawing: Drawing, line: Sweep, tau: int, theme: Theme) -> None:
    rule = _rule_of(line)
    symbol = rule.spec.parameter.symbol if rule.spec.parameter else ""
    tokens, tv = trade_curve(line, tau)
    drawing.add_scatter(
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
