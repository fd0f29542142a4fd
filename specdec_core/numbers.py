"""Probabilities and ratios as people read them, and numbers as people write them.

Does not know: units other than probabilities, the screen.
"""

import math
from fractions import Fraction


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


def decimal(text: str) -> Fraction:
    """A number as people write it: 0.75, .75, 0,75, 3/4, 75 %. Raises ValueError with one plain sentence."""
    cleaned = text.strip().replace("\u00a0", " ").replace("\u2212", "-")
    if not cleaned:
        raise ValueError("is blank.")
    if len(cleaned) > 40:
        raise ValueError("is too long to be a number.")
    percent = cleaned.endswith("%")
    body = cleaned.rstrip("%").strip().replace(",", ".")
    try:
        top, _, bottom = body.partition("/")
        value = Fraction(_plain(top)) / (Fraction(_plain(bottom)) if bottom else 1)
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"is not a number: {text.strip()[:40]!r}.") from None
    return value / 100 if percent else value


def _plain(text: str) -> str:
    text = text.strip()
    digits = text.lstrip("+-")
    # Fraction would also read "1e999999999", which takes for ever, and "1_0", which nobody means.
    if not digits or any(c not in "0123456789." for c in digits) or digits.count(".") > 1 or digits == ".":
        raise ValueError(text)
    return text
