"""Text from tokens and people, shown as it is where streamlit would read markdown.

Does not know: which element shows it.
"""

import re

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+\-.!|~<>$:&=^])")
# Streamlit looks for these after the escapes are gone: bare addresses become links, codes become icons, arrows and
# comparisons between blanks become other signs. A character without width parts them where the pattern says.
_LATE = re.compile(
    r"(?<=:)(?=//|material|streamlit)|(?<=@)(?=[\w-])|(?<=www)(?=\.)"
    r"|(?<=(?<!\S)[<>~-])(?=(?:->|[>=-])(?!\S))",
    re.IGNORECASE,
)
_JOINER = "\u2060"  # no width, no break, no blank


def literal(text: str) -> str:
    """``text`` with every character escaped that markdown, TeX, emoji codes or HTML would take for its own."""
    return _SPECIAL.sub(r"\\\1", _LATE.sub(_JOINER, text)).replace("\r", " ").replace("\n", " ")
