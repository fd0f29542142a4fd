"""Recorded places in real texts: what draft and target said of the next token, over the whole vocabulary.

Stored are the models' logits less their maximum, in half precision: finest where the mass is. p and q are made of what
is stored, in float64, by the same ``probabilities`` as everywhere: an exact pair of distributions of their own, at any
temperature, top-k and top-p.

Does not know: how they were made (``scripts/record_contexts.py`` does), the screen.
"""

import gzip
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from specdec_core.distributions import Array, Warp, probabilities

FOLDER = Path(__file__).resolve().parent.parent / "assets" / "contexts"
INDEX, VOCABULARY = "index.json", "vocabulary.json.gz"


class InvalidContext(ValueError):
    """A recorded context cannot be read. ``str(error)`` is one plain sentence."""


@dataclass(frozen=True)
class Context:
    """A place in a text: what stands before the token in question, and how much the two models agree there.

    kind: story, fact, code, ... . text: everything before the token. ids: the same as token ids. alpha: sum min(p, q)
    at temperature 1. rounding: how far half precision moved the larger of p and q, in total variation.
    """

    name: str
    kind: str
    text: str
    ids: tuple[int, ...]
    alpha: float
    draft: str
    target: str
    rounding: float = 0.0


@lru_cache(maxsize=1)
def contexts() -> tuple[Context, ...]:
    """The recorded contexts, the least agreed first; empty where there are none. Raises InvalidContext."""
    path = FOLDER / INDEX
    if not path.is_file():
        return ()
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        return tuple(Context(**(row | {"ids": tuple(row["ids"])})) for row in rows)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise InvalidContext(f"The recorded contexts cannot be read ({error}): get the repository again.") from error


def context(name: str) -> Context:
    """The context called ``name``. Raises InvalidContext for an unknown one."""
    for found in contexts():
        if found.name == name:
            return found
    raise InvalidContext(f"There is no recorded context named {name[:40]!r}.")


@lru_cache(maxsize=16)
def logits(name: str) -> tuple[NDArray[np.float16], NDArray[np.float16]]:
    """(target's, draft's) logits at a context, each of shape ``(V,)``, read-only. Raises InvalidContext."""
    context(name)
    try:
        with np.load(FOLDER / f"{name}.npz", allow_pickle=False) as stored:
            target, draft = stored["target"], stored["draft"]
    except (OSError, ValueError, KeyError) as error:
        raise InvalidContext(f"The recorded context {name!r} cannot be read: get the repository again.") from error
    if target.ndim != 1 or target.shape != draft.shape or target.dtype != np.float16 or draft.dtype != np.float16:
        raise InvalidContext(f"The recorded context {name!r} is damaged: get the repository again.")
    for array in (target, draft):
        array.flags.writeable = False
    return target, draft


def pair_at(name: str, warp: Warp | None = None) -> tuple[Array, Array]:
    """(p, q) at a context under ``warp`` (temperature 1 by default), each of shape ``(V,)``. Raises InvalidContext."""
    target, draft = logits(name)
    return probabilities(target, warp or Warp()), probabilities(draft, warp or Warp())


@lru_cache(maxsize=1)
def vocabulary() -> tuple[str, ...]:
    """The text of every token, literally, as ``Tokenizer.token_text`` gives it. Raises InvalidContext."""
    try:
        texts = json.loads(gzip.decompress((FOLDER / VOCABULARY).read_bytes()))
    except (OSError, ValueError, EOFError) as error:
        raise InvalidContext("The recorded vocabulary cannot be read: get the repository again.") from error
    return tuple(texts)


def token_texts(ids: Sequence[int]) -> list[str]:
    """The texts of ``ids``, literally."""
    known = vocabulary()
    return [known[i] for i in ids]


# --- writing (for scripts/record_contexts.py) ------------------------------------------------------------------------


def packed(values: NDArray[Any]) -> NDArray[np.float16]:
    """Logits of shape ``(V,)`` as they are stored. Raises ValueError where half precision cannot hold one."""
    with np.errstate(over="ignore"):
        small: NDArray[np.float16] = (values - values.max()).astype(np.float16)
    if np.any(np.isinf(small) != np.isinf(values)):
        raise ValueError("the logits do not fit into half precision.")
    return small


def store(folder: Path, name: str, target: NDArray[Any], draft: NDArray[Any]) -> None:
    """Write the logits of one context, each of shape ``(V,)``. Raises ValueError as ``packed`` does."""
    np.savez_compressed(folder / f"{name}.npz", target=packed(target), draft=packed(draft))


def store_index(folder: Path, found: Sequence[Context], texts: Sequence[str]) -> None:
    """Write the list of contexts, the least agreed first, and the vocabulary: the same bytes for the same input."""
    rows = [asdict(x) for x in sorted(found, key=lambda x: x.alpha)]
    (folder / INDEX).write_text(json.dumps(rows, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    packed = gzip.compress(json.dumps(list(texts), ensure_ascii=False).encode(), compresslevel=9, mtime=0)
    (folder / VOCABULARY).write_bytes(packed)
