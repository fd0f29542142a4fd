"""Token sequences into rows of equal length that a compiled forward pass can take.

A row holds one or more sequences side by side; attention and positions keep them apart, so nothing is padded away and
no sequence sees another. Does not know: models, losses.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

END_OF_TEXT, START_OF_TURN, END_OF_TURN = 0, 1, 2
ENDS = (END_OF_TEXT, END_OF_TURN)
ROW = 160
# Sequences kept away from training, for the vocabulary's coverage and the monitor.
HELD_OUT = 192


@dataclass(frozen=True)
class Rows:
    """Packed rows, each array of shape (rows, ROW).

    ``tokens`` ids; ``segment`` which sequence of the row a token belongs to (-1: filler); ``position`` inside it;
    ``counts`` whether the prediction made at this token counts in the loss.
    """

    tokens: NDArray[np.int64]
    segment: NDArray[np.int64]
    position: NDArray[np.int64]
    counts: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.tokens)

    def first(self, count: int) -> "Rows":
        """Only the first ``count`` rows (all when there are fewer)."""
        return Rows(self.tokens[:count], self.segment[:count], self.position[:count], self.counts[:count])


def load_sequences(path: Path) -> list[NDArray[np.int64]]:
    """The sequences of an npz file made by ``sample.py`` (array ``tokens``, (N, L)), each cut after its end."""
    with np.load(path) as file:
        return [cut(row) for row in file["tokens"].astype(np.int64)]


def cut(tokens: NDArray[np.int64]) -> NDArray[np.int64]:
    """``tokens`` up to and including the token that ends the text, which is never one of a chat prompt."""
    start = reply_start(tokens)
    ends = np.flatnonzero(np.isin(tokens[start:], ENDS))
    return tokens if len(ends) == 0 else tokens[: start + ends[0] + 1]


def reply_start(tokens: NDArray[np.int64]) -> int:
    """Where the reply starts in a chat-formatted sequence (turns open with START_OF_TURN); 0 in plain text.

    The prompt's turns are system and user, or user alone; the reply is the first turn that follows the user's. It is
    found by counting: the template always writes START_OF_TURN, the role (two tokens here), newline.
    """
    if tokens[0] != START_OF_TURN:
        return 0
    turns = np.flatnonzero(tokens == START_OF_TURN)
    roles = tokens[np.minimum(turns + 1, len(tokens) - 1)]
    replies = turns[roles == ASSISTANT]
    return int(replies[0]) + 4 if len(replies) else 0


# "assistant" is two tokens, "ass" and "istant"; sample.py checks that the template still says so.
ASSISTANT = 520


def pack(sequences: list[NDArray[np.int64]], seed: int = 0) -> Rows:
    """First-fit packing, longest first, then rows in random order."""
    bins: list[list[NDArray[np.int64]]] = []
    free: list[int] = []
    open_from = 0
    for sequence in sorted((s for s in sequences if len(s) > 1), key=len, reverse=True):
        slot = next((i for i in range(open_from, len(bins)) if free[i] >= len(sequence)), None)
        if slot is None:
            bins.append([])
            free.append(ROW)
            slot = len(bins) - 1
        bins[slot].append(sequence)
        free[slot] -= len(sequence)
        while open_from < len(bins) and free[open_from] < 2:
            open_from += 1
    order = np.random.default_rng(seed).permutation(len(bins))
    return _lay_out([bins[i] for i in order])


def _lay_out(bins: list[list[NDArray[np.int64]]]) -> Rows:
    shape = (len(bins), ROW)
    rows = Rows(np.zeros(shape, np.int64), np.full(shape, -1), np.zeros(shape, np.int64), np.zeros(shape, bool))
    for i, sequences in enumerate(bins):
        at = 0
        for k, sequence in enumerate(sequences):
            here = slice(at, at + len(sequence))
            rows.tokens[i, here], rows.segment[i, here] = sequence, k
            rows.position[i, here] = np.arange(len(sequence))
            # What a model says inside a chat prompt, or after the end, is never asked for.
            first = max(reply_start(sequence) - 1, 0)
            rows.counts[i, at + first : at + len(sequence)] = True
            if sequence[-1] in ENDS:
                rows.counts[i, at + len(sequence) - 1] = False
            at += len(sequence)
    return rows


def join(parts: list[Rows]) -> Rows:
    """The rows of ``parts``, one after the other."""
    return Rows(*(np.concatenate([getattr(part, name) for part in parts]) for name in Rows.__dataclass_fields__))


def attention_mask(segment: torch.Tensor) -> torch.Tensor:
    """Additive float32 mask (B, 1, L, L): a token sees itself and what came before it in its own sequence."""
    length = segment.shape[1]
    same = segment[:, :, None] == segment[:, None, :]
    causal = torch.ones(length, length, dtype=torch.bool).tril()
    return torch.zeros(same.shape).masked_fill_(~(same & causal), torch.finfo(torch.float32).min)[:, None]


def batch(rows: Rows, index: NDArray[np.int64]) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    """What a transformers model takes for rows ``index``, and the flat mask of positions that count."""
    segment = torch.from_numpy(rows.segment[index])
    inputs = {
        "input_ids": torch.from_numpy(rows.tokens[index]),
        "position_ids": torch.from_numpy(rows.position[index]),
        "attention_mask": attention_mask(segment),
    }
    return inputs, torch.from_numpy(rows.counts[index]).reshape(-1)
