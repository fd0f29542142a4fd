"""Token text made visible: blanks, line ends, controls, bytes that are no character.

Does not know: HTML or markdown; whoever shows the parts shows them literally.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from specdec_core.trace import Token

_BYTE = re.compile(r"<0x[0-9A-F]{2}>")
_MARKS = {" ": "␣", "\n": "⏎", "\t": "⇥", "\r": "␍", "\u00a0": "⍽", "\u200b": "·", "\u3000": "□"}


@dataclass(frozen=True)
class Part:
    """A stretch of a token: plain text, or a mark that stands for what cannot be seen."""

    text: str
    mark: bool = False


def visible(text: str) -> tuple[Part, ...]:
    """``text`` in parts. Blanks inside a token stay; those at its ends, and all else unseen, become marks."""
    if text == "":
        return (Part("∅", True),)
    parts: list[Part] = []
    last = len(text) - 1
    position = 0
    while position <= last:
        byte = _BYTE.match(text, position)
        if byte:
            parts.append(Part(byte.group(), True))
            position = byte.end()
            continue
        c = text[position]
        inside = c == " " and text[:position].strip(" ") and text[position:].strip(" ")
        shown, mark = (c, False) if inside else _shown(c)
        _append(parts, shown, mark)
        position += 1
    return tuple(parts)


def _shown(c: str) -> tuple[str, bool]:
    if c in _MARKS:
        return _MARKS[c], True
    if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"):
        return f"U+{ord(c):04X}", True
    return c, False


def _append(parts: list[Part], text: str, mark: bool) -> None:
    if parts and parts[-1].mark == mark and not mark:
        parts[-1] = Part(parts[-1].text + text)
    else:
        parts.append(Part(text, mark))


def shown(text: str, longest: int = 24) -> str:
    """``text`` as one line with marks, cut after ``longest`` characters. For axes, tables and sentences."""
    line = "".join(part.text for part in visible(text))
    return line if len(line) <= longest else line[: longest - 1] + "…"


def context(tokens: Sequence[Token], longest: int = 160) -> str:
    """Verified tokens as running text, cut from the left: what stands right before a block matters most.

    Hand-made tokens (without ids) are words and get blanks between them; a model's tokens bring their own.
    """
    by_hand = all(t.id is None for t in tokens)
    joined = (" " if by_hand else "").join(t.text for t in tokens)
    return joined if len(joined) <= longest else "…" + joined[-(longest - 1) :]
