"""The exact law of the first tokens of a text under a rule, by enumeration: for toy models.

Block decoding makes the next token a candidate or a bonus depending on what was accepted before, so a biased rule's
law depends on tau, and on the position. Enumerating all texts settles what a simulation can only suggest.

Does not know: random numbers, which models these are, the screen.
"""

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from specdec_core.acceptance import Rule
from specdec_core.distributions import Array, Warp, probabilities
from specdec_core.models.protocol import Pair


def text_law(
    pair: Pair,
    prompt: str,
    rule: Rule,
    tau: int,
    length: int,
    warp: Warp | None = None,
    end_ids: frozenset[int] | None = None,
) -> dict[tuple[int, ...], float]:
    """The exact law of the first ``length`` tokens of block decoding, by enumeration: texts to probabilities.

    Follows every text and every position in a block that can be reached, so the cost grows as V^length: for toys.
    Texts that end early appear as they are.
    """
    ends = pair.tokenizer.end_ids if end_ids is None else end_ids
    start = tuple(pair.tokenizer.encode(prompt))
    states: dict[tuple[tuple[int, ...], int], float] = {((), 1): 1.0}
    for _ in range(length):
        after: dict[tuple[tuple[int, ...], int], float] = defaultdict(float)
        for (text, t), weight in states.items():
            if text and text[-1] in ends:
                after[text, t] += weight
                continue
            for token, following, chance in _outcomes(pair, start + text, rule, tau, t, warp or Warp()):
                after[(*text, token), following] += weight * chance
        states = after
    law: dict[tuple[int, ...], float] = defaultdict(float)
    for (text, _), weight in states.items():
        law[text] += weight
    return dict(law)


def _outcomes(
    pair: Pair, context: tuple[int, ...], rule: Rule, tau: int, t: int, warp: Warp
) -> Iterator[tuple[int, int, float]]:
    """(token, the position in a block that comes next, probability) for what can be emitted at position ``t``."""
    p = probabilities(pair.target.start().extend(context)[-1], warp)
    if t > tau:
        yield from ((x, 1, float(p[x])) for x in np.flatnonzero(p).tolist())
        return
    q = probabilities(pair.draft.start().extend(context)[-1], warp)
    kept = q * rule.accept_probability(p, q)
    yield from ((x, t + 1, float(kept[x])) for x in np.flatnonzero(kept).tolist())
    rejected = max(0.0, 1.0 - float(kept.sum()))
    if rejected > 1e-15:
        corrected = rejected * rule.correct(p, q)
        yield from ((x, 1, float(corrected[x])) for x in np.flatnonzero(corrected).tolist())


def position_law(law: dict[tuple[int, ...], float], k: int, size: int) -> Array:
    """The law of the ``k``-th token (1-based) of ``text_law``, shape ``(size + 1,)``; the last entry: ended before."""
    out = np.zeros(size + 1)
    for text, weight in law.items():
        out[text[k - 1] if len(text) >= k else size] += weight
    return out
