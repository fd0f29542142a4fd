"""Question sets as other programs read them: GIFT, Moodle XML, QTI 2.1, Markdown, a printable sheet, and our own JSON.

One registry of what can be downloaded; a new format is one entry.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from specdec_core.exercises.formats.gift import to_gift
from specdec_core.exercises.formats.markdown import to_markdown
from specdec_core.exercises.formats.moodle import to_moodle_xml
from specdec_core.exercises.formats.own import to_json
from specdec_core.exercises.formats.qti import to_qti
from specdec_core.exercises.formats.sheet import to_sheet
from specdec_core.exercises.question import Question


@dataclass(frozen=True)
class Format:
    """A file that questions can be saved as. answers: whether the right answers are in it."""

    name: str
    title: str
    suffix: str
    mime: str
    answers: bool
    write: Callable[[Sequence[Question], str], str | bytes]


FORMATS: dict[str, Format] = {
    f.name: f
    for f in (
        Format("gift", "GIFT", ".gift.txt", "text/plain", True, to_gift),
        Format("moodle", "Moodle XML", ".moodle.xml", "application/xml", True, to_moodle_xml),
        Format("qti", "QTI 2.1", ".qti.zip", "application/zip", True, to_qti),
        Format("markdown", "Markdown", ".md", "text/markdown", False, to_markdown),
        Format(
            "markdown-answers",
            "Markdown with answers",
            ".answers.md",
            "text/markdown",
            True,
            lambda questions, title: to_markdown(questions, title, answers=True),
        ),
        Format("sheet", "Printable sheet", ".html", "text/html", False, to_sheet),
        Format(
            "sheet-answers",
            "Printable sheet with answers",
            ".answers.html",
            "text/html",
            True,
            lambda questions, title: to_sheet(questions, title, answers=True),
        ),
        Format("json", "Question set (JSON)", ".json", "application/json", True, to_json),
    )
}
