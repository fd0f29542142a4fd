"""What is let in: names, titles, questions, answers, grades, keys. Each refusal is one sentence.

Text is stored as typed. Nothing is escaped here: whoever shows a name escapes it for where it is shown.

Does not know: the database, or what an answer means.
"""

import json
import math
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from specdec_core.classroom.errors import ClassroomError
from specdec_core.classroom.records import Grade, Graded, GradeStep, Json, Options

LONGEST_NAME = 60
LONGEST_TITLE = 200
MOST_QUESTIONS = 100
MOST_ATTEMPTS = 20
MOST_STUDENTS = 1000
_QUESTIONS_BYTES = 2_000_000
_ANSWERS_BYTES = 20_000
_MOST_STEPS = 50
_LONGEST_ID = 100
_KEY_LENGTHS = (8, 100)

# Control characters, surrogates, line and paragraph separators.
_REFUSED = ("Cc", "Cs", "Zl", "Zp")
# These turn the writing direction of whatever follows them on the page. Joiners (emoji, Persian) stay allowed.
_TURNING = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


# Whole sentences, not pieces: another language bends them in its own way.
_NAME = (
    "The name must be text.",
    "The name is too long: at most {most} characters.",
    "The name contains a character that cannot be shown.",
)
_TITLE = (
    "The title must be text.",
    "The title is too long: at most {most} characters.",
    "The title contains a character that cannot be shown.",
)
_QUESTIONS = ("The questions cannot be stored as JSON.", "The questions are too long: at most {most} bytes.")
_ANSWERS = ("The answer cannot be stored as JSON.", "The answer is too long: at most {most} bytes.")


def _line(text: object, most: int, sentences: tuple[str, str, str]) -> str:
    if not isinstance(text, str):
        raise ClassroomError("bad_input", sentences[0])
    line = text.strip()
    if len(line) > most:
        raise ClassroomError("bad_input", sentences[1], most=most)
    if any(c in _TURNING or unicodedata.category(c) in _REFUSED for c in line):
        raise ClassroomError("bad_input", sentences[2])
    return line


def name(text: str) -> str:
    """A student's name or pseudonym, "" for none."""
    return _line(text, LONGEST_NAME, _NAME)


def title(text: str) -> str:
    """An assignment's title; not empty."""
    line = _line(text, LONGEST_TITLE, _TITLE)
    if not line:
        raise ClassroomError("bad_input", "The assignment needs a title.")
    return line


def _json_size(value: Json, most: int, sentences: tuple[str, str]) -> None:
    try:
        size = len(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise ClassroomError("bad_input", sentences[0]) from error
    if size > most:
        raise ClassroomError("bad_input", sentences[1], most=most)


def _is_question(entry: Json) -> bool:
    if not isinstance(entry, dict) or not all(isinstance(key, str) for key in entry):
        return False
    if "question" in entry:
        return isinstance(entry["question"], dict) and "family" not in entry
    seed = entry.get("seed")
    family = entry.get("family")
    return (
        isinstance(family, str)
        and 0 < len(family) <= _LONGEST_ID
        and isinstance(entry.get("level"), int | str)
        and (seed is None or (isinstance(seed, int) and not isinstance(seed, bool)))
    )


def questions(entries: Sequence[Json]) -> list[dict[str, Json]]:
    """The questions of an assignment, in one of the two forms of records.py."""
    kept = list(entries)
    if not 1 <= len(kept) <= MOST_QUESTIONS:
        raise ClassroomError("bad_input", "An assignment has 1 to {most} questions.", most=MOST_QUESTIONS)
    for number, entry in enumerate(kept, 1):
        if not _is_question(entry):
            raise ClassroomError(
                "bad_input", "Question {number} has neither a family and a level nor a question.", number=number
            )
    _json_size(kept, _QUESTIONS_BYTES, _QUESTIONS)
    return kept


def options(chosen: Options) -> Options:
    """The options, if they make sense."""
    if isinstance(chosen.attempts, bool) or not 1 <= chosen.attempts <= MOST_ATTEMPTS:
        raise ClassroomError("bad_input", "A question takes 1 to {most} attempts.", most=MOST_ATTEMPTS)
    if chosen.counts not in ("best", "last") or chosen.feedback not in ("at_once", "after_reveal"):
        raise ClassroomError("bad_input", "The assignment's options are not known.")
    return chosen


def window(opens_at: datetime | None, closes_at: datetime | None) -> None:
    """Opening and closing times: with a zone, and in this order."""
    if any(moment is not None and moment.tzinfo is None for moment in (opens_at, closes_at)):
        raise ClassroomError("bad_input", "Opening and closing times need a time zone.")
    if opens_at and closes_at and closes_at <= opens_at:
        raise ClassroomError("bad_input", "The assignment must close after it opens.")


def answers(given: Json) -> Json:
    """A student's answers to one question: any JSON, not too long."""
    _json_size(given, _ANSWERS_BYTES, _ANSWERS)
    return given


def idempotency_key(key: str) -> str:
    """A name for one press of the button: letters, digits, - and _ (a UUID will do)."""
    low, high = _KEY_LENGTHS
    fits = isinstance(key, str) and low <= len(key) <= high
    if not (fits and key.isascii() and key.replace("-", "").replace("_", "").isalnum()):
        raise ClassroomError("bad_input", "The answer's idempotency key is not valid.")
    return key


def question_index(index: object, count: int) -> int:
    """The number of a question, from 0."""
    if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < count:
        raise ClassroomError("bad_input", "This assignment has no such question.")
    return index


def _points(score: Any, most: Any) -> tuple[float, float]:
    values = float(score), float(most)
    if not all(math.isfinite(value) for value in values) or not 0 <= values[0] <= values[1]:
        raise ValueError("points out of range")
    return values


def _ids(ids: Sequence[str]) -> tuple[str, ...]:
    if isinstance(ids, str) or not all(isinstance(i, str) and 0 < len(i) <= _LONGEST_ID for i in ids):
        raise ValueError("ids of misconceptions")
    return tuple(ids)


def grade(graded: Graded | Mapping[str, Json]) -> Grade:
    """A plain, checked copy of what the grader returned. A wrong one is a fault of the program, not of the student."""
    try:
        source = Grade.from_json(graded) if isinstance(graded, Mapping) else graded
        steps = tuple(
            GradeStep(str(s.id), *_points(s.score, s.max_score), _ids(s.misconceptions)) for s in source.steps
        )
        if len(steps) > _MOST_STEPS or any(len(step.id) > _LONGEST_ID for step in steps):
            raise ValueError("too many steps")
        return Grade(*_points(source.score, source.max_score), steps)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ClassroomError("bad_grade", "The answer could not be graded, so it was not stored.") from error
