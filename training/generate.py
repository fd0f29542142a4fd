"""Batched sampling from the target, with keys and values kept in place. Does not know: what the text is for.

transformers' own loop copies its cache at every token, which costs more than the model does once a hundred texts grow
side by side.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb


class Store:
    """Keys and values of B texts, (layers, B, kv_heads, room, head_size) each."""

    def __init__(self, config: Any, batch: int, room: int) -> None:
        shape = (config.num_hidden_layers, batch, config.num_key_value_heads, room, config.head_dim)
        self.keys, self.values, self.length = torch.empty(shape), torch.empty(shape), 0


@torch.no_grad()
def sample(model: Any, prompts: list[list[int]], length: int, temperature: float, generator: torch.Generator) -> Tensor:
    """Continue every prompt to ``length`` tokens in all; returns int64 (B, length).

    Prompts are padded on the left inside and given back on the left edge of the row. The full vocabulary is drawn
    from: no top-k, no top-p, and nothing stops at the end-of-text token (readers cut there).
    """
    longest = max(map(len, prompts))
    pad = torch.tensor([longest - len(p) for p in prompts])
    ids = torch.tensor([[0] * (longest - len(p)) + p for p in prompts])
    total = longest + length - min(map(len, prompts))
    store = Store(model.config, len(prompts), total)
    step, out = ids, [ids]
    while longest < total:
        logits = model.lm_head(_hidden(model.model, step, pad, store)[:, -1]).div_(temperature)
        step = _draw(torch.softmax(logits, dim=-1), generator)
        out.append(step)
        longest += 1
    rows = torch.cat(out, dim=1)
    return torch.stack([row[p : p + length] for row, p in zip(rows, pad.tolist(), strict=True)])


def _draw(p: Tensor, generator: torch.Generator) -> Tensor:
    """One token of each row of ``p``, (B, 1): the first whose cumulated probability exceeds r."""
    summed = p.double().cumsum(dim=-1)
    r = torch.rand(len(p), 1, generator=generator, dtype=torch.float64) * summed[:, -1:]
    return torch.searchsorted(summed, r, right=True).clamp(max=p.shape[-1] - 1)


def _hidden(body: Any, ids: Tensor, pad: Tensor, store: Store) -> Tensor:
    """Final hidden states of B rows of new tokens, (B, L, D); ``store`` holds them afterwards."""
    start, end = store.length, store.length + ids.shape[1]
    x = body.embed_tokens(ids)
    at = torch.arange(start, end)
    rotary = body.rotary_emb(x, (at - pad[:, None]).clamp(min=0))
    seen = torch.arange(end)
    # A text's padding is hidden from it; a padding token looks at itself, lest its softmax be over nothing.
    mask = (seen <= at[:, None]) & ((seen >= pad[:, None, None]) | (seen == at[:, None]))
    for n, layer in enumerate(body.layers):
        x = x + _attend(layer.self_attn, layer.input_layernorm(x), rotary, mask[:, None], store, n)
        x = x + layer.mlp(layer.post_attention_layernorm(x))
    store.length = end
    return body.norm(x)


def _attend(block: Any, x: Tensor, rotary: Any, mask: Tensor, store: Store, n: int) -> Tensor:
    batch, rows, width = x.shape
    q, k, v = (
        m(x).view(batch, rows, -1, block.head_dim).transpose(1, 2) for m in (block.q_proj, block.k_proj, block.v_proj)
    )
    q, k = apply_rotary_pos_emb(q, k, *rotary)
    end = store.length + rows
    store.keys[n, :, :, store.length : end], store.values[n, :, :, store.length : end] = k, v
    mixed = F.scaled_dot_product_attention(
        q, store.keys[n, :, :, :end], store.values[n, :, :, :end], attn_mask=mask, enable_gqa=True
    )
    return block.o_proj(mixed.transpose(1, 2).reshape(batch, rows, width))
