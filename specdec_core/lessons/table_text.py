"""Lesson 2's table as text: pasted from a spreadsheet, read from CSV or JSON, carried in a link.

Whatever comes in may come from anybody: sizes are bounded before anything is unpacked.

Does not know: streamlit, what makes a line faulty (``one_block.check_table`` does).
"""

import base64
import csv
import io
import json
import zlib
from collections.abc import Sequence

from specdec_core.cases import MAX_ROWS, Case, parse_case
from specdec_core.foreign import has_surrogate
from specdec_core.lessons.one_block import Table, TypedRow, table_of
from specdec_core.lessons.typed import shortened
from specdec_core.tables import spreadsheet_safe
from specdec_core.trace import to_plain
from specdec_core.words import _

MAX_TEXT = 400_000
#: Longer addresses get lost on the way: mail programs and some servers cut them.
MAX_LINK = 6000
_MAX_PACKED = 16_384
_COLUMNS = ("token", "q", "p", "r")


class Unreadable(ValueError):
    """A text is no table. ``str(error)`` is one plain sentence."""


def read_table(text: str) -> Table:
    """A table from pasted or uploaded text: JSON case, or columns separated by tabs, semicolons or commas.

    A first line with the names token, q, p and r, in any order and among others, says which column is which; without
    one the first four columns are meant in this order. Numbers stay as typed. Raises Unreadable or InvalidCase.
    """
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise Unreadable(_("There is nothing to read yet: paste lines with token, q, p and r."))
    if len(text) > MAX_TEXT:
        raise Unreadable(_("The text is too long: at most {n} characters.").format(n=f"{MAX_TEXT:,}"))
    if text.lstrip().startswith("{"):
        return table_of(parse_case(text))
    return _from_lines(text)


def _from_lines(text: str) -> Table:
    first = next(line for line in text.splitlines() if line.strip())
    delimiter = next((d for d in ("\t", ";") if d in first), ",")
    try:
        lines = [x for x in csv.reader(io.StringIO(text), delimiter=delimiter) if any(cell.strip() for cell in x)]
    except csv.Error as error:
        raise Unreadable(_("The text is no CSV: {why}.").format(why=shortened(str(error), 80))) from None
    if not lines:
        raise Unreadable(_("There is nothing to read yet: paste lines with token, q, p and r."))
    header = [cell.strip().lower() for cell in lines[0]]
    if "token" in header:
        missing = [name for name in _COLUMNS if name not in header]
        if missing:
            raise Unreadable(_("The first line names no column {name}.").format(name=missing[0]))
        places = [header.index(name) for name in _COLUMNS]
        lines = lines[1:]
    else:
        places = [0, 1, 2, 3]
        _check_width(lines, delimiter)
    if not lines:
        raise Unreadable(_("There are column names, but no lines below them."))
    if len(lines) > MAX_ROWS:
        raise Unreadable(_("The text has {n} lines; at most {most} can be judged.").format(n=len(lines), most=MAX_ROWS))
    return Table(tuple(TypedRow(*_cells(line, places)) for line in lines))


def _check_width(lines: Sequence[Sequence[str]], delimiter: str) -> None:
    for i, line in enumerate(lines, start=1):
        if len(line) > 4 and delimiter == ",":
            raise Unreadable(
                _(
                    "Line {line} has {n} columns instead of 4. With decimal commas, separate the columns by tabs or"
                    " semicolons."
                ).format(line=i, n=len(line))
            )
        if len(line) != 4:
            raise Unreadable(_("Line {line} has {n} columns instead of 4.").format(line=i, n=len(line)))


def _cells(line: Sequence[str], places: Sequence[int]) -> list[str]:
    cells = [line[i] if i < len(line) else "" for i in places]
    token = cells[0]
    # Our own export puts an apostrophe before what a spreadsheet would run as a formula.
    if token.startswith("'") and spreadsheet_safe(token[1:]) == token:
        cells[0] = token[1:]
    return cells


def case_json(case: Case) -> str:
    """The case as the command line reads it."""
    plain = {
        "context": list(case.context),
        "tokens": [x.token for x in case.rows],
        "q": [x.q for x in case.rows],
        "p": [x.p for x in case.rows],
        "r": [x.r for x in case.rows],
    }
    return json.dumps(to_plain(plain), ensure_ascii=False, indent=1)


# --- Links ----------------------------------------------------------------------------------------------------------


def pack(table: Table) -> str:
    """The table for an address: letters, digits, "-" and "_" only. "" where it would be too long to be passed on."""
    plain = [list(table.context), [[x.token, x.q, x.p, x.r] for x in table.rows]]
    raw = json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    packed = base64.urlsafe_b64encode(zlib.compress(raw, 9)).decode().rstrip("=")
    return packed if len(packed) <= MAX_LINK else ""


def unpack(text: str) -> Table:
    """The table in an address. Raises Unreadable."""
    try:
        if len(text) > _MAX_PACKED:
            raise ValueError("too long")
        packed = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        raw = zlib.decompressobj().decompress(packed, MAX_TEXT)
        context, lines = json.loads(raw.decode("utf-8"))
        if not 1 <= len(lines) <= MAX_ROWS or len(context) > 4096:
            raise ValueError("size")
        cells = [cell for line in lines for cell in line]
        if any(not isinstance(line, list) or len(line) != 4 for line in lines) or not all(
            isinstance(c, str) for c in [*cells, *context]
        ):
            raise ValueError("shape")
        if has_surrogate("".join((*cells, *context))):
            raise ValueError("Unicode")
        return Table(tuple(TypedRow(*line) for line in lines), tuple(context))
    except (ValueError, TypeError, RecursionError, zlib.error):
        raise Unreadable(_("The table in this link cannot be read.")) from None
