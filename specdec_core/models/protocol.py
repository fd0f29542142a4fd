"""What decoding asks of a language model, and nothing more.

Does not know: torch, tokenizer files, where weights come from, what the tokens are for.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


class ModelUnavailable(Exception):
    """A model cannot be used. ``str(error)`` is one plain sentence, fit for the screen."""


@dataclass(frozen=True)
class ModelInfo:
    """What the screen and the trace say of a model."""

    name: str
    device: str = "cpu"
    dtype: str = "float64"
    parameters: int | None = None
    layers: int | None = None


@runtime_checkable
class Session(Protocol):
    """One text in the making: the tokens seen so far and the model's own cache of them.

    A session belongs to one decoding and is used by one thread at a time.
    """

    @property
    def length(self) -> int:
        """How many tokens the session holds."""
        ...

    def extend(self, tokens: Sequence[int], last: int = 1) -> NDArray[np.floating]:
        """Append ``tokens`` (at least one) in one forward pass.

        Returns the logits that follow each of the ``last`` final tokens, shape ``(last, V)``: row ``-1`` scores the
        token that would come next. A token that can never be drawn has logit ``-inf``. The caller may change the
        array.
        """
        ...

    def rollback(self, length: int) -> None:
        """Forget every token past ``length`` (``0 <= length <= self.length``)."""
        ...


@runtime_checkable
class LanguageModel(Protocol):
    """A model that any number of sessions share; it holds no state of theirs."""

    @property
    def info(self) -> ModelInfo: ...

    @property
    def vocabulary_size(self) -> int:
        """V, the width of the logits."""
        ...

    @property
    def context_length(self) -> int | None:
        """The most tokens a session may hold, or None when there is no limit."""
        ...

    def start(self) -> Session:
        """A new, empty session."""
        ...


@runtime_checkable
class Tokenizer(Protocol):
    """Text to ids and back."""

    @property
    def end_ids(self) -> frozenset[int]:
        """Ids that end a text."""
        ...

    def encode(self, text: str) -> list[int]: ...

    def decode(self, ids: Sequence[int]) -> str:
        """The text of all ``ids`` together: one token can be part of a character."""
        ...

    def token_text(self, token: int) -> str:
        """One token, literally. Bytes that are no character of their own appear as ``<0xE2>``."""
        ...


@dataclass(frozen=True)
class Pair:
    """A draft and a target that share one tokenizer."""

    name: str
    draft: LanguageModel
    target: LanguageModel
    tokenizer: Tokenizer
