"""Text from tokens and people, shown as it is where streamlit would read markdown.

Does not know: which element shows it.
"""

import re

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+\-.!|~<>$:&=^])")


def literal(text: str) -> str:
    """``text`` with every character escaped that markdown, TeX, emoji codes or HTML would take for its own."""
    return _SPECIAL.sub(r"\\\1", text).replace("\n", " ")
