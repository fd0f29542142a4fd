"""Figures of the bias lab and the speed page: what is drawn is what was computed, in both themes, with its words."""

import itertools

import numpy as np
import plotly.graph_objects as go
import pytest

from specdec_core.acceptance import Rule, output_law
from specdec_core.bias import compare, sweep, trade
from specdec_core.figures import bias, convergence, speed
from specdec_core.figures import trade as trade_figures
from specdec_core.figures.palette import Theme, colours
from specdec_core.figures.rules import styles
from specdec_core.models.toy import toy_pair
from specdec_core.simulation import collect, simulate
from specdec_core.texts import TextTally, continue_texts
from specdec_core.theory import best_tau, expected_tokens, speed_up
from specdec_core.trace import Settings
from specdec_core.words import NOTATIONS

P, Q = np.array([0.1, 0.6, 0.3]), np.array([0.5, 0.3, 0.2])
RULES = [Rule(), Rule("fixed", 0.5), Rule("lenient", 0.5)]
THEMES: tuple[Theme, ...] = ("light", "dark")


@pytest.fixture(scope="module")
def study():
    tally = TextTally(toy_pair(), Settings("the cat", "toy", tau=2, max_new_tokens=5), RULES)
    assert sum(1 for _ in continue_texts(tally, range(24))) == 72
    return tally.study()


@pytest.fixture(scope="module")
def done():
    return collect(simulate(P, Q, RULES, trials=2000, seed=1))


def named(figure, name):
    return next(trace for trace in figure.data if trace.name == name)


def check(figure, text):
    """What holds for every figure: serialisable, with words, no letter below 14 pixels, nothing to zoom by accident."""
    assert isinstance(figure, go.Figure) and figure.to_json()
    assert figure.layout.font.size >= 14 and figure.layout.dragmode is False
    assert figure.layout.height >= 150
    for note in figure.layout.annotations:
        assert note.font.size >= 14
    assert text.endswith(".") and "{" not in text and "nan" not in text


@pytest.mark.parametrize("theme", THEMES)
def test_law_bars(theme):
    found = compare(P, Q, RULES, 3)
    figure = bias.law_bars(found, ["on", "the", "mat"], theme)
    check(figure, bias.law_bars_text(found, ["on", "the", "mat"]))
    assert list(named(figure, "Fixed threshold, c = 0.5").x) == pytest.approx([0.675, 0.0, 0.325])
    assert list(named(figure, "draft q").x) == pytest.approx(found.q[:3].tolist())
    assert [x for x in named(figure, "target p").x if x is not None] == pytest.approx(
        np.repeat(found.p[:3], 2).tolist()
    )
    texts = next(x.text for x in figure.data if x.type == "scatter" and x.mode == "text")
    assert "✕ vanished" in texts and "▲ +0.075" in texts


def test_law_bars_in_words():
    text = bias.law_bars_text(compare(P, Q, RULES[:2], 3), ["on", "the", "mat"])
    assert text == (
        "Random threshold: accepts 0.600, and its law is exactly p. Fixed threshold, c = 0.5: accepts 0.500;"
        " total variation to p 0.100; most changed: “the”, from 0.100 to 0."
    )


def test_many_others_are_written_and_not_drawn():
    p = np.concatenate([[0.02, 0.01], np.full(970, 0.001)])
    found = compare(p, p, [Rule()], 2)
    figure = bias.law_bars(found, ["a", "b"], "light")
    assert figure.layout.xaxis.range[1] < 0.05
    assert list(figure.layout.yaxis.ticktext) == ["a", "b", "970 others"]
    assert any("0.970" in t for x in figure.data if x.type == "scatter" and x.mode == "text" for t in x.text)


def test_token_texts_are_literal():
    figure = bias.law_bars(compare(P, Q, RULES, 3), ["<b>x</b>", "$5$", "\n"], "light")
    assert list(figure.layout.yaxis.ticktext) == ["&lt;b&gt;x&lt;/b&gt;", "&#36;5&#36;", "⏎"]


@pytest.mark.parametrize("theme, at", list(itertools.product(THEMES, (None, 0.0, 0.5, 1.0))))
def test_sweep_lines(theme, at):
    line = sweep(P, Q)
    figure = trade_figures.sweep_lines(line, 0.6, theme, at)
    check(figure, trade_figures.sweep_text(line, 0.6, at))
    assert list(figure.data[0].y) == line.tv.tolist()
    if at == 0.5:
        assert "At 0.50: total variation 0.100, acceptance 0.500." in trade_figures.sweep_text(line, 0.6, at)


@pytest.mark.parametrize("theme", THEMES)
def test_trade_map(theme):
    points = trade(P, Q, RULES)
    figure = trade_figures.trade_map(points, theme, [sweep(P, Q), sweep(P, Q, "lenient")], alpha=0.6)
    check(figure, trade_figures.trade_text(points))
    assert (named(figure, "Fixed threshold, c = 0.5").x[0], named(figure, "Fixed threshold, c = 0.5").y[0]) == (
        points[1].tokens,
        points[1].tv,
    )
    with pytest.raises(ValueError):
        trade_figures.trade_map([], theme)


@pytest.mark.parametrize("theme", THEMES)
def test_convergence(theme, done):
    laws = [output_law(P, Q, rule).output for rule in RULES]
    figure = convergence.convergence(done, P, laws, theme, trials=10_000)
    check(figure, convergence.convergence_text(done, P))
    assert list(named(figure, "Random threshold").y) == [m.tv_target for m in done.of(0)]
    assert [note.text for note in figure.layout.annotations] == ["0.100"], "equal levels share a name"
    assert figure.layout.xaxis.range[1] > 4


@pytest.mark.parametrize("theme, what", list(itertools.product(THEMES, ("law_tv", "bias", "log_p"))))
def test_text_curves(theme, what, study):
    figure = convergence.text_curves(study, what, theme)
    check(figure, convergence.text_curves_text(study, what))
    curve = getattr(study.rules[1], what)
    drawn = named(figure, "Fixed threshold, c = 0.5")
    assert list(drawn.y) == [v for v, n in zip(curve.value, curve.n, strict=True) if n > 1]
    assert list(drawn.error_y.array) == [v for v, n in zip(curve.error, curve.n, strict=True) if n > 1]


def test_an_unknown_curve_is_refused(study):
    for call in (lambda: convergence.text_curves(study, "a", "light"), lambda: convergence.text_curves_text(study, "")):
        with pytest.raises(ValueError, match="what must be one of"):
            call()


@pytest.mark.parametrize("theme, cost, notation", list(itertools.product(THEMES, (0.0, 0.1, 1.2), NOTATIONS.values())))
def test_speed_map(theme, cost, notation):
    figure = speed.speed_map(cost, theme, (0.6, 4), notation=notation)
    check(figure, speed.speed_map_text(cost, (0.6, 4), notation=notation))
    heat = figure.data[0]
    row, column = list(heat.y).index(4), list(heat.x).index(0.6)
    assert heat.customdata[row][column] == speed_up(0.6, 4, cost)
    best = named(figure, f"best {notation.tau}")
    assert all(best_tau(float(a), cost) == t for a, t in zip(best.x, best.y, strict=True))


@pytest.mark.parametrize("theme", THEMES)
def test_time_bar(theme):
    seconds = {"verify": 1.5, "draft": 0.5, "judge": 0.0, "correct": 0.01, "wait": 0.2}
    figure = speed.time_bar(seconds, 10, theme)
    check(figure, speed.time_text(seconds, 10))
    assert [trace.x[0] for trace in figure.data] == pytest.approx([50, 150, 0, 1, 20]), "in the order of the work"
    assert "verify 150.0 ms (68%)" in speed.time_text(seconds, 10)
    speed.time_bar({}, 0, theme)


@pytest.mark.parametrize("theme", THEMES)
def test_run_and_formula(theme):
    run = speed.Run("this run", 0.6, 4, 2.4, (40, 24, 14, 9, 13))
    figure = speed.tokens_curve([run, speed.Run("another", 0.5, 2, 1.7)], theme)
    check(figure, speed.tokens_curve_text([run]))
    assert named(figure, "formula, τ = 4").y[60] == pytest.approx(expected_tokens(0.6, 4))
    assert "2.40 tokens per block; the formula says 2.31." in speed.tokens_curve_text([run])
    bars = speed.n_a_bars(run, theme)
    check(bars, speed.n_a_text(run))
    assert sum(bars.data[0].y) == pytest.approx(1) and sum(bars.data[1].y) == pytest.approx(1)
    with pytest.raises(ValueError):
        speed.n_a_bars(speed.Run("empty", 0.6, 4, 2.4), theme)
    with pytest.raises(ValueError):
        speed.tokens_curve([], theme)


def test_the_geometric_law_has_the_formula_s_mean():
    for alpha in (0.0, 0.3, 1.0):
        law = speed.geometric(alpha, 4)
        assert sum(law) == pytest.approx(1)
        assert sum(k * x for k, x in enumerate(law)) + 1 == pytest.approx(expected_tokens(alpha, 4))


def test_rules_are_told_apart_without_colour():
    many = [Rule(), Rule("fixed", 0.3), Rule("fixed", 0.7), Rule("lenient"), Rule("always"), Rule("never")]
    for theme in THEMES:
        found = styles(many, theme)
        for field in ("pattern", "dash", "symbol"):
            assert len({getattr(s, field) for s in found}) == len(many)
        assert {s.colour for s in found} <= set(colours(theme).values())
