"""Probabilities and ratios as people read them, and numbers as people write them.

Does not know: units other than probabilities, the screen.
"""

import math
import re
import unicodedata
from fractions import Fraction

#: Characters of a typed number that are read.
LONGEST = 40

_PLAIN = re.compile(r"[0-9]{1,30}(?:[.,][0-9]{1,30})?(?:[eE][+-]?[0-9]{1,2})?|[.,][0-9]{1,30}(?:[eE][+-]?[0-9]{1,2})?")
_GREETING = re.compile(r"^[=≈~≃]\s*")


def probability(value: float) -> str:
    """Three significant places that never lie: 0 and 1 are shown as such only when they are exactly that."""
    if value in (0, 1):
        return f"{value:.0f}"
    if value < 0.0005:
        return f"{value:.1e}".replace("e-0", "e-")
    if value > 0.9995:
        return f"{value:.6f}" if value < 0.9999995 or value >= 1 else ">0.999999"
    return f"{value:.3f}"


def ratio(value: float) -> str:
    """p/q: three decimals below 100, then fewer."""
    if math.isinf(value):
        return "∞"
    if value == 0:
        return "0"
    if value >= 1000:
        return f"{value:,.0f}"
    if value >= 100:
        return f"{value:.1f}"
    if 0 < value < 0.0005:
        return f"{value:.1e}".replace("e-0", "e-")
    return f"{value:.3f}"


def compared(left: float, right: float) -> tuple[str, str]:
    """Two numbers with as many decimals as it takes to tell them apart, so that a printed comparison is true."""
    for digits in range(3, 13):
        a, b = f"{left:.{digits}f}", f"{right:.{digits}f}"
        if a != b or left == right:
            return a, b
    return repr(left), repr(right)


class NotANumber(ValueError):
    """A text is no number as people write one. ``why``: "blank", "long", "zero" (it divides by that), "other"."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def read_number(text: str) -> Fraction:
    """A number as people write it: 0.75, .75, 0,75, 3/4, 0.6/0.8, 75 %, 7.5e-1, = 0.75, also in full-width digits.

    The comma is a decimal comma, never a separator of thousands. Raises NotANumber.
    """
    if not text.strip():
        raise NotANumber("blank")
    if len(text) > LONGEST:
        raise NotANumber("long")
    plain = unicodedata.normalize("NFKC", text).replace("−", "-").replace("⁄", "/").replace("÷", "/")
    sign, plain = _sign(_GREETING.sub("", plain.strip()))
    plain, scale = (plain[:-1].rstrip(), Fraction(1, 100)) if plain.endswith("%") else (plain, Fraction(1))
    parts = [part.strip() for part in plain.split("/")]
    # By pattern, for Fraction also reads "1e999999999", which takes for ever, and "1_0", which nobody means.
    if len(parts) > 2 or (len(parts) == 2 and scale != 1) or not all(_PLAIN.fullmatch(part) for part in parts):
        raise NotANumber("other")
    top, *bottom = (Fraction(part.replace(",", ".")) for part in parts)
    if bottom == [0]:
        raise NotANumber("zero")
    return sign * scale * (top / bottom[0] if bottom else top)


def _sign(text: str) -> tuple[int, str]:
    if text[:1] in ("+", "-"):
        return (-1 if text[0] == "-" else 1), text[1:].lstrip()
    return 1, text
