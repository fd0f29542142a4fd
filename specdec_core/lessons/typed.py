"""Numbers that a person types: read as on paper, and written back as on paper.

Everything is a ``Fraction``; nothing is rounded before it is compared.

Does not know: streamlit, which lesson asks.
"""

from fractions import Fraction

from specdec_core.numbers import read_number
from specdec_core.words import _


def read_probability(text: str, name: str) -> tuple[Fraction | None, str]:
    """A typed probability, or None and plain sentences on what is wrong with it. ``name`` is what it is called."""
    example = _("Type a number from 0 to 1, such as 0.75, 3/4 or 75 %.")
    typed = shortened(text)
    if not typed:
        return None, _("{name} is blank. {example}").format(name=name, example=example)
    try:
        value = read_number(text)
    except ValueError:
        return None, _("{name} = “{typed}” is not a number. {example}").format(name=name, typed=typed, example=example)
    if value < 0:
        return None, _("{name} = {typed} is below 0. A probability lies from 0 to 1.").format(name=name, typed=typed)
    if value > 1:
        return None, _("{name} = {typed} is above 1. A probability lies from 0 to 1.").format(name=name, typed=typed)
    return value, ""


def shortened(text: str, longest: int = 40) -> str:
    """What was typed, on one line and not endless, to be quoted in a message."""
    line = " ".join(text.split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


def digits_of(value: Fraction, digits: int) -> str:
    """``value``, at least 0, rounded half up to ``digits`` decimals, trailing zeros kept."""
    scaled = (2 * value.numerator * 10**digits + value.denominator) // (2 * value.denominator)
    whole, rest = divmod(scaled, 10**digits)
    return f"{whole}.{rest:0{digits}d}" if digits else str(whole)


def written(value: Fraction, digits: int = 4) -> str:
    """``value`` as short as it can be said exactly within ``digits`` decimals, else rounded to them."""
    text = digits_of(value, digits)
    return text.rstrip("0").rstrip(".") if Fraction(text) == value else text


def is_short(value: Fraction, digits: int = 4) -> bool:
    """Whether ``written`` says ``value`` exactly."""
    return Fraction(digits_of(value, digits)) == value


def told_apart(a: Fraction, b: Fraction, digits: int = 4) -> tuple[str, str]:
    """Both written with as many decimals as it takes to tell them apart, so that a printed comparison is true."""
    if a != b:
        while digits < 120 and digits_of(a, digits) == digits_of(b, digits):
            digits += 1
    return written(a, digits), written(b, digits)
