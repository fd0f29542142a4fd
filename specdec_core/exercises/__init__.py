"""Exercises: a question bank with seeded variants, grading that names misconceptions, and export formats.

``variant`` or ``from_block`` makes a question, ``grade`` marks it, ``FORMATS`` and ``from_json`` carry sets of them.

Does not know: the screen, databases, who answers.
"""

from specdec_core.exercises.bank import Entry, all_topics, entries, variant
from specdec_core.exercises.family_files import InvalidFamily, families
from specdec_core.exercises.formats import FORMATS, Format
from specdec_core.exercises.formats.own import (
    QuestionSet,
    from_json,
    question_from_plain,
    question_to_plain,
    to_json,
)
from specdec_core.exercises.formats.reader import InvalidQuestions
from specdec_core.exercises.grading import Result, Status, StepResult, grade, right_answers
from specdec_core.exercises.mistakes import Misconception, misconception, misconceptions
from specdec_core.exercises.question import (
    Answer,
    Kind,
    Option,
    Question,
    Step,
    Table,
    Text,
    Thinking,
    Wrong,
    answer_text,
)
from specdec_core.exercises.real_block import UnsuitableBlock, from_block, suitable_levels
from specdec_core.exercises.values import InvalidNumber, parse_number

__all__ = [
    "FORMATS",
    "Answer",
    "Entry",
    "Format",
    "InvalidFamily",
    "InvalidNumber",
    "InvalidQuestions",
    "Kind",
    "Misconception",
    "Option",
    "Question",
    "QuestionSet",
    "Result",
    "Status",
    "Step",
    "StepResult",
    "Table",
    "Text",
    "Thinking",
    "UnsuitableBlock",
    "Wrong",
    "all_topics",
    "answer_text",
    "entries",
    "families",
    "from_block",
    "from_json",
    "grade",
    "misconception",
    "misconceptions",
    "parse_number",
    "question_from_plain",
    "question_to_plain",
    "right_answers",
    "suitable_levels",
    "to_json",
    "variant",
]
