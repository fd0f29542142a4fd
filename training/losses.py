"""How far the draft's q is from the target's p, over the draft's vocabulary, with the gradient worked out by hand.

Rows are handled in chunks that stay in the processor's cache: automatic differentiation would keep six arrays of
(rows, K) in memory and pass over them all. Does not know: models, data.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

CHUNK = 128


@dataclass(frozen=True)
class Mix:
    """Weights of the two terms: cross-entropy -sum p log q, and total variation 1 - sum min(p, q)."""

    cross_entropy: float
    total_variation: float


def distil(hidden: Tensor, target_hidden: Tensor, head: Tensor, temperature: float, mix: Mix) -> tuple[Tensor, float]:
    """Gradient of the mean loss with respect to ``hidden``, and the mean alpha = sum min(p, q).

    ``hidden``, ``target_hidden``: final hidden states of draft and target, (N, D). ``head``: the rows of the shared
    output embedding for the K tokens that the draft may propose, (K, D). p is renormalised over those tokens (they hold
    about 98.5 % of it): this spares the target's product with its whole embedding, a fifth of its work, and the alpha
    given back is too high by as little. evaluate.py does not do this.
    """
    gradient = torch.empty_like(hidden)
    alpha = 0.0
    for start in range(0, len(hidden), CHUNK):
        here = slice(start, start + CHUNK)
        p = torch.softmax((target_hidden[here] @ head.T).div_(temperature), dim=-1)
        q = torch.softmax((hidden[here] @ head.T).div_(temperature), dim=-1)
        alpha += float(torch.minimum(p, q).sum())
        slope = _slope(p, q, mix).div_(temperature * len(hidden))
        torch.mm(slope, head, out=gradient[here])
    return gradient, alpha / len(hidden)


@torch.no_grad()
def alphas(hidden: Tensor, target_hidden: Tensor, head: Tensor, temperature: float) -> Tensor:
    """alpha row by row, (N,), with p renormalised as in ``distil``; arguments as there."""
    found = []
    for h, t in zip(hidden.split(CHUNK), target_hidden.split(CHUNK), strict=True):
        p = torch.softmax((t @ head.T).div_(temperature), dim=-1)
        q = torch.softmax((h @ head.T).div_(temperature), dim=-1)
        found.append(torch.minimum(p, q).sum(-1))
    return torch.cat(found)


def _slope(p: Tensor, q: Tensor, mix: Mix) -> Tensor:
    """d loss / d (logit / temperature), row by row, shape of ``p``.

    Cross-entropy: q - p. Total variation: with s = [q < p], it is q (sum_j q_j s_j - s).
    """
    if not mix.total_variation:
        return (q - p).mul_(mix.cross_entropy)
    kept = (q < p).to(q.dtype).mul_(q)
    weight = mix.cross_entropy + mix.total_variation * kept.sum(-1, keepdim=True)
    return (q * weight).sub_(kept, alpha=mix.total_variation).sub_(p, alpha=mix.cross_entropy)
