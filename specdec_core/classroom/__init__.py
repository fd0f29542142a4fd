"""Assignments, students and answers in a database: the classroom without a screen.

Start with `Classroom.open()` (room.py). Importing this package loads SQLAlchemy; nothing is created on disk before a
classroom is opened.

Does not know: Streamlit, question families, grading (records.Grader is the door for that).
"""

from specdec_core.classroom.desk import Desk
from specdec_core.classroom.errors import ClassroomError, Sentence
from specdec_core.classroom.records import (
    AnswerRow,
    Assignment,
    Card,
    Deleted,
    Grade,
    Graded,
    Grader,
    GradeStep,
    Options,
    OwnAnswer,
    Progress,
    QuestionProgress,
    Receipt,
    Seat,
    StudentProgress,
    StudentQuestion,
    StudentView,
)
from specdec_core.classroom.room import Classroom
from specdec_core.classroom.settings import Settings

__all__ = [
    "AnswerRow",
    "Assignment",
    "Card",
    "Classroom",
    "ClassroomError",
    "Deleted",
    "Desk",
    "Grade",
    "GradeStep",
    "Graded",
    "Grader",
    "Options",
    "OwnAnswer",
    "Progress",
    "QuestionProgress",
    "Receipt",
    "Seat",
    "Sentence",
    "Settings",
    "StudentProgress",
    "StudentQuestion",
    "StudentView",
]
