"""How a simulation settles, and how a bias travels through a text: curves with what chance alone would show.

Does not know: streamlit, models, where the counts come from.
"""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from specdec_core.bias import rule_label
from specdec_core.distributions import Array, total_variation
from specdec_core.figures.drawing import Drawing
from specdec_core.figures.palette import Theme, colours, layout
from specdec_core.figures.rules import ZERO, axis_title, styles
from specdec_core.numbers import probability
from specdec_core.simulation import Simulation, expected_error
from specdec_core.textstudy import Curve, TextStudy
from specdec_core.words import BOOK, Notation, _

# --- a simulation ----------------------------------------------------------------------------------------------------


def convergence(
    done: Simulation,
    p: Array,
    laws: Sequence[Array],
    theme: Theme,
    notation: Notation = BOOK,
    trials: int | None = None,
) -> go.Figure:
    """TV(empirical law, p) against the number of trials, both logarithmic.

    laws: the exact law of each rule; where it is not p, a dotted level shows the distance that stays for ever.
    trials: how far the axis reaches, so that a growing run does not rescale it. The dashed line is what chance alone
    does to an exact rule; the thin one falls as 1/sqrt(n).
    """
    c = colours(theme)
    drawing = Drawing()
    last = max(trials or done.trials, 10)
    marks = np.unique(np.round(np.geomspace(10, last, 25)).astype(int))
    chance = [expected_error(p, int(n)) for n in marks]
    biases = [total_variation(law, p) for law in laws]
    for i, (rule, style) in enumerate(zip(done.rules, styles(done.rules, theme), strict=True)):
        measures = done.of(i)
        drawing.add_scatter(
            x=[m.n for m in measures],
            # A logarithmic axis has no zero; a hit that exact happens only with a handful of trials.
            y=[max(m.tv_target, 1e-9) for m in measures],
            mode="lines+markers",
            name=rule_label(rule),
            line={"color": style.colour, "width": 3, "dash": style.dash},
            marker={"size": 8, "symbol": style.symbol},
            hovertemplate="n = %{x:,}: %{y:.4f}<extra>" + rule_label(rule) + "</extra>",
        )
    lowest = min([x for x in chance if x > 0] + [b for b in biases if b > ZERO], default=1e-3)
    named: list[float] = []
    for bias, style in zip(biases, styles(done.rules, theme), strict=True):
        if bias > ZERO:
            # Two names on one spot can be read by nobody; lines that close have one distance for all that can be seen.
            apart = all(abs(np.log10(bias / other)) > -0.06 * np.log10(lowest) for other in named)
            _add_level(drawing, bias, last, style.colour, label=apart)
            named += [bias] if apart else []
    if max(biases) > ZERO:
        drawing.add_scatter(
            x=[None], y=[None], mode="lines", name=_("a rule's exact distance"),
            line={"color": c["ink"], "width": 2, "dash": "dot"},
        )  # fmt: skip
    drawing.add_scatter(
        x=marks, y=chance, mode="lines", name=_("chance alone, if the law is {p}").format(p=notation.p),
        line={"color": c["soft"], "width": 2, "dash": "dash"}, hoverinfo="skip",
    )  # fmt: skip
    drawing.add_scatter(
        x=marks, y=chance[-1] * np.sqrt(marks[-1] / marks), mode="lines", name=_("falling as 1/√n"),
        line={"color": c["kept"], "width": 1.5, "dash": "dot"}, hoverinfo="skip",
    )  # fmt: skip
    distances = [m.tv_target for row in done.history for m in row] + chance + [b for b in biases if b > ZERO]
    # Where p is certain of one token nothing is ever off, and a logarithmic axis still needs numbers.
    seen = [x for x in distances if x > 0] or [1e-3, 1.0]
    return drawing.figure(
        layout(
            theme,
            height=460,
            margin={"r": 58},
            xaxis=_log_axis(9, last * 1.15) | {"title": axis_title(_("trials n"), theme)},
            yaxis=_log_axis(min(seen) * 0.8, min(1.0, max(seen)) * 1.25)
            | {"title": axis_title(_("total variation to {p}").format(p=notation.p), theme)},
        )
    )


def _add_level(drawing: Drawing, bias: float, last: float, colour: str, label: bool) -> None:
    drawing.add_scatter(
        x=[10, last], y=[bias, bias], mode="lines", showlegend=False, hoverinfo="skip",
        line={"color": colour, "width": 2, "dash": "dot"},
    )  # fmt: skip
    if not label:
        return
    drawing.add_annotation(
        x=1, xref="paper", xanchor="left", y=float(np.log10(bias)), yanchor="middle", showarrow=False,
        text=probability(bias), font={"size": 14, "color": colour},
    )  # fmt: skip


def _log_axis(low: float, high: float) -> dict[str, object]:
    decades = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    names = {0: "1", 1: "10", 2: "100", 3: "1,000", 4: "10⁴", 5: "10⁵", 6: "10⁶"}
    return {
        "type": "log",
        "range": [float(np.log10(low)), float(np.log10(high))],
        "tickvals": [10.0**d for d in decades],
        "ticktext": [names.get(d, f"{10.0**d:g}") for d in decades],
    }


def convergence_text(done: Simulation, p: Array, notation: Notation = BOOK) -> str:
    """The picture in words: where each rule stands at the last checkpoint, and what chance alone would leave."""
    noise = probability(expected_error(p, max(1, done.trials)))
    sentences = [
        _("After {n} trials chance alone leaves a total variation of about {noise}.").format(
            n=f"{done.trials:,}", noise=noise
        )
    ]
    for rule, measure in zip(done.rules, done.history[-1], strict=True):
        sentences.append(
            _("{rule}: {tv} to {p}, {law} to its own exact law.").format(
                rule=rule_label(rule),
                tv=probability(measure.tv_target),
                p=notation.p,
                law=probability(measure.tv_law),
            )
        )
    return " ".join(sentences)


# --- texts -----------------------------------------------------------------------------------------------------------


def text_curves(study: TextStudy, what: str, theme: Theme, notation: Notation = BOOK) -> go.Figure:
    """A statistic of ``study`` per position of the text, one line per rule, with standard errors as bars.

    what: "law_tv" (how far the law of the k-th token has moved), "bias" (the push at each step), or "log_p" (how well
    the target likes the tokens). Raises ValueError for anything else.
    """
    if what not in _TITLES:
        raise ValueError(f"what must be one of {', '.join(_TITLES)}, not {what!r}.")
    drawing = Drawing()
    if what == "law_tv":
        _add_floor(drawing, study, theme)
    rules = [x.acceptance_rule for x in study.rules]
    for i, (texts, style) in enumerate(zip(study.rules, styles(rules, theme), strict=True)):
        if what == "law_tv" and i == 0:
            continue  # the reference, at 0 from itself
        curve: Curve = getattr(texts, what)
        positions = [k + 1 for k, n in enumerate(curve.n) if n > 1]
        # Error bars of several rules at one position would hide each other.
        shift = 0.12 * (i - (len(rules) - 1) / 2)
        drawing.add_scatter(
            x=[k + shift for k in positions],
            y=[curve.value[k - 1] for k in positions],
            error_y={"array": [curve.error[k - 1] for k in positions], "thickness": 1.5, "width": 0},
            mode="lines+markers",
            name=rule_label(rules[i]),
            line={"color": style.colour, "width": 2.5, "dash": style.dash},
            marker={"size": 8, "symbol": style.symbol},
            customdata=[[k, curve.error[k - 1], curve.n[k - 1]] for k in positions],
            hovertemplate="k = %{customdata[0]}: %{y:.3f} ± %{customdata[1]:.3f} (n = %{customdata[2]})<extra></extra>",
        )
    title = _(_TITLES[what]).format(p=notation.p)
    return drawing.figure(
        layout(
            theme,
            height=440,
            xaxis={"title": axis_title(_("position k in the text"), theme)},
            yaxis={"title": axis_title(title, theme)} | ({} if what == "log_p" else {"rangemode": "tozero"}),
        )
    )


_TITLES = {
    "law_tv": "k-th token: total variation to the exact rule",
    "bias": "mean total variation to {p} per step",
    "log_p": "mean log-likelihood under the target, nats",
}


def _add_floor(drawing: Drawing, study: TextStudy, theme: Theme) -> None:
    c = colours(theme)
    drawing.add_scatter(
        x=list(range(1, len(study.floor) + 1)), y=list(study.floor), mode="lines", fill="tozeroy",
        name=_("noise: what one law would show"), fillcolor=c["line"], line={"color": c["kept"], "width": 1},
        hovertemplate="%{y:.3f}<extra></extra>",
    )  # fmt: skip


def text_curves_text(study: TextStudy, what: str) -> str:
    """The picture in words: each rule's first and last value, with their standard errors."""
    if what not in _TITLES:
        raise ValueError(f"what must be one of {', '.join(_TITLES)}, not {what!r}.")
    sentences = []
    for texts in study.rules:
        curve: Curve = getattr(texts, what)
        k = max((k for k, n in enumerate(curve.n) if n > 1), default=0)
        sentences.append(
            _("{rule}: {first} at the first token, {last} (standard error {error}) at token {k}.").format(
                rule=rule_label(texts.acceptance_rule),
                first=f"{curve.value[0]:.3f}",
                last=f"{curve.value[k]:.3f}",
                error=f"{curve.error[k]:.3f}",
                k=k + 1,
            )
        )
    return " ".join(sentences)
