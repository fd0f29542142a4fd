"""Lesson 1: one candidate, its ratio, its draw, its verdict; and the same candidate under many draws.

Typed numbers are Fractions, so ties fall as on paper. Draws have four decimals, because the number that is shown is
the number that decides.

Does not know: streamlit, figures.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from specdec_core.acceptance import RANDOM
from specdec_core.distributions import Array, uniforms
from specdec_core.lessons.typed import is_short, told_apart, written
from specdec_core.words import BOOK, Notation, _

GRID = 10_000
MAX_DRAWS = 1000


@dataclass(frozen=True)
class OneToken:
    """A candidate with q above 0, its p and its draw, as typed."""

    q: Fraction
    p: Fraction
    r: Fraction

    @property
    def ratio(self) -> Fraction:
        return self.p / self.q

    @property
    def bar(self) -> Fraction:
        """min(1, p/q): where the bar ends, and the chance that a fresh draw accepts."""
        return min(Fraction(1), self.ratio)

    @property
    def accepted(self) -> bool:
        return bool(RANDOM.accepts(self.p, self.q, self.r))

    @property
    def tie(self) -> bool:
        """Whether r stands exactly on the end of the bar, where a token with p = 0 falls all the same."""
        return self.r == self.ratio


def draws(seed: int, n: int) -> NDArray[np.int64]:
    """The first ``n`` draws of that seed, shape ``(n,)``, as ten-thousandths from 1 to 10,000.

    Rounded up, so that P(r <= a) = a for every a of four decimals, and r is never 0. A longer series begins with the
    shorter one.
    """
    return np.ceil(uniforms(np.random.default_rng(seed), n) * GRID).astype(np.int64)


def draw_text(ticks: int) -> str:
    """A draw as it would be typed."""
    return written(Fraction(int(ticks), GRID))


def stays(q: Fraction, p: Fraction, ticks: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which draws accept the candidate: the very comparison of ``OneToken.accepted``, for all at once."""
    if p == 0:
        return np.zeros(ticks.shape, dtype=np.bool_)
    # k / GRID <= p / q, in whole numbers.
    limit = (p * GRID / q).__floor__()
    return ticks <= limit


def running_frequency(kept: NDArray[np.bool_]) -> Array:
    """The share of accepted draws after 1, 2, ... n draws."""
    return np.cumsum(kept) / np.arange(1, kept.size + 1)


def arithmetic(x: OneToken, n: Notation = BOOK) -> str:
    """p/q worked out with the typed numbers, as TeX without dollar signs."""
    equals = "=" if is_short(x.ratio) else r"\approx"
    return rf"\frac{{{n.tex['p']}}}{{{n.tex['q']}}} = \frac{{{_tex(x.p)}}}{{{_tex(x.q)}}} {equals} {written(x.ratio)}"


def _tex(value: Fraction) -> str:
    """A typed number: a decimal if it is a short one, else the fraction that was typed, else cut with dots."""
    if is_short(value, 6):
        return written(value, 6)
    if value.denominator < 1000:
        return f"{value.numerator}/{value.denominator}"
    return written(value, 6) + r"\dots"


def comparison(x: OneToken, n: Notation = BOOK) -> str:
    """The comparison that decides, as TeX without dollar signs."""
    sign = ">" if x.r > x.ratio else "=" if x.tie else "<"
    r, ratio = told_apart(x.r, x.ratio)
    return rf"{n.tex['r']} = {r} {sign} {ratio}"


def verdict_words(x: OneToken, n: Notation = BOOK) -> str:
    """Why the token stays or falls, in a plain sentence."""
    r, ratio = told_apart(x.r, x.ratio)
    names = {"r": n.r, "p": n.p, "q": n.q, "r_value": r, "ratio": ratio}
    if x.p == 0:
        return _("{p} = 0: the target would never write this token. It falls, whatever {r} is.").format(**names)
    if x.tie:
        return _("{r} = {r_value} equals {p}/{q}. Only above rejects, so a tie accepts: the token stays.").format(
            **names
        )
    if x.ratio >= 1:
        return _(
            "{p}/{q} = {ratio} is at least 1, and {r} never gets above 1: this token stays whatever is drawn."
        ).format(**names)
    if x.accepted:
        return _("{r} = {r_value} is not above {p}/{q} = {ratio}: the token stays.").format(**names)
    return _("{r} = {r_value} is above {p}/{q} = {ratio}: the token falls.").format(**names)


def chance_words(x: OneToken, n: Notation = BOOK) -> str:
    """How often the token would stay over fresh draws, and why that is the right share. Plain sentences."""
    names = {"p": n.p, "q": n.q, "p_value": written(x.p), "q_value": written(x.q), "bar": written(x.bar)}
    if x.p == 0:
        return _("The draft proposes it with {q} = {q_value}, and none of that may come out: {p} = 0.").format(**names)
    if x.ratio >= 1:
        return _(
            "The draft proposes it with {q} = {q_value}, no more often than the target's {p} = {p_value} allows."
            " So all of it is kept; what is still missing up to {p} comes from the correction."
        ).format(**names)
    return _(
        "The draft proposes it with {q} = {q_value}: too often. Kept in a share {bar} of the cases, it comes out with"
        " {q_value} × {bar} = {p_value}, just as often as the target's {p} asks."
    ).format(**names)


def picture_words(x: OneToken, n: Notation = BOOK, kept: NDArray[np.bool_] | None = None) -> str:
    """The number line in words: its text alternative."""
    text = _("A line from 0 to 1. The bar reaches from 0 to {bar}; {r} stands at {r_value}. {verdict}").format(
        bar=written(x.bar), r=n.r, r_value=written(x.r), verdict=verdict_words(x, n)
    )
    if kept is None or not kept.size:
        return text
    return _("{text} Of {n} draws below the line, {kept} lie inside the bar.").format(
        text=text, n=kept.size, kept=int(kept.sum())
    )
