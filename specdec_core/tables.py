"""Candidates as rows of a table, for spreadsheets: CSV in which no token runs as a formula.

Does not know: JSON, how a trace came about.
"""

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Any

from specdec_core.trace import Block

COLUMNS = ("block", "t", "token", "id", "q", "p", "ratio", "accept_probability", "r", "verdict")


def csv_rows(blocks: Iterable[Block]) -> Iterator[dict[str, Any]]:
    """One flat row per candidate, in ``COLUMNS``."""
    for block in blocks:
        for x in block.positions:
            yield {
                "block": block.index + 1,
                "t": x.t,
                "token": x.token.text,
                "id": x.token.id,
                "q": x.q,
                "p": x.p,
                "ratio": x.ratio,
                "accept_probability": x.accept_probability,
                "r": x.r,
                "verdict": x.verdict.value,
            }


def blocks_to_csv(blocks: Iterable[Block]) -> str:
    """The candidates as CSV. A token that a spreadsheet would take for a formula gets an apostrophe in front."""
    out = io.StringIO()
    # RFC 4180 line ends; with a bare "\n" the writer would leave a lone "\r" in a token unquoted.
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\r\n")
    writer.writeheader()
    for row in csv_rows(blocks):
        writer.writerow(row | {"token": spreadsheet_safe(row["token"])})
    return out.getvalue()


def spreadsheet_safe(text: str) -> str:
    """``text``, with an apostrophe in front where a spreadsheet would run it as a formula."""
    return "'" + text if text.lstrip()[:1] in ("=", "+", "-", "@") or text[:1] in ("\t", "\r") else text
