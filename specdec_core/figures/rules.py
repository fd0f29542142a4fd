"""What the figures of the bias lab share: how a rule looks (colour by its name, pattern, dash and symbol by its place).

Does not know: streamlit, numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from specdec_core.acceptance import Rule
from specdec_core.figures.palette import Theme, colours

#: Below this a total variation is the rounding of a sum over the vocabulary.
ZERO = 5e-13

_COLOURS = {
    "random": "accepted",
    "fixed": "rejected",
    "lenient": "residual",
    "ensemble": "corrected",
    "always": "q",
    "never": "not_reached",
}
_PATTERNS = ("", "/", "x", ".", "-", "\\", "|", "+")
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "star", "cross", "hexagon")


@dataclass(frozen=True)
class Style:
    """One rule's colour (for the theme), bar pattern, line dash and marker symbol."""

    colour: str
    pattern: str
    dash: str
    symbol: str


def styles(rules: Sequence[Rule], theme: Theme) -> tuple[Style, ...]:
    """A style per rule. Two rules of one name share a colour and differ in all else."""
    c = colours(theme)
    return tuple(
        Style(
            c[_COLOURS.get(rule.name, "kept")],
            _PATTERNS[i % len(_PATTERNS)],
            _DASHES[i % len(_DASHES)],
            _SYMBOLS[i % len(_SYMBOLS)],
        )
        for i, rule in enumerate(rules)
    )


def axis_title(text: str, theme: Theme) -> dict[str, Any]:
    """An axis title in the palette's own font."""
    return {"text": text, "font": {"size": 14, "color": colours(theme)["soft"]}}
