"""Which tokens the draft may propose: the frequent ones, every single byte, and the tokens that end a text.

Whatever is left out has q = 0, which costs acceptance and never correctness. Does not know: training.
"""

import numpy as np
from numpy.typing import NDArray

from training.data import END_OF_TEXT, END_OF_TURN, START_OF_TURN

# The tokens that are one byte long follow the 17 special ones (21 bytes that no UTF-8 text holds have none).
SPECIAL = (END_OF_TEXT, START_OF_TURN, END_OF_TURN)
BYTES = range(17, 252)


def choose(sequences: list[NDArray[np.int64]], size: int, width: int = 49152) -> NDArray[np.int32]:
    """``size`` ids, ascending: those most frequent in ``sequences``, and SPECIAL and BYTES whatever their frequency.

    Among tokens equally frequent the lower id wins: the tokenizer learnt it earlier, so it is the commoner one.
    """
    counts = np.bincount(np.concatenate(sequences), minlength=width).astype(np.float64)
    counts[list(SPECIAL) + list(BYTES)] = np.inf
    order = np.lexsort((np.arange(width), -counts))
    return np.sort(order[:size]).astype(np.int32)
