"""What the target says at every token, worked out once and kept on disk.

The final hidden state is enough to rebuild p: 1.2 kB a token where p itself would be 200 kB. Does not know: the draft,
losses, the vocabulary.
"""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.data import ROW, Rows, batch


class Teacher:
    """The target behind a cache of its answers for ``rows``; an answer is computed when it is first asked for.

    The cache is a file that two processes may share: one trains while another one runs ahead with ``answer``.
    """

    def __init__(self, body: Any, rows: Rows, folder: Path, name: str) -> None:
        self._body, self._rows = body, rows
        folder.mkdir(parents=True, exist_ok=True)
        width = body.config.hidden_size
        self._hidden = _memmap(folder / f"{name}-hidden.f16", np.float16, (len(rows), ROW, width))
        self._done = _memmap(folder / f"{name}-done.u8", np.uint8, (len(rows),))

    def ask(self, index: NDArray[np.int64]) -> Tensor:
        """Final hidden states of some rows, float32, shape (B * ROW, width)."""
        self.answer(index)
        return torch.from_numpy(self._hidden[index].astype(np.float32)).flatten(0, 1)

    def answer(self, index: NDArray[np.int64]) -> None:
        """See to it that the answers for some rows are in the cache."""
        if self._done[index].all():
            return
        inputs, _ = batch(self._rows, index)
        with torch.no_grad():
            hidden = self._body(**inputs, use_cache=False).last_hidden_state
        self._hidden[index] = hidden.numpy().astype(np.float16)
        self._done[index] = 1


def _memmap(path: Path, dtype: type, shape: tuple[int, ...]) -> np.memmap:
    return np.memmap(path, dtype=dtype, mode="r+" if path.exists() else "w+", shape=shape)
