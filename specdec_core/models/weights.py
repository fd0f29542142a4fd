"""A model's folder, looked at before anything in it is opened: is it whole, is it a causal model, does it fit.

Reads JSON and the headers of safetensors files (a length, then JSON), nothing else; every finding is one sentence.

Does not know: torch, transformers, the network, which pairs there are.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specdec_core.models.protocol import ModelUnavailable

SINGLE, INDEX, CONFIG, TOKENIZER = (
    "model.safetensors",
    "model.safetensors.index.json",
    "config.json",
    "tokenizer.json",
)
_HEADER_LIMIT = 100_000_000  # what the safetensors format itself allows
_JSON_LIMIT = 50_000_000
# Room for key/value caches, activations and the copy that a change of dtype makes of one tensor at a time.
_HEADROOM = 1.15


@dataclass(frozen=True)
class Contents:
    """What a model's safetensors files hold: how many numbers, and how many bytes on disk."""

    elements: int
    stored_bytes: int


def inspect(folder: Path, name: str) -> Contents:
    """What is in the model's folder, after checking that it is all there. ``name`` is what sentences call it.

    Raises ModelUnavailable: no folder, not a causal model, no safetensors, a missing or truncated file.
    """
    if not folder.is_dir():
        raise ModelUnavailable(f"{name} is not there: {folder} is not a folder.")
    _check_architecture(_read_json(folder / CONFIG, name), name)
    if not (folder / TOKENIZER).is_file():
        raise ModelUnavailable(f"{name} has no {TOKENIZER}; only models with a fast tokenizer can be used.")
    found = [_header(path, name) for path in weight_files(folder, name)]
    return Contents(sum(x.elements for x in found), sum(x.stored_bytes for x in found))


def weight_files(folder: Path, name: str) -> list[Path]:
    """The model's safetensors files, all present. Raises ModelUnavailable naming the first that is missing."""
    index = folder / INDEX
    if not index.is_file():
        if not (folder / SINGLE).is_file():
            raise ModelUnavailable(f"{name} has no {SINGLE}; weights in other formats are never opened.")
        return [folder / SINGLE]
    shards = _read_json(index, name).get("weight_map")
    if not isinstance(shards, dict) or not shards or not all(isinstance(v, str) for v in shards.values()):
        raise ModelUnavailable(f"{name} is damaged: {INDEX} names no files.")
    names = sorted(set(shards.values()))
    for shard in names:
        if Path(shard).name != shard or not shard.endswith(".safetensors"):
            raise ModelUnavailable(f"{name} is refused: {INDEX} points at {shard[:60]!r}, not at a file beside it.")
        if not (folder / shard).is_file():
            raise ModelUnavailable(f"{name} is only half downloaded: {shard} of {len(names)} files is missing.")
    return [folder / shard for shard in names]


def _read_json(path: Path, name: str) -> dict[str, Any]:
    if not path.is_file():
        raise ModelUnavailable(f"{name} has no {path.name}.")
    try:
        if path.stat().st_size > _JSON_LIMIT:
            raise ValueError
        data = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        raise ModelUnavailable(f"{name} is damaged: {path.name} cannot be read.") from None
    if not isinstance(data, dict):
        raise ModelUnavailable(f"{name} is damaged: {path.name} cannot be read.")
    return data


def _check_architecture(config: Mapping[str, Any], name: str) -> None:
    found = config.get("architectures") or []
    known = [a for a in found if isinstance(a, str)] if isinstance(found, list) else []
    if not any(a.endswith(("ForCausalLM", "LMHeadModel")) for a in known):
        what = known[0][:60] if known else "nothing"
        raise ModelUnavailable(f"{name} does not predict the next token: its config.json names {what}.")


def _header(path: Path, name: str) -> Contents:
    """The file's own account of itself, held against its size: a half-downloaded file is shorter than it says."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if not 2 <= length <= min(_HEADER_LIMIT, size - 8):
                raise ValueError("header")
            tensors = json.loads(file.read(length))
        tensors.pop("__metadata__", None)
        end = max((t["data_offsets"][1] for t in tensors.values()), default=0)
        elements = sum(_product(t["shape"]) for t in tensors.values())
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        raise ModelUnavailable(f"{name} is damaged: {path.name} is not a whole safetensors file.") from None
    if size < 8 + length + end:
        raise ModelUnavailable(
            f"{name} is only half downloaded: {path.name} has {size:,} of {8 + length + end:,} bytes."
        )
    return Contents(elements, size)


def _product(shape: list[int]) -> int:
    out = 1
    for n in shape:
        out *= n
    return out


# --- memory ----------------------------------------------------------------------------------------------------------


def available_memory() -> int | None:
    """Bytes of main memory that a new model may take, or None where the system does not say."""
    found = [n for n in (_meminfo(), _cgroup()) if n is not None]
    if found:
        return min(found)
    try:  # no account of what is free: the whole of it is an upper bound, and better than nothing
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _meminfo() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(int(x.split()[1]) * 1024 for x in lines if x.startswith("MemAvailable:"))
    except (OSError, ValueError, IndexError, StopIteration):
        return None


def _cgroup() -> int | None:
    """What a container's limit leaves; None without a limit."""
    folder = Path("/sys/fs/cgroup")
    try:
        return int((folder / "memory.max").read_text()) - int((folder / "memory.current").read_text())
    except (OSError, ValueError):
        return None


def check_memory(name: str, elements: int, bytes_each: int, available: int | None) -> None:
    """Raises ModelUnavailable when ``elements`` numbers of ``bytes_each`` do not fit into ``available`` bytes."""
    need = int(elements * bytes_each * _HEADROOM)
    if available is not None and need > available:
        raise ModelUnavailable(
            f"{name} is too big: it needs about {_gigabytes(need)} of memory and {_gigabytes(available)} are free."
        )


def _gigabytes(n: int) -> str:
    return f"{n / 1e9:.1f} GB"


# --- tokenizers ------------------------------------------------------------------------------------------------------


def first_difference(draft: Mapping[str, int], target: Mapping[str, int]) -> str | None:
    """The first id at which two vocabularies (token to id) differ, as the end of a sentence; None when they agree.

    Every token is compared: vocabularies of one size can hold different tokens.
    """
    if dict(draft) == dict(target):
        return None
    a, b = ({i: token for token, i in v.items()} for v in (draft, target))
    for i in sorted(a.keys() | b.keys()):
        if a.get(i) != b.get(i):
            return f"token {i} is {_shown(a.get(i))} in the draft and {_shown(b.get(i))} in the target"
    token = next(t for t in sorted(draft.keys() | target.keys()) if draft.get(t) != target.get(t))
    return f"the token {_shown(token)} has id {draft.get(token)} in the draft and {target.get(token)} in the target"


def _shown(token: str | None) -> str:
    return "missing" if token is None else repr(token[:40])
