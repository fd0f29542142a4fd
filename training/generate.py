"""Batched sampling from the target, with a cache of keys and values. Does not know: what the text is for."""

from typing import Any

import torch
from torch import Tensor


@torch.no_grad()
def sample(model: Any, prompts: list[list[int]], length: int, temperature: float, generator: torch.Generator) -> Tensor:
    """Continue every prompt to ``length`` tokens in all; returns int64 (B, length).

    Prompts are padded on the left inside and given back on the left edge of the row. The full vocabulary is drawn
    from: no top-k, no top-p, and nothing stops at the end-of-text token (readers cut there).
    """
    longest = max(map(len, prompts))
    pad = torch.tensor([longest - len(p) for p in prompts])
    ids = torch.tensor([[0] * (longest - len(p)) + p for p in prompts])
    mask = (torch.arange(longest) >= pad[:, None]).long()
    total = longest + length - min(map(len, prompts))
    past, step, out = None, ids, ids
    while out.shape[1] < total:
        positions = (mask.cumsum(1) - 1).clamp(min=0)[:, -step.shape[1] :]
        answer = model(
            input_ids=step, attention_mask=mask, position_ids=positions, past_key_values=past, use_cache=True,
            logits_to_keep=1,
        )  # fmt: skip
        past = answer.past_key_values
        weights = torch.softmax(answer.logits[:, -1].float() / temperature, dim=-1)
        step = torch.multinomial(weights, 1, generator=generator)
        out = torch.cat([out, step], dim=1)
        mask = torch.cat([mask, torch.ones_like(step)], dim=1)
    return torch.stack([row[p : p + length] for row, p in zip(out, pad.tolist(), strict=True)])
