"""Seeded choices that come out the same on every machine, in every version of Python and numpy.

Only ``random.Random(int).random()`` is used, whose sequence Python promises to keep; everything else (whole numbers,
shuffles, samples) is made from it here, because the library's own versions of those have changed before.

Does not know: what is drawn for.
"""

import hashlib
import random
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeVar

T = TypeVar("T")
MAX_SEED = 2**63 - 1


class Draws:
    """A stream of choices for one variant, named by any number of words and numbers.

    Derivation: the names are joined with "/", hashed with SHA-256, and the first eight bytes seed the generator.
    """

    def __init__(self, *names: object) -> None:
        digest = hashlib.sha256("/".join(str(name) for name in names).encode()).digest()
        self._random = random.Random(int.from_bytes(digest[:8], "big"))

    def below(self, n: int) -> int:
        """A whole number in 0 .. n-1."""
        return min(n - 1, int(self._random.random() * n))

    def between(self, low: int, high: int) -> int:
        """A whole number in low .. high, both included."""
        return low + self.below(high - low + 1)

    def choice(self, items: Sequence[T]) -> T:
        """One of ``items``."""
        return items[self.below(len(items))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """``items`` in a new order (Fisher-Yates)."""
        out = list(items)
        for i in range(len(out) - 1, 0, -1):
            j = self.below(i + 1)
            out[i], out[j] = out[j], out[i]
        return out

    def sample(self, items: Sequence[T], n: int) -> list[T]:
        """``n`` different places of ``items``, in a random order."""
        return self.shuffled(items)[:n]

    def decimal(self, low: int, high: int, places: int = 2) -> Fraction:
        """A decimal between ``low`` and ``high`` counted in units of the last place: (5, 95) gives 0.05 .. 0.95."""
        return Fraction(self.between(low, high), 10**places)

    def split(self, parts: int, total: int, least: int = 0) -> list[int]:
        """``parts`` whole numbers of at least ``least`` that add up to ``total``."""
        spare = total - parts * least
        cuts = sorted(self.between(0, spare) for _ in range(parts - 1))
        return [b - a + least for a, b in zip([0, *cuts], [*cuts, spare], strict=True)]
