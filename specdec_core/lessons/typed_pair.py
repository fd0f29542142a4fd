"""Two distributions that a person types: read, checked, scaled, put into a link, and the examples to begin with.

What is typed stays text until it is read, so that a blank or a slip can be shown as it is. Numbers are meant in
decimal and are kept as fractions: their sums are those of paper. Nothing is normalised unless the person asks for it.

Does not know: the screen, what is done with the two distributions.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from specdec_core.distributions import Array
from specdec_core.lessons.typed import read_probability, told_apart
from specdec_core.words import BOOK, Notation, _, ngettext

MIN_TOKENS, MAX_TOKENS = 3, 8
MAX_LINK_ROWS, MAX_LINK = 12, 1200


@dataclass(frozen=True)
class TypedRow:
    """One line of the table, as typed."""

    token: str
    q: str
    p: str


@dataclass(frozen=True)
class TypedPair:
    """Two distributions over the same tokens, exact."""

    tokens: tuple[str, ...]
    q: tuple[Fraction, ...]
    p: tuple[Fraction, ...]

    @property
    def q_array(self) -> Array:
        """q in floats, shape ``(V,)``."""
        return np.array([float(x) for x in self.q])

    @property
    def p_array(self) -> Array:
        """p in floats, shape ``(V,)``."""
        return np.array([float(x) for x in self.p])


@dataclass(frozen=True)
class Reading:
    """What a table says. ``pair`` is None while anything is wrong; ``problems`` then says what, a sentence each.

    numbers: the two columns once every field is a number, although their sums may not be one yet; they can be drawn.
    off: names of the columns ("q", "p") whose sum is not one although every field is fine: they can be scaled.
    """

    pair: TypedPair | None
    problems: tuple[str, ...] = ()
    numbers: TypedPair | None = None
    off: tuple[str, ...] = ()


def read(rows: Sequence[TypedRow], notation: Notation = BOOK) -> Reading:
    """The table as two distributions, or what is wrong with it. Sentences are plain text, tokens in them literal."""
    wrong = _count_problem(len(rows))
    if wrong:
        return Reading(None, (wrong,))
    problems = _token_problems(rows)
    columns: dict[str, list[Fraction]] = {"q": [], "p": []}
    for i, row in enumerate(rows, start=1):
        token = row.token if row.token else _("row {n}").format(n=i)
        for column, symbol, text in (("q", notation.q, row.q), ("p", notation.p, row.p)):
            value, problem = read_probability(text, _("{symbol} of “{token}”").format(symbol=symbol, token=token[:24]))
            if value is not None:
                columns[column].append(value)
            problems += [problem] if problem else []
    if problems:
        return Reading(None, tuple(problems))
    numbers = TypedPair(tuple(row.token for row in rows), tuple(columns["q"]), tuple(columns["p"]))
    sums = {"q": _sum_problem(notation.q, sum(numbers.q)), "p": _sum_problem(notation.p, sum(numbers.p))}
    off = tuple(name for name, problem in sums.items() if problem)
    return Reading(None if off else numbers, tuple(sums[name] for name in off), numbers, off)


def _count_problem(count: int) -> str:
    if count < MIN_TOKENS:
        return ngettext(
            "The table has {n} row; it needs {low} to {high}, one per token.",
            "The table has {n} rows; it needs {low} to {high}, one per token.",
            count,
        ).format(n=count, low=MIN_TOKENS, high=MAX_TOKENS)
    if count > MAX_TOKENS:
        return _("The table has {n} rows; more than {high} tokens do not fit into the picture.").format(
            n=count, high=MAX_TOKENS
        )
    return ""


def _token_problems(rows: Sequence[TypedRow]) -> list[str]:
    problems = [
        _("Row {n} has no token. Give it a name of your own.").format(n=i)
        for i, row in enumerate(rows, start=1)
        if not row.token
    ]
    names = [row.token for row in rows if row.token]
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        problems.append(_("Two rows have the token “{token}”. Every token needs one row.").format(token=twice[:24]))
    return problems


def _sum_problem(symbol: str, total: Fraction | int) -> str:
    if total == 1:
        return ""
    total = Fraction(total)
    names = {
        "symbol": symbol,
        "sum": told_apart(total, Fraction(1))[0],
        "rest": told_apart(abs(1 - total), Fraction(0))[0],
    }
    if total < 1:
        return _("{symbol} sums to {sum}: {rest} is missing to 1.").format(**names)
    return _("{symbol} sums to {sum}: that is {rest} too much.").format(**names)


def scaled(values: Sequence[Fraction]) -> tuple[str, ...] | None:
    """The values divided by their sum, as decimals that add up to exactly 1; None when all are 0.

    Four digits, or more where a small value would vanish; the rounding goes to the largest remainders.
    """
    total = sum(values)
    if total <= 0:
        return None
    for digits in (4, 6, 9, 12):
        unit = 10**digits
        exact = [value * unit / total for value in values]
        whole = [int(x) for x in exact]
        by_rest = sorted(range(len(values)), key=lambda i: (whole[i] - exact[i], i))
        for i in by_rest[: unit - sum(whole)]:
            whole[i] += 1
        if all(n > 0 or value == 0 for n, value in zip(whole, values, strict=True)):
            break
    return tuple(_trimmed(f"{n // unit}.{n % unit:0{digits}d}") for n in whole)


def _trimmed(text: str) -> str:
    return text.rstrip("0").rstrip(".")


# --- in a link ------------------------------------------------------------------------------------------------------

_ESCAPES = {"-": "--", "_": "-u", "*": "-s"}
_ESCAPED = re.compile(r"-([-us])")


def to_link(rows: Sequence[TypedRow]) -> str | None:
    """The table as a short text: cells parted by ``_``, rows by ``*``. None when it is too long for a link."""
    if not rows or len(rows) > MAX_LINK_ROWS:
        return None
    text = "*".join("_".join(_escape(cell) for cell in (row.token, row.q, row.p)) for row in rows)
    return text if len(text) <= MAX_LINK else None


def from_link(text: str) -> tuple[TypedRow, ...]:
    """The table in a link. Raises ValueError for a text that ``to_link`` cannot have written."""
    if len(text) > MAX_LINK:
        raise ValueError("too long")
    lines = text.split("*")
    if len(lines) > MAX_LINK_ROWS:
        raise ValueError("too many rows")
    rows = []
    for line in lines:
        token, q, p = (_unescape(cell) for cell in line.split("_"))
        rows.append(TypedRow(token, q, p))
    return tuple(rows)


def _escape(text: str) -> str:
    return "".join(_ESCAPES.get(c, c) for c in text)


def _unescape(text: str) -> str:
    if "-" in _ESCAPED.sub("", text):
        raise ValueError("a lone hyphen")
    return _ESCAPED.sub(lambda m: {"-": "-", "u": "_", "s": "*"}[m.group(1)], text)


# --- examples -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Preset:
    """An example to begin with."""

    name: str
    rows: tuple[TypedRow, ...]


def preset(name: str, tokens: str, q: str, p: str) -> Preset:
    """An example from three texts with a word per token."""
    return Preset(name, table(tokens.split(), q.split(), p.split()))


def table(tokens: Iterable[str], q: Iterable[str], p: Iterable[str]) -> tuple[TypedRow, ...]:
    """Rows from columns of one length."""
    return tuple(TypedRow(*cells) for cells in zip(tokens, q, p, strict=True))
