"""Recorded traces: real blocks that need no model.

Does not know: how they were made (training/ and scripts do), the screen.
"""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from specdec_core.trace import Block, InvalidTrace, Trace, trace_from_json

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "recorded"


def names() -> list[str]:
    """The recorded traces that are there, in the order of their names."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


@lru_cache(maxsize=32)
def load(name: str) -> Trace:
    """A recorded trace. Traces are frozen, so all visitors share one. Raises InvalidTrace for an unknown name."""
    if name not in names():
        raise InvalidTrace(f"There is no recorded trace named {name[:40]!r}.")
    return trace_from_json((FOLDER / f"{name}.json").read_bytes())


def replay(trace: Trace) -> Iterator[Block]:
    """The trace's blocks one at a time, as ``decoding.decode`` would yield them."""
    yield from trace.blocks
