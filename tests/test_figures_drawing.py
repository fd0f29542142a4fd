"""Figures are built without plotly's validation, which took most of a page's time: here every one of them is validated.

What passes must also come out as it went in, so that no figure leans on plotly turning one thing into another.
"""

import ast
import inspect
import itertools
import json
import pkgutil
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import plotly.graph_objects as go
import plotly.io as pio
import pytest

import specdec_core.figures
from specdec_core.acceptance import Rule, output_law
from specdec_core.bias import compare, sweep, trade
from specdec_core.figures import answers, bias, context, convergence, drawing, laws, number_line, overlap, speed
from specdec_core.figures import trade as trades
from specdec_core.figures.drawing import Drawing
from specdec_core.figures.palette import Theme
from specdec_core.lessons import correction, why_random
from specdec_core.lessons.draft_context import Situation
from specdec_core.lessons.typed_pair import TypedPair
from specdec_core.models.toy import toy_pair
from specdec_core.simulation import collect, simulate
from specdec_core.texts import TextTally, continue_texts
from specdec_core.textstudy import TextStudy
from specdec_core.theory import best_tau, speed_up
from specdec_core.trace import Settings, Token, TopToken
from specdec_core.words import NOTATIONS

Case = tuple[str, Callable[[], go.Figure]]

THEMES: tuple[Theme, ...] = ("light", "dark")
CHEN = NOTATIONS["chen"]
P, Q = np.array([0.1, 0.6, 0.3]), np.array([0.5, 0.3, 0.2])
ONE = np.array([1.0, 0.0, 0.0])
RULES = [Rule(), Rule("fixed", 0.5), Rule("lenient", 0.5)]
MANY = [Rule(), Rule("fixed", 0.3), Rule("fixed", 0.7), Rule("lenient"), Rule("always"), Rule("never")]
NASTY = ["<b>x</b>", "$5$", "\n", "", "a" * 40, "<b>x</b>"]


# --- every figure, with what a page gives it and with what lies at the edge ------------------------------------------


def typed(q: str, p: str) -> TypedPair:
    columns = [tuple(Fraction(x) for x in text.split()) for text in (q, p)]
    return TypedPair(tuple(f"w{i}" for i in range(len(columns[0]))), *columns)


@cache
def study(texts: int) -> TextStudy:
    tally = TextTally(toy_pair(), Settings("the cat", "toy", tau=2, max_new_tokens=5), RULES)
    for _ in continue_texts(tally, range(texts)):
        pass
    return tally.study()


def of_number_line() -> Iterator[Case]:
    names = ("0.6", "0.3")
    for theme, (bar, r) in itertools.product(THEMES, [(0.6, 0.3), (0.6, 0.61), (0.5, None), (1, 1), (0.0, 0.02)]):
        accepted = r is None or r <= bar
        yield f"line {theme} {bar} {r}", partial(number_line.number_line, bar, r, accepted, names, theme)
    for n in (0, 1, 100, 1000):
        values = (np.arange(1, n + 1) * 0.6180339887 % 1).tolist()
        draws = (values, [x <= 0.6 for x in values])
        yield f"line, {n} draws", partial(number_line.number_line, 0.6, 0.3, True, names, "light", CHEN, draws)
        if n:
            shares = (np.arange(1, n + 1) / (n + 1)).tolist()
            yield f"share, {n} draws", partial(number_line.running_share, shares, 0.6, "dark", CHEN)


def of_overlap() -> Iterator[Case]:
    for theme in THEMES:
        yield f"overlap {theme}", partial(overlap.overlap, ["on", "a", "mat"], P.tolist(), Q.tolist(), theme)
    p: Any = P
    q: Any = Q
    yield "overlap, arrays", partial(overlap.overlap, ["on", "a", "mat"], p, q, "light")
    yield "overlap, marked", partial(overlap.overlap, NASTY, [0.1] * 6, [0.0, 0.5, 0, 0, 0, 1], "light", CHEN, 2)
    yield "overlap, nothing", partial(overlap.overlap, [], [], [], "dark")
    top = [TopToken(Token(x, i), 0.1, 0.2, 0.0) for i, x in enumerate(NASTY)]
    yield "overlap, recorded", partial(overlap.overlap_of, top, "light", candidate=3)
    yield "overlap, recorded, none", partial(overlap.overlap_of, top, "dark")


def of_laws() -> Iterator[Case]:
    for theme, (q, p) in itertools.product(THEMES, [("1/2 3/10 1/5", "1/10 3/5 3/10"), ("1/3 2/3", "1/3 2/3")]):
        pair = typed(q, p)
        found = correction.of_pair(pair)
        yield f"residual {theme} {q}", partial(laws.residual_bars, found, theme)
        for rule in ("residual", "target", "argmax"):
            out = correction.outcome(found, rule).output
            make = partial(laws.law_bars, pair.tokens, pair.p_array.tolist(), out, "what comes out")
            yield f"law {theme} {q} {rule}", partial(make, theme, CHEN, 0.7)
        for c, n, fixed in itertools.product((0.0, 0.5, 1), (1, 12), (False, True)):
            x = why_random.compare(pair, c)
            drawn = why_random.samples(x, 3, n)
            yield f"candidates {theme} {q} {c} {n} {fixed}", partial(laws.candidates, drawn, x, fixed, theme)
    yield "law, nasty", partial(laws.law_bars, NASTY, [0.2] * 6, [0, 0, 0, 0, 0, 1], "$x$", "dark")


def of_context() -> Iterator[Case]:
    for theme, target, t, tau in itertools.product(THEMES, (False, True), (1, 2, 5, 99), (1, 4, 8)):
        situation = Situation(("Tell", "me"), ("The",), tuple(NASTY[:2] * 4)[:tau])
        yield f"triangle {theme} {target} {t} {tau}", partial(context.triangle, situation, t, target, theme)


def of_answers() -> Iterator[Case]:
    for theme, large, n in itertools.product(THEMES, (False, True), (0, 1, 9)):
        listed = answers.bars(3, {f"slip {i}, with a name of some length": i for i in range(n)}, {"slip 1": "$x$ <b>"})
        yield f"answers {theme} {large} {n}", partial(answers.answers_figure, listed, theme, 12, large)
    yield "answers, none", partial(answers.answers_figure, (), "light")


def of_bias() -> Iterator[Case]:
    many = np.concatenate([[0.02, 0.01], np.full(970, 0.001)])
    for theme, rules in itertools.product(THEMES, (RULES, MANY)):
        found = compare(P, Q, rules, 3)
        yield f"rules {theme} {len(rules)}", partial(bias.law_bars, found, ["on", "the", "mat"], theme, CHEN)
    yield "rules, ten of many", partial(bias.law_bars, compare(many, many[::-1], RULES), ["x"] * 10, "light")
    yield "rules, others written", partial(bias.law_bars, compare(many, many, [Rule()], 2), NASTY[:2], "light")


def of_trade() -> Iterator[Case]:
    lines = [sweep(P, Q), sweep(P, Q, "lenient"), sweep(P, Q, "ensemble")]
    for theme, at, line in itertools.product(THEMES, (None, 0.0, 0.5, 1), lines):
        yield f"sweep {theme} {line.rule} {at}", partial(trades.sweep_lines, line, 0.6, theme, at)
    yield "sweep, equal", partial(trades.sweep_lines, sweep(P, P), 1, "light", 0.5, CHEN)
    for theme, alpha in itertools.product(THEMES, (None, 0.6, 1.0)):
        yield f"trade {theme} {alpha}", partial(trades.trade_map, trade(P, Q, MANY), theme, lines, CHEN, alpha)
    yield "trade, one", partial(trades.trade_map, trade(P, P, RULES[:1], 1), "light")


def of_convergence() -> Iterator[Case]:
    for theme, trials, p in itertools.product(THEMES, (3, 2000), (P, ONE)):
        done = collect(simulate(p, Q, RULES, trials=trials, seed=1))
        make = partial(convergence.convergence, done, p, [output_law(p, Q, rule).output for rule in RULES], theme)
        yield f"convergence {theme} {trials} {p[0]}", make
        yield f"convergence {theme} {trials} {p[0]} of 10,000", partial(make, CHEN, 10_000)
    for theme, what, texts in itertools.product(THEMES, ("law_tv", "bias", "log_p"), (2, 24)):
        yield f"texts {theme} {what} {texts}", partial(convergence.text_curves, study(texts), what, theme)


def of_speed() -> Iterator[Case]:
    for theme, cost in itertools.product(THEMES, (0.0, 0.1, 0.3, 1, 1.2)):
        name = "here: × {gain}"
        yield f"map {theme} {cost}", partial(speed.speed_map, cost, theme, (0.6, 4), 16, CHEN, name)
    yield "map, nowhere", partial(speed.speed_map, 0.1, "light")
    yield "map, low", partial(speed.speed_map, 0.1, "dark", (1, 1), highest=1)
    seconds = {"verify": 1.5, "draft": 0.5, "judge": 0, "correct": 0.01, "wait": 0.2}
    runs = [speed.Run(f"run {i}", 0.6 - i / 10, 4 - i // 2, 2.4, (40, 24, 14, 9, 13)) for i in range(6)]
    for theme in THEMES:
        yield f"time {theme}", partial(speed.time_bar, seconds, 10, theme)
        for n in (1, 6):
            yield f"tokens {theme} {n}", partial(speed.tokens_curve, runs[:n], theme, CHEN)
        for run in (runs[0], speed.Run("all", 1, 3, 4, (0, 0, 0, 2)), speed.Run("none", 0, 1, 1.0, (5,))):
            yield f"accepted {theme} {run.name}", partial(speed.n_a_bars, run, theme)
    yield "time, none", partial(speed.time_bar, {}, 0, "light")


PARTS = (
    of_number_line, of_overlap, of_laws, of_context, of_answers, of_bias, of_trade, of_convergence, of_speed
)  # fmt: skip


# --- what plotly says of them ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", PARTS)
def test_what_is_drawn_is_valid_and_nothing_is_put_right_for_us(part: Callable[[], Iterator[Case]]) -> None:
    for name, draw in part():
        figure = draw()
        checked = go.Figure(figure.to_dict())
        assert json.loads(checked.to_json()) == json.loads(figure.to_json()), name


@pytest.mark.parametrize("part", PARTS)
def test_what_the_template_leaves_out_is_never_drawn(part: Callable[[], Iterator[Case]]) -> None:
    for name, draw in part():
        plain = json.loads(draw().to_json())
        assert not {key.rstrip("0123456789") for key in plain["layout"]} & set(drawing._NEVER_DRAWN), name
        for trace in plain["data"]:
            assert trace["type"] in ("bar", "scatter", "heatmap", "contour"), name
            assert '"coloraxis"' not in json.dumps(trace), name
            assert trace["type"] != "heatmap" or trace["colorscale"], name
            assert trace["type"] != "contour" or trace["contours"]["coloring"] == "none", name


def figure_modules() -> list[ModuleType]:
    root = specdec_core.figures
    return [import_module(f"{root.__name__}.{x.name}") for x in pkgutil.iter_modules(root.__path__)]


def test_no_figure_is_missing_here(monkeypatch: pytest.MonkeyPatch) -> None:
    there, seen = set(), set()

    def watched(key: str, make: Callable[..., go.Figure]) -> Callable[..., go.Figure]:
        def call(*args: Any, **more: Any) -> go.Figure:
            seen.add(key)
            return make(*args, **more)

        return call

    for module in figure_modules():
        for name, make in inspect.getmembers(module, inspect.isfunction):
            if make.__module__ == module.__name__ and make.__annotations__.get("return") is go.Figure:
                there.add(f"{module.__name__}.{name}")
                monkeypatch.setattr(module, name, watched(f"{module.__name__}.{name}", make))
    for part in PARTS:
        for _, draw in part():
            draw()
    assert len(there) >= 17 and seen == there


# --- how they are made -----------------------------------------------------------------------------------------------


def test_only_a_drawing_makes_figures() -> None:
    """A figure that plotly checks takes fifty milliseconds, and eighty students ask at once."""
    folder = Path(specdec_core.figures.__file__).parent
    makers = {
        file.name
        for file in folder.glob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if (isinstance(node, ast.Call) and "Figure" in ast.unparse(node.func))
        or (isinstance(node, ast.ClassDef) and any("Figure" in ast.unparse(base) for base in node.bases))
    }
    assert makers == {"drawing.py"}


def test_plotly_checks_nothing() -> None:
    """``_validate`` is plotly's private word: were it gone or without effect, every page would be slow again."""
    sketch = Drawing()
    sketch.add_bar(x=[1], nonsense=1)
    assert sketch.figure({"height": "tall"}).to_plotly_json()["data"][0]["nonsense"] == 1
    with pytest.raises(ValueError, match="nonsense"):
        go.Figure({"data": [{"type": "bar", "nonsense": 1}]})


def test_a_figure_is_written_without_becoming_plotlys_and_alike_when_it_has() -> None:
    """Becoming plotly's costs milliseconds of copies, which no page needs."""
    figure = speed.speed_map(0.1, "light")
    before = json.loads(pio.to_json(figure.to_dict(), validate=False))
    assert "_data" not in figure.__dict__
    assert len(figure.data) == len(before["data"]) and "_data" in figure.__dict__
    assert json.loads(pio.to_json(figure.to_dict(), validate=False)) == before
    figure.layout.height = 321
    assert figure.to_dict()["layout"]["height"] == 321
    with pytest.raises(AttributeError):
        _ = figure.nonsense


def test_shapes_and_annotations_are_there_only_where_there_are_any() -> None:
    sketch = Drawing()
    assert not {"shapes", "annotations"} & set(sketch.figure({}).to_dict()["layout"])
    sketch.add_shape(type="line", x0=0, x1=1, y0=0, y1=1)
    sketch.add_annotation(text="x", x=0, y=0)
    figure = sketch.figure({"height": 200})
    assert (len(figure.layout.shapes), figure.layout.annotations[0].text, figure.layout.height) == (1, "x", 200)


def test_a_figure_is_its_own() -> None:
    """What it was made of can change and it does not; nor does one axis with the other."""
    values, axis = np.arange(5.0), {"tickfont": {"size": 14}}
    sketch = Drawing()
    sketch.add_heatmap(x=values, colorscale=[[0, "#000000"], [1, "#ffffff"]])
    figure = sketch.figure({"xaxis": axis, "yaxis": axis})
    values[0] = 9
    figure.layout.xaxis.tickfont.size = 20
    assert list(figure.data[0].x) == [0, 1, 2, 3, 4]
    assert (figure.layout.yaxis.tickfont.size, axis["tickfont"]["size"]) == (14, 14)


def test_arrays_stay_compact() -> None:
    plain = json.loads(speed.speed_map(0.1, "light").to_json())
    for name, shape in (("z", "16, 101"), ("customdata", "16, 101"), ("x", None), ("y", None)):
        assert plain["data"][0][name]["bdata"] and plain["data"][0][name].get("shape") == shape


@pytest.mark.parametrize("name", ("plotly", "streamlit", "ggplot2", "plotly_white+xgridoff"))
def test_of_the_template_only_what_is_drawn_is_sent(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import_module("streamlit.elements.plotly_chart")  # gives the pages' template its name
    monkeypatch.setattr(pio.templates, "default", name)
    for make in (
        lambda: speed.speed_map(0.1, "light"),
        lambda: number_line.number_line(0.6, 0.3, True, ("", ""), "dark"),
    ):
        figure = make()
        whole = json.loads(json.dumps(pio.templates[name].to_plotly_json()))
        sent = json.loads(figure.to_json())["layout"]["template"]
        types = {trace.type for trace in figure.data}
        assert sent.get("data", {}) == {x: y for x, y in whole["data"].items() if x in types}
        assert sent["layout"] == {x: y for x, y in whole["layout"].items() if x not in drawing._NEVER_DRAWN}


def test_without_a_template_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pio.templates, "default", None)
    assert "template" not in Drawing().figure({}).to_dict()["layout"]


# --- the speed-up's map, whose numbers are kept ----------------------------------------------------------------------


@pytest.mark.parametrize("cost", (0.0, 0.1, 0.3, 1.0))
def test_the_map_shows_the_formula_at_every_point(cost: float) -> None:
    figure = speed.speed_map(cost, "light", highest=6)
    heat, best = figure.data[0], next(x for x in figure.data if x.name == "best τ")
    alphas = [float(a) for a in heat.x]
    assert np.array_equal(heat.customdata, [[speed_up(a, t, cost) for a in alphas] for t in range(1, 7)])
    wanted = [(a, best_tau(a, cost, 6)) for a in alphas]
    assert list(zip(best.x, best.y, strict=True)) == [(a, t) for a, t in wanted if t]


def test_a_negative_cost_has_no_map() -> None:
    with pytest.raises(ValueError, match="cost must be 0 or more"):
        speed.speed_map(-0.1, "light")
