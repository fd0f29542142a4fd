"""What a trace keeps of one block's p and q: the scalars that decided, and the most likely tokens.

Full distributions would be megabytes a block, and sorting them would cost more than judging does. Everything here is
exact all the same: at most 1/t tokens have a probability of t or more, so few need to be looked at.

Does not know: models, random streams, how the block came about.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specdec_core.acceptance import Judgement, Rule
from specdec_core.distributions import Array
from specdec_core.trace import Position, Token, TopToken

#: How many of the most likely tokens of q, of p and of the residual are kept.
TOP = 8
# Below this much lacking mass, 1 - alpha has lost too many digits to scale the residual with.
_CANCELLED = 1e-3
_LIKELY = 1e-3


@dataclass(frozen=True)
class Support:
    """The tokens a draft can propose. A draft with a narrow output matrix gives q over these only; elsewhere q is 0.

    ids: ascending, shape (K,); None when q is over the whole vocabulary of ``size`` tokens.
    """

    ids: NDArray[np.int64] | None
    size: int

    def token(self, index: int) -> int:
        """The token in column ``index`` of q."""
        return index if self.ids is None else int(self.ids[index])

    def at(self, q: Array, token: int) -> float:
        """q of ``token``, 0 outside the support."""
        if self.ids is None:
            return float(q[token])
        index = int(np.searchsorted(self.ids, token))
        return float(q[index]) if index < self.ids.size and self.ids[index] == token else 0.0

    def at_many(self, q: Array, tokens: NDArray[np.intp]) -> Array:
        """As ``at``, for a vector of tokens."""
        if self.ids is None:
            return q[tokens]
        index = np.minimum(np.searchsorted(self.ids, tokens), self.ids.size - 1)
        return np.where(self.ids[index] == tokens, q[index], 0.0)

    def spread(self, q: Array) -> Array:
        """q over the whole vocabulary, shape (V,)."""
        if self.ids is None:
            return q
        out = np.zeros(self.size)
        out[self.ids] = q
        return out

    def of(self, p: Array) -> Array:
        """p at the support's tokens, shape (K,)."""
        return p if self.ids is None else p.take(self.ids)


def likeliest(values: Array, k: int, floor: float = _LIKELY) -> NDArray[np.intp]:
    """Indices of the ``k`` largest positive values, largest first, ties by index; fewer when fewer are positive.

    floor: a guess at the k-th largest value, for speed only.
    """
    found = np.flatnonzero(values >= floor) if floor > 0 else np.empty(0, dtype=np.intp)
    if found.size < k and floor > 0:
        found = np.flatnonzero(values >= floor * 1e-3)
    if found.size < k:
        found = np.flatnonzero(values > 0)
    return found[np.argsort(-values[found], kind="stable")[:k]]


class Recorder:
    """Makes positions.

    token_text: a token, literally. full: False leaves top tokens and alpha out, for benchmarks.
    """

    def __init__(self, token_text: Callable[[int], str], support: Support, full: bool) -> None:
        self._token_text, self._support, self._full = token_text, support, full
        self._tokens: dict[int, Token] = {}

    def token(self, token: int) -> Token:
        """The token as a trace shows it."""
        known = self._tokens.get(token)
        if known is None:
            known = self._tokens[token] = Token(self._token_text(token), token)
        return known

    def positions(
        self, tokens: Sequence[int], q: Sequence[Array], p: Sequence[Array], r: Array, judged: Judgement, rule: Rule
    ) -> tuple[Position, ...]:
        """One position per candidate; q over the support, p over the vocabulary, r of shape (tau,)."""
        return tuple(self._position(i, token, q[i], p[i], float(r[i]), judged, rule) for i, token in enumerate(tokens))

    def _position(self, i: int, token: int, q: Array, p: Array, r: float, judged: Judgement, rule: Rule) -> Position:
        a, b = float(p[token]), self._support.at(q, token)
        alpha = float(np.minimum(self._support.of(p), q).sum()) if self._full else None
        return Position(
            t=i + 1,
            token=self.token(token),
            q=b,
            p=a,
            ratio=a / b,
            accept_probability=float(rule.accept_probability(np.array([a]), np.array([b]))[0]),
            r=r,
            level=float(rule.spec.level(r, rule.parameter)),
            verdict=judged.verdicts[i],
            alpha=alpha,
            top=() if alpha is None else self._top(q, p, alpha, token),
        )

    def bonus(self, p: Array) -> tuple[TopToken, ...]:
        """The most likely tokens of p where there is no q."""
        if not self._full:
            return ()
        return tuple(TopToken(self.token(i), 0.0, float(p[i]), 0.0) for i in likeliest(p, TOP).tolist())

    def _top(self, q: Array, p: Array, alpha: float, candidate: int) -> tuple[TopToken, ...]:
        """The likeliest tokens of q, p and the residual, and the candidate; by max(p, q), largest first."""
        of_p = likeliest(p, TOP)
        of_q = likeliest(q, TOP)
        if self._support.ids is not None:
            of_q = self._support.ids[of_q]
        of_rest, total = self._rest(q, p, alpha)
        ids = np.unique(np.concatenate([of_p, of_q, of_rest, [candidate]]))
        a, b = p[ids], self._support.at_many(q, ids)
        rest = np.maximum(0.0, a - b) / total if total > 0 else np.zeros_like(a)
        order = np.argsort(-np.maximum(a, b), kind="stable")
        rows = zip(ids[order].tolist(), b[order].tolist(), a[order].tolist(), rest[order].tolist(), strict=True)
        return tuple(TopToken(self.token(i), y, x, z) for i, y, x, z in rows)

    def _rest(self, q: Array, p: Array, alpha: float) -> tuple[NDArray[np.intp], float]:
        """The residual's likeliest tokens, and the mass max(0, p - q) has in all.

        A token lacks at most its own p. So when k tokens lack v or more, every token among the k that lack most has
        p >= v, and only such tokens are looked at. The mass is sum p - sum min(p, q), unless that cancels.
        """
        total = float(p.sum()) - alpha
        some = np.flatnonzero(p >= _LIKELY)
        lack = p[some] - self._support.at_many(q, some)
        if total < _CANCELLED or lack.size < TOP:
            return self._whole_rest(q, p)
        least = float(np.partition(lack, lack.size - TOP)[lack.size - TOP])
        if least <= 0:
            return self._whole_rest(q, p)
        if least < _LIKELY:
            some = np.flatnonzero(p >= least)
            lack = p[some] - self._support.at_many(q, some)
        return some[np.argsort(-lack, kind="stable")[:TOP]], total

    def _whole_rest(self, q: Array, p: Array) -> tuple[NDArray[np.intp], float]:
        some = np.flatnonzero(p)  # nothing is lacking where p is 0, and at temperature 0 it is 0 but for one token
        if 2 * some.size > p.size:
            lack = np.maximum(0.0, p - self._support.spread(q))
            return likeliest(lack, TOP), float(lack.sum())
        lack = np.maximum(0.0, p[some] - self._support.at_many(q, some))
        return some[likeliest(lack, TOP)], float(lack.sum())
