"""A head start without gradients: by least squares each kept layer learns to stand in for those left out after it.

A kept layer copied from layer i is followed in the draft by layer j > i + 1. Its last matrix (down_proj) is solved
anew, so that what it hands on is as near as can be to what the target's layer j receives, given what the draft's own
layers before it made of the text. A sweep over some ten thousand tokens costs less than a minute of training and
replaces many. The idea is that of published pruning work that fits one linear map for a removed block.

Does not know: losses on distributions, the vocabulary.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from training.data import Rows, batch

ROWS_AT_ONCE = 8
# Ridge that pulls a matrix to its old value, as a share of the features' mean square.
RIDGE = 1e-3


@dataclass
class Piece:
    """A few rows on their way through the network."""

    mask: Tensor
    rotary: tuple[Tensor, Tensor]
    real: Tensor
    state: Tensor


@torch.no_grad()
def fit(target: Any, draft: Any, layers: tuple[int, ...], rows: Rows, ridge: float = RIDGE) -> None:
    """Refit ``down_proj`` of every layer of ``draft`` (made by ``first_draft`` from ``layers``), in place."""
    aims = (*(j - 1 for j in layers[1:]), len(target.model.layers) - 1)
    pieces, wanted = _start(target, rows, aims)
    for layer, aim in zip(draft.layers, aims, strict=True):
        _refit(layer, pieces, wanted[aim], ridge)


def _start(target: Any, rows: Rows, aims: tuple[int, ...]) -> tuple[list[Piece], dict[int, list[Tensor]]]:
    """The rows as embeddings, and per layer in ``aims`` what the target's layer of that number gives out."""
    body = target.model
    wanted: dict[int, list[Tensor]] = {aim: [] for aim in aims}
    hooks = [body.layers[aim].register_forward_hook(_keep(wanted[aim])) for aim in wanted]
    pieces = []
    for start in range(0, len(rows), ROWS_AT_ONCE):
        inputs, _ = batch(rows, np.arange(start, min(start + ROWS_AT_ONCE, len(rows))))
        body(**inputs, use_cache=False)
        state = body.embed_tokens(inputs["input_ids"])
        rotary = body.rotary_emb(state, inputs["position_ids"])
        real = torch.from_numpy(rows.segment[start : start + ROWS_AT_ONCE] >= 0)
        pieces.append(Piece(inputs["attention_mask"], rotary, real, state))
    for hook in hooks:
        hook.remove()
    return pieces, wanted


def _keep(into: list[Tensor]) -> Any:
    def hook(_module: Any, _inputs: Any, output: Any) -> None:
        into.append(output[0] if isinstance(output, tuple) else output)

    return hook


def _refit(layer: Any, pieces: list[Piece], wanted: list[Tensor], ridge: float) -> None:
    """Solve one layer and move the pieces through it."""
    matrix = layer.mlp.down_proj.weight
    gram = torch.zeros(matrix.shape[1], matrix.shape[1])
    cross = torch.zeros(matrix.shape[1], matrix.shape[0])
    halves = []
    for piece, aim in zip(pieces, wanted, strict=True):
        middle, features = _half(layer, piece)
        halves.append((middle, features))
        a = features[piece.real]
        missing = aim[piece.real] - middle[piece.real] - a @ matrix.T
        # A few positions (the first of a text above all) are a hundred times larger than the rest: relative errors.
        weight = 1 / aim[piece.real].square().mean(-1, keepdim=True).clamp(min=1e-3)
        gram += a.T @ (a * weight)
        cross += a.T @ (missing * weight)
    gram.diagonal().add_(ridge * gram.diagonal().mean())
    matrix += torch.linalg.solve(gram, cross, left=True).T
    for piece, (middle, features) in zip(pieces, halves, strict=True):
        piece.state = middle + features @ matrix.T


def _half(layer: Any, piece: Piece) -> tuple[Tensor, Tensor]:
    """The state after attention, (B, L, D), and what goes into ``down_proj`` from there, (B, L, F)."""
    normed = layer.input_layernorm(piece.state)
    attended = layer.self_attn(
        hidden_states=normed, position_embeddings=piece.rotary, attention_mask=piece.mask, past_key_values=None
    )[0]
    middle = piece.state + attended
    normed = layer.post_attention_layernorm(middle)
    return middle, layer.mlp.act_fn(layer.mlp.gate_proj(normed)) * layer.mlp.up_proj(normed)
