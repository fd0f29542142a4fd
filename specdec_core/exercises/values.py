"""Numbers and texts as people read and write them: parse, show, make visible.

Everything numeric in an exercise is a ``Fraction``: 0.7 means seven tenths, and a tie is a tie as on paper. Floats come
from the numeric layers only and are brought back to paper here (``on_paper``).

Does not know: questions, grading, the screen.
"""

from fractions import Fraction

from specdec_core.numbers import LONGEST, NotANumber, read_number
from specdec_core.tokens import shown
from specdec_core.words import _

MAX_NUMBER_TEXT = LONGEST
MAX_NUMBER = Fraction(10**9)


class InvalidNumber(ValueError):
    """A text is not a number. ``str(error)`` is one sentence for the person who typed it."""


def parse_number(text: str) -> Fraction:
    """The number a person typed, as ``read_number`` reads it, up to a billion. Raises InvalidNumber."""
    if not isinstance(text, str):
        text = ""
    try:
        value = read_number(text)
    except NotANumber as error:
        raise InvalidNumber(_sentence(error.why, text)) from None
    if abs(value) > MAX_NUMBER:
        raise InvalidNumber(_("{text} is too large a number for this exercise.").format(text=_quoted(text)))
    return value


def _sentence(why: str, text: str) -> str:
    if why == "blank":
        return _("Type a number, for example 0.75 or 3/4.")
    if why == "long":
        return _("This number is too long: at most {most} characters are read.").format(most=MAX_NUMBER_TEXT)
    if why == "zero":
        return _("{text} divides by zero.").format(text=_quoted(text))
    return _("{text} is not a number; write it like 0.75, 3/4 or 75 %.").format(text=_quoted(text))


def _quoted(text: str) -> str:
    return f"“{visible(text)}”"


def on_paper(value: float) -> Fraction:
    """The fraction that a float stands for when it was computed from typed decimals.

    Those fractions have denominators below a million, and lie much further apart than a float's error.
    """
    return Fraction(float(value)).limit_denominator(10**6)


def decimal_on_paper(value: float) -> Fraction:
    """As ``on_paper`` for powers of decimals, whose denominators are large powers of ten: twelve places are kept."""
    return Fraction(f"{float(value):.12f}")


def places_of(value: Fraction, most: int = 12) -> int | None:
    """How many decimal places write ``value`` exactly; None when more than ``most`` would be needed."""
    scaled = value
    for places in range(most + 1):
        if scaled.denominator == 1:
            return places
        scaled *= 10
    return None


def decimal(value: Fraction | int, places: int = 4) -> str:
    """``value`` as a decimal of at most ``places`` places: exact where it fits, rounded half up where not.

    ``parse_number(decimal(x)) == x`` whenever x fits.
    """
    value = Fraction(value)
    scaled = abs(value) * 10**places
    whole = (2 * scaled.numerator + scaled.denominator) // (2 * scaled.denominator)
    digits = str(whole).rjust(places + 1, "0")
    text = digits[: len(digits) - places] + ("." + digits[len(digits) - places :] if places else "")
    text = text.rstrip("0").rstrip(".") if places else text
    return "-" + text if value < 0 and whole else text


def about(value: Fraction | int, places: int = 4) -> str:
    """``value`` as a decimal: exact where it fits into ``places``, else its first digits and an ellipsis, not rounded.

    So "p/q = 0.3333…" is a true sentence.
    """
    value = Fraction(value)
    known = places_of(value)
    if known is not None and known <= places:
        return decimal(value, places)
    cut = abs(value) * 10**places
    digits = str(cut.numerator // cut.denominator).rjust(places + 1, "0")
    return f"{'-' if value < 0 else ''}{digits[:-places]}.{digits[-places:]}…"


def exact_text(value: Fraction) -> str:
    """``value`` written without loss: a decimal where there is a short one, a fraction otherwise."""
    places = places_of(value)
    return f"{value.numerator}/{value.denominator}" if places is None else decimal(value, places)


def visible(text: str) -> str:
    """A token's text on one line; blanks at its ends and all that cannot be seen are marks. Twice changes nothing."""
    return shown(text, longest=120)
