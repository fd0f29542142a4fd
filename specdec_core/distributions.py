"""Logits to distributions, and what one can say of two of them.

Everything is float64. Does not know: models, the acceptance rule, who drew what.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: How far a hand-made distribution's sum may lie from one. Sums of a few decimal fractions miss one by
#: some 1e-16; a person who types three digits and is off by 0.001 made a mistake worth a word.
SUM_TOLERANCE = 1e-9

_CHUNK = 192


class InvalidDistribution(ValueError):
    """A list of numbers is not a distribution. ``str(error)`` names the field and the value."""


@dataclass(frozen=True)
class Warp:
    """How logits become a distribution; the same for draft and target.

    temperature: 0 makes the distribution one-hot. top_k: 0 switches it off. top_p: 1 switches it off.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.temperature) and 0 <= self.temperature <= 10):
            raise ValueError(f"temperature must be between 0 and 10, not {self.temperature}.")
        if isinstance(self.top_k, bool) or self.top_k != int(self.top_k) or self.top_k < 0:
            raise ValueError(f"top-k must be a whole number, 0 (off) or more, not {self.top_k}.")
        if not (np.isfinite(self.top_p) and 0 < self.top_p <= 1):
            raise ValueError(f"top-p must be above 0 and at most 1, not {self.top_p}.")


def probabilities(logits: NDArray[np.floating], warp: Warp = Warp()) -> Array:
    """The distribution over the vocabulary, shape ``(V,)``, for logits of shape ``(V,)``.

    Order: temperature, then top-k, then top-p, as transformers' logits warpers apply them. The maximum is
    subtracted before anything is divided, so that no temperature overflows. Logits of ``-inf`` give exactly 0.
    Ties at the edge of top-k all stay; top-p keeps the smallest set of most likely tokens whose sum reaches it.

    Raises ValueError when no logit is finite or one is NaN or ``+inf``.
    """
    given = np.asarray(logits)
    if given.ndim != 1 or given.size == 0:
        raise ValueError(f"logits must be a non-empty vector, not of shape {given.shape}.")
    top = given.max()
    if not np.isfinite(top):
        raise ValueError("the model returned logits that are not numbers.")
    if warp.temperature == 0:
        return one_hot(int(given.argmax()), given.size)
    x: Array = np.array(given, dtype=np.float64)
    x -= top
    if warp.temperature != 1:
        x /= warp.temperature
    if 0 < warp.top_k < x.size:
        edge = np.partition(x, x.size - warp.top_k)[x.size - warp.top_k]
        x[x < edge] = -np.inf
    np.exp(x, out=x)
    x /= x.sum()
    if warp.top_p < 1:
        # By logits, not by p: two logits can differ by less than their probabilities show.
        x = _nucleus(x, np.argsort(-given, kind="stable"), warp.top_p)
    return x


def _nucleus(p: Array, order: NDArray[np.intp], top_p: float) -> Array:
    before = np.cumsum(p[order]) - p[order]
    kept = np.zeros_like(p)
    inside = order[before < top_p]
    kept[inside] = p[inside]
    return kept / kept.sum()


def one_hot(index: int, size: int) -> Array:
    """All mass on ``index``, shape ``(size,)``."""
    p = np.zeros(size)
    p[index] = 1.0
    return p


def draw(p: Array, u: float) -> int:
    """The token that a uniform ``u`` in (0, 1] selects: the first whose cumulative sum reaches ``u``.

    A token of probability 0 is never drawn, not even when rounding leaves the whole sum a little below ``u``.
    """
    return int(draw_many(p, np.array([u]))[0])


def draw_many(p: Array, u: Array) -> NDArray[np.intp]:
    """As ``draw`` for a vector of uniforms: token indices of the shape of ``u``."""
    cumulative = np.cumsum(p)
    # Scaling u rather than p keeps every step of the sum, and so every zero step, exactly as it was.
    return np.searchsorted(cumulative, u * cumulative[-1], side="left")


def uniform(rng: np.random.Generator) -> float:
    """A draw from (0, 1]: ``1 - rng.random()``, so that P(r <= a) = a and r is never 0."""
    return 1.0 - rng.random()


def uniforms(rng: np.random.Generator, n: int) -> Array:
    """``n`` draws from (0, 1]."""
    return 1.0 - rng.random(n)


def top_tokens(p: Array, k: int) -> NDArray[np.intp]:
    """Indices of the ``k`` most likely tokens, most likely first; ties in the order of their ids.

    A full sort of a vocabulary per position would cost more than the model's own arithmetic. The ``k`` largest
    entries lie in the ``k`` chunks with the largest maxima, so only those are looked into.
    """
    k = min(k, p.size)
    if k <= 0:
        return np.empty(0, dtype=np.intp)
    if p.size <= 4 * _CHUNK or k * _CHUNK >= p.size:
        return np.argsort(-p, kind="stable")[:k]
    whole = p.size - p.size % _CHUNK
    maxima = p[:whole].reshape(-1, _CHUNK).max(axis=1)
    edge = np.partition(maxima, maxima.size - k)[maxima.size - k]
    chunks = np.flatnonzero(maxima >= edge)
    if chunks.size > 4 * k:  # many ties, as where most of p is exactly 0
        chunks = np.sort(np.argsort(-maxima, kind="stable")[:k])
    inside = (chunks[:, None] * _CHUNK + np.arange(_CHUNK)).ravel()
    inside = np.concatenate([inside, np.arange(whole, p.size)])
    return inside[np.argsort(-p[inside], kind="stable")[:k]]


def total_variation(a: Array, b: Array) -> float:
    """TV(a, b) = 1/2 sum |a - b|, between 0 and 1."""
    return float(0.5 * np.abs(a - b).sum())


def kl_divergence(a: Array, b: Array) -> float:
    """KL(a || b) = sum a log(a / b) in nats; ``inf`` where a has mass that b lacks."""
    inside = a > 0
    if np.any(b[inside] == 0):
        return float("inf")
    return max(0.0, float(np.sum(a[inside] * np.log(a[inside] / b[inside]))))


def entropy(p: Array) -> float:
    """H(p) = -sum p log p in nats."""
    inside = p > 0
    return float(-np.sum(p[inside] * np.log(p[inside])))


def check_distribution(values: Sequence[float], field: str) -> Array:
    """The values as an array, unchanged. Raises InvalidDistribution, one sentence naming ``field``."""
    try:
        p = np.array([float(v) for v in values], dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidDistribution(f"{field} must be a list of numbers.") from None
    except OverflowError:
        raise InvalidDistribution(f"{field} holds a number that is far too large.") from None
    if p.size == 0:
        raise InvalidDistribution(f"{field} is empty.")
    for i, value in enumerate(p, start=1):
        if not np.isfinite(value):
            raise InvalidDistribution(f"{field}, entry {i}, is not a number: {value}.")
        if value < 0:
            raise InvalidDistribution(f"{field}, entry {i}, is negative: {value:g}.")
        if value > 1 + SUM_TOLERANCE:
            raise InvalidDistribution(f"{field}, entry {i}, is above 1: {value:g}.")
    total = float(p.sum())
    if abs(total - 1) > SUM_TOLERANCE:
        raise InvalidDistribution(f"{field} sums to {total:.10g}, not to 1.")
    return p


def check_pair(p: Sequence[float], q: Sequence[float]) -> tuple[Array, Array]:
    """Both distributions checked, and of one length. Raises InvalidDistribution."""
    a, b = check_distribution(p, "p"), check_distribution(q, "q")
    if a.size != b.size:
        raise InvalidDistribution(f"p has {a.size} entries and q has {b.size}; both need one per token.")
    return a, b
