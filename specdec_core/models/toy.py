"""Toy models: tables of next-token distributions over a handful of words.

Small enough to check by hand, quick enough for thousands of decodings in a test, and enough for a lesson without torch.

Does not know: torch, where a table comes from, sampling.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from specdec_core.distributions import Array, check_distribution
from specdec_core.models.protocol import ModelInfo, Pair


class ToyModel:
    """The next token's law depends on the last ``order`` tokens only.

    table: maps tuples of the last tokens' ids (length ``order``, shorter at the start) to a distribution of length V;
    ``default`` serves every context that the table lacks.
    """

    def __init__(
        self,
        name: str,
        default: Sequence[float],
        table: Mapping[tuple[int, ...], Sequence[float]] | None = None,
        order: int = 1,
        context_length: int | None = None,
    ) -> None:
        self._default = check_distribution(default, f"default of {name}")
        self._table = {k: check_distribution(v, f"{name} after {k}") for k, v in (table or {}).items()}
        self.order = order
        self._context_length = context_length
        self._info = ModelInfo(name, device="none", dtype="float64")

    @property
    def info(self) -> ModelInfo:
        return self._info

    @property
    def vocabulary_size(self) -> int:
        return self._default.size

    @property
    def context_length(self) -> int | None:
        return self._context_length

    def start(self) -> "ToySession":
        return ToySession(self)

    def law(self, tokens: Sequence[int]) -> Array:
        """The distribution after ``tokens``, shape ``(V,)``."""
        key = tuple(tokens[-self.order :]) if self.order else ()
        return self._table.get(key, self._default)


class ToySession:
    """The tokens so far; there is nothing to cache. Raises ValueError when asked to hold more than the context."""

    def __init__(self, model: ToyModel) -> None:
        self._model = model
        self._tokens: list[int] = []

    @property
    def length(self) -> int:
        return len(self._tokens)

    def extend(self, tokens: Sequence[int], last: int = 1) -> NDArray[np.floating]:
        limit = self._model.context_length
        if limit is not None and len(self._tokens) + len(tokens) > limit:
            raise ValueError(f"{len(self._tokens) + len(tokens)} tokens do not fit into a context of {limit}.")
        self._tokens.extend(tokens)
        ends = range(len(self._tokens) - last + 1, len(self._tokens) + 1)
        with np.errstate(divide="ignore"):
            return np.stack([np.log(self._model.law(self._tokens[:end])) for end in ends])

    def rollback(self, length: int) -> None:
        if not 0 <= length <= len(self._tokens):
            raise ValueError(f"cannot roll back to {length} of {len(self._tokens)} tokens.")
        del self._tokens[length:]


class ToyTokenizer:
    """Words of a small vocabulary, parted by blanks. Text outside it raises ValueError naming the word."""

    def __init__(self, vocabulary: Sequence[str], end: Sequence[str] = ()) -> None:
        self.vocabulary = tuple(vocabulary)
        self._end_ids = frozenset(self.vocabulary.index(word) for word in end)

    @property
    def end_ids(self) -> frozenset[int]:
        return self._end_ids

    def encode(self, text: str) -> list[int]:
        unknown = next((w for w in text.split() if w not in self.vocabulary), None)
        if unknown is not None:
            raise ValueError(f"the toy vocabulary has no word {unknown!r}.")
        return [self.vocabulary.index(word) for word in text.split()]

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(self.token_text(i) for i in ids)

    def token_text(self, token: int) -> str:
        return " " + self.vocabulary[token]


def toy_pair() -> Pair:
    """A pair over eight words, whose laws change with the last word: draft and target agree about half of the time."""
    words = ("the", "cat", "dog", "sat", "ran", "on", "mat", "<end>")
    rng = np.random.default_rng(20230)
    size = len(words)
    target: dict[tuple[int, ...], list[float]] = {(i,): _tenths(rng, size) for i in range(size)}
    draft: dict[tuple[int, ...], list[float]] = {(i,): _tenths(rng, size) for i in range(size)}
    flat = [1 / size] * size
    return Pair(
        "toy",
        ToyModel("toy draft", flat, draft),
        ToyModel("toy target", flat, target),
        ToyTokenizer(words, end=("<end>",)),
    )


def _tenths(rng: np.random.Generator, size: int) -> list[float]:
    counts = rng.multinomial(20, rng.dirichlet(np.full(size, 0.6)))
    return [float(c) / 20 for c in counts]
