"""What comes from anybody: how an error's sentence names it, and whether a text is one.

Does not know: what was to be read.
"""

from typing import Any


def has_surrogate(text: str) -> bool:
    """Whether ``text`` holds half a character, which cannot be sent or stored."""
    return any("\ud800" <= c <= "\udfff" for c in text)


def short(value: Any) -> str:
    """What was found instead, for an error's sentence: on one line, never long."""
    try:
        text = repr(value)
    except RecursionError:  # it could be read, but from a frame further up
        text = "something nested very deep"
    return text if len(text) <= 40 else text[:37] + "..."
