"""Reading fields of JSON that may come from anybody: types, sizes, one clear sentence per fault.

Does not know: what the fields mean.
"""

import re
from collections.abc import Collection, Mapping
from fractions import Fraction
from typing import Any

from specdec_core.foreign import has_surrogate, short

_FRACTION = re.compile(r"(-?)([0-9]{1,40})(?:\.([0-9]{1,40})|/([0-9]{1,40}))?")
# Line ends and tabs may stand in a text; other controls, lone surrogates and what XML cannot carry may not.
_BAD = re.compile("[^\t\n\u0020-\u007e\u00a0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class InvalidQuestions(ValueError):
    """A question set cannot be read. ``str(error)`` is one sentence naming the place and the value."""


class Reader:
    """A JSON object and where it stands in the file."""

    def __init__(self, data: Any, where: str) -> None:
        if not isinstance(data, Mapping):
            raise InvalidQuestions(f"{where}: an object is expected, not {short(data)}.")
        self.data, self.where = data, where

    def only(self, known: Collection[str]) -> None:
        """Refuses fields that are not known: a typing error must not go unnoticed."""
        unknown = next((key for key in self.data if key not in known), None)
        if unknown is not None:
            raise InvalidQuestions(f"{self.where}: there is no field {short(unknown)}.")

    def value(self, name: str) -> Any:
        """The field as it is. A field that is not there is a fault."""
        if name not in self.data:
            raise InvalidQuestions(f"{self.where}: the field {name!r} is missing.")
        return self.data[name]

    def text(self, name: str, longest: int, empty: bool = False) -> str:
        """A text of bounded length."""
        return self._text(self.value(name), name, longest, empty)

    def _text(self, value: Any, name: str, longest: int, empty: bool) -> str:
        if not isinstance(value, str) or (not value and not empty):
            raise InvalidQuestions(f"{self.where}: {name} must be a text, not {short(value)}.")
        if len(value) > longest:
            raise InvalidQuestions(f"{self.where}: {name} is too long, {len(value):,} characters, at most {longest:,}.")
        if _BAD.search(value):
            raise InvalidQuestions(f"{self.where}: {name} holds a character that cannot be shown.")
        return value

    def texts(self, name: str, most: int, longest: int) -> tuple[str, ...]:
        """A list of texts."""
        return tuple(self._text(x, name, longest, True) for x in self._list(name, 0, most))

    def objects(self, name: str, least: int, most: int) -> list["Reader"]:
        """A list of objects."""
        items = self._list(name, least, most)
        return [Reader(item, f"{self.where}, {name} {i}") for i, item in enumerate(items, start=1)]

    def _list(self, name: str, least: int, most: int) -> list[Any]:
        value = self.value(name)
        if not isinstance(value, list) or not least <= len(value) <= most:
            raise InvalidQuestions(f"{self.where}: {name} must be a list of {least} to {most} entries.")
        return value

    def whole(self, name: str, low: int, high: int) -> int:
        """A whole number in a range."""
        value = self.value(name)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise InvalidQuestions(f"{self.where}: {name} must be a whole number from {low} to {high}.")
        return value

    def one_of(self, name: str, known: Collection[str]) -> str:
        """One of a few words."""
        value = self.value(name)
        if not isinstance(value, str) or value not in known:
            raise InvalidQuestions(f"{self.where}: {name} has the unknown value {short(value)}.")
        return value

    def matching(self, name: str, pattern: re.Pattern[str]) -> str:
        """A short name of a certain form."""
        value = self.value(name)
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise InvalidQuestions(f"{self.where}: {name} must be a short plain name, not {short(value)}.")
        return value

    def fraction(self, name: str, signed: bool = False) -> Fraction:
        """A number written as text, like "0.75" or "4/3"."""
        value = self.value(name)
        match = _FRACTION.fullmatch(value) if isinstance(value, str) and value.isascii() else None
        if match is None or (match[1] and not signed) or (match[4] and int(match[4]) == 0):
            raise InvalidQuestions(f'{self.where}: {name} must be a number as text, like "0.75", not {short(value)}.')
        return Fraction(value)


def checked_block(value: Any, where: str) -> Mapping[str, Any] | None:
    """The picture's data: context and tokens, and q, p, r where they are shown. None stays None."""
    if value is None:
        return None
    r = Reader(value, where)
    r.only({"context", "tokens", "q", "p", "r"})
    tokens = _tokens(r, "tokens", 16)
    found: dict[str, Any] = {"context": _tokens(r, "context", 64), "tokens": tokens}
    for name in ("q", "p", "r"):
        if name in value:
            found[name] = _probabilities(r, name, len(tokens))
    return found


def checked_distributions(value: Any, where: str) -> Mapping[str, Any] | None:
    """A small vocabulary with q and p. None stays None."""
    if value is None:
        return None
    r = Reader(value, where)
    r.only({"vocabulary", "q", "p"})
    vocabulary = _tokens(r, "vocabulary", 64)
    numbers = {name: _probabilities(r, name, len(vocabulary)) for name in ("q", "p")}
    return {"vocabulary": vocabulary, **numbers}


def _tokens(r: Reader, name: str, most: int) -> list[str]:
    """Raw token texts may hold controls, which whoever shows them makes visible; lone surrogates they may not."""
    value = r.value(name)
    if not isinstance(value, list) or len(value) > most:
        raise InvalidQuestions(f"{r.where}: {name} must be a list of at most {most} texts.")
    for token in value:
        if not isinstance(token, str) or len(token) > 400 or has_surrogate(token):
            raise InvalidQuestions(f"{r.where}: {name} holds {short(token)}, which is no token's text.")
    return list(value)


def _probabilities(r: Reader, name: str, n: int) -> list[float]:
    value = r.value(name)
    if not isinstance(value, list) or len(value) != n:
        raise InvalidQuestions(f"{r.where}: {name} must be a list of {n} numbers.")
    for x in value:
        if isinstance(x, bool) or not isinstance(x, int | float) or not 0 <= x <= 1:
            raise InvalidQuestions(f"{r.where}: {name} holds {short(x)}, which is no probability.")
    return [float(x) for x in value]
