"""Which variant of a question a student gets, and what of it is held back. Pure functions of stored rows.

Does not know: how a family makes a question of a seed.
"""

from datetime import datetime
from typing import Any

from specdec_core.classroom.codes import variant_seed
from specdec_core.classroom.records import Json, Options, State


def options_of(row: Any) -> Options:
    """The options of a row of the table assignments."""
    return Options(row.per_student, row.hints, row.attempts, row.counts, row.feedback, row.new_variant_on_retry)


def state_of(row: Any, now: datetime) -> State:
    """waiting, open, closed or revealed. The closing moment itself is too late."""
    if row.revealed_at is not None:
        return "revealed"
    if row.closes_at is not None and now >= row.closes_at:
        return "closed"
    if row.opens_at is not None and now < row.opens_at:
        return "waiting"
    return "open"


def variant(row: Any, student_id: str, index: int, attempt: int) -> dict[str, Json]:
    """The stored question with the seed for this student and attempt filled in. Holds the solution.

    The teacher's own seed is used as it is when everyone gets the same variant at the first attempt; otherwise it is
    mixed with the assignment's secret, so that nobody can work out a neighbour's variant.
    """
    question = dict(row.questions[index])
    if "family" not in question:
        return question
    base = question.get("seed")
    scope = student_id if row.per_student else ""
    turn = attempt if row.new_variant_on_retry else 1
    if base is None or scope or turn > 1:
        question["seed"] = variant_seed(row.secret, scope, index, turn, base)
    return question


def without_solution(question: dict[str, Json]) -> dict[str, Json]:
    """What a student may get before the reveal."""
    return {key: value for key, value in question.items() if key != "solution"}
