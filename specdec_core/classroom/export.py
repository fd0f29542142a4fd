"""Results as CSV that a spreadsheet can open without running what a student typed.

A cell that begins like a formula gets an apostrophe in front, and so does what looks like one after a separator: a
spreadsheet that splits at semicolons would see it at the beginning of a cell. Plain numbers stay numbers.

Does not know: the database.
"""

import csv
import io
import json
import re
from collections.abc import Iterable, Sequence
from datetime import datetime

from specdec_core.classroom.records import AnswerRow, Progress

# The full-width forms count too: some spreadsheets fold them.
_FORMULA = re.compile(
    r"""(^|[;,|\t\r\n"'\[:])(\s*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])(?![+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?:$|[\],}]))"""
)


def safe_cell(value: object) -> str:
    """The text of a cell. Text that a spreadsheet could take for a formula is defused with an apostrophe."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S")
    if isinstance(value, float):
        return f"{value:.12g}"
    return _FORMULA.sub(r"\1\2'", str(value).replace("\0", ""))


def _csv(head: Sequence[str], rows: Iterable[Sequence[object]], bom: bool) -> bytes:
    text = io.StringIO()
    # Everything in quotes: also a spreadsheet that expects another separator keeps a cell in one piece.
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerow(head)
    writer.writerows([safe_cell(value) for value in row] for row in rows)
    return text.getvalue().encode("utf-8-sig" if bom else "utf-8", "replace")


def students_csv(progress: Progress, bom: bool) -> bytes:
    """One row per student: the points that count, question by question. An empty cell is a question without answer."""
    indices = range(progress.assignment.question_count)
    head = ["number", "name", "joined_utc", *(f"q{i + 1}" for i in indices), "answered", "score", "max_answered"]
    head += [*(f"q{i + 1}_attempts" for i in indices), "last_answer_utc"]
    rows = (
        [s.number, s.name, s.joined_at, *s.scores, s.answered, s.score, s.max_score, *s.attempts, s.last_answer_at]
        for s in progress.students
    )
    return _csv(head, rows, bom)


def answers_csv(answers: Iterable[AnswerRow], bom: bool) -> bytes:
    """One row per answer, with what was typed."""
    head = ["number", "name", "question", "attempt", "counts", "score", "max", "misconceptions", "answers", "utc"]
    rows = (
        [
            row.number,
            row.name,
            row.question + 1,
            row.attempt,
            "yes" if row.counts else "no",
            row.result.score,
            row.result.max_score,
            " ".join(row.result.misconceptions),
            json.dumps(row.answers, ensure_ascii=False),
            row.submitted_at,
        ]
        for row in answers
    )
    return _csv(head, rows, bom)
