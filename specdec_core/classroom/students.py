"""What a student can do: look a code up, join, see their own questions and answers, submit.

Every query starts from the token's hash, so there is no way to ask for anyone else's row. Lock order, the same
everywhere: assignment, then student (else PostgreSQL would find deadlocks).

Does not know: grading, Streamlit, or how a link carries the token.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, bindparam, func, insert, select

from specdec_core.classroom import checks, codes, limits
from specdec_core.classroom.database import Database
from specdec_core.classroom.errors import ClassroomError
from specdec_core.classroom.records import (
    Card,
    Grade,
    Grader,
    Json,
    OwnAnswer,
    Receipt,
    Seat,
    StudentQuestion,
    StudentView,
)
from specdec_core.classroom.tables import answers as answers_table
from specdec_core.classroom.tables import assignments, students
from specdec_core.classroom.variants import options_of, state_of, variant, without_solution


def _unknown_code() -> ClassroomError:
    return ClassroomError("unknown_code", "There is no assignment with this code. Please check it letter by letter.")


def _assignment_by_code(database: Database, typed: str, source: str, now: datetime) -> Row[Any]:
    """The assignment's row. Unknown codes are counted, well-formed ones only: nothing else can be a guess."""
    code = codes.read_code(typed)
    if code is None:
        raise _unknown_code()
    with database.read() as connection:
        limits.check(connection, limits.JOIN_CODE, source, now)
        row = connection.execute(select(assignments).where(assignments.c.code == code)).one_or_none()
    if row is None:
        with database.write() as connection:
            limits.begin(connection, limits.JOIN_CODE, source, now)
        raise _unknown_code()
    return row


def find(database: Database, code: str, source: str, now: datetime) -> Card:
    """What stands on the door of the assignment with this code."""
    row = _assignment_by_code(database, code, source, now)
    return Card(row.title, row.question_count, state_of(row, now), row.opens_at, row.closes_at)


def join(database: Database, code: str, name: str, source: str, now: datetime) -> Seat:
    """A new seat in the assignment. Before it opens one may sit down already; after it has closed no more."""
    name = checks.name(name)
    found = _assignment_by_code(database, code, source, now)
    token = codes.new_token()
    with database.write() as connection:
        row = _locked_assignment(connection, found.id, _LOCKED_TO_JOIN)
        if state_of(row, now) in ("closed", "revealed"):
            raise ClassroomError("closed", "This assignment is closed.")
        last = select(func.coalesce(func.max(students.c.number), 0), func.count())
        number, count = connection.execute(last.where(students.c.assignment_id == row.id)).one()
        if count >= checks.MOST_STUDENTS:
            raise ClassroomError(
                "full", "This assignment is full: {most} students have joined.", most=checks.MOST_STUDENTS
            )
        new = {"id": codes.new_id(), "token_hash": codes.token_hash(token), "joined_at": now}
        connection.execute(insert(students).values(**new, assignment_id=row.id, number=number + 1, name=name))
    return Seat(token, number + 1, name)


# Everything but the questions, which can be long and cannot change.
_RULES = [column for column in assignments.c if column.name != "questions"]
_LOCKED = select(*_RULES).where(assignments.c.id == bindparam("id"))
_LOCKED_TO_JOIN = _LOCKED.with_for_update(key_share=True)
_LOCKED_TO_SUBMIT = _LOCKED.with_for_update(read=True)
_STUDENT = select(students).where(students.c.token_hash == bindparam("token_hash"))
_STUDENT_LOCKED = _STUDENT.with_for_update()
_ASSIGNMENT = select(assignments).where(assignments.c.id == bindparam("id"))
_MARKS = select(answers_table.c.question, answers_table.c.attempt, answers_table.c.idempotency_key)
_OWN_MARKS = _MARKS.where(answers_table.c.student_id == bindparam("student_id"))
_INSERT_ANSWER = insert(answers_table)


def _locked_assignment(connection: Connection, assignment_id: str, query: Select[Any]) -> Row[Any]:
    """The assignment's rules, which cannot change or vanish before this transaction ends."""
    row = connection.execute(query, {"id": assignment_id}).one_or_none()
    if row is None:
        raise ClassroomError("unknown_assignment", "This assignment has been deleted.")
    return row


def _student(connection: Connection, token: str, query: Select[Any] = _STUDENT) -> Row[Any]:
    row = connection.execute(query, {"token_hash": codes.token_hash(token)}).one_or_none()
    if row is None:
        raise ClassroomError(
            "unknown_seat", "This link is not valid, or the class data has been deleted. Please join with the code."
        )
    return row


def _seat(connection: Connection, token: str) -> tuple[Row[Any], Row[Any]]:
    """The rows of the token's student and of the assignment the student is in."""
    student = _student(connection, token)
    return student, connection.execute(_ASSIGNMENT, {"id": student.assignment_id}).one()


def _marks(connection: Connection, student_id: str) -> list[Row[Any]]:
    """Which questions this student has answered at which attempt, by which press of the button."""
    return list(connection.execute(_OWN_MARKS, {"student_id": student_id}))


def _own_answers(connection: Connection, student_id: str, question: int | None = None) -> list[Row[Any]]:
    query = select(answers_table).where(answers_table.c.student_id == student_id)
    if question is not None:
        query = query.where(answers_table.c.question == question)
    return list(connection.execute(query.order_by(answers_table.c.question, answers_table.c.attempt)))


def _result_for_student(assignment: Row[Any], row: Row[Any]) -> Grade | None:
    held_back = assignment.feedback == "after_reveal" and assignment.revealed_at is None
    return None if held_back else Grade.from_json(row.result)


def _question(
    assignment: Row[Any], student_id: str, index: int, rows: list[Row[Any]], is_open: bool
) -> StudentQuestion:
    left = max(assignment.attempts - len(rows), 0) if is_open else 0
    attempt = len(rows) + 1 if left else max(len(rows), 1)
    question = variant(assignment, student_id, index, attempt)
    own = tuple(
        OwnAnswer(row.attempt, row.answers, row.submitted_at, _result_for_student(assignment, row)) for row in rows
    )
    shown = question if assignment.revealed_at is not None else without_solution(question)
    return StudentQuestion(index, shown, attempt, left, own)


def view(database: Database, token: str, now: datetime) -> StudentView:
    """Everything this student may see, and nothing else."""
    with database.read() as connection:
        student, assignment = _seat(connection, token)
        rows = _own_answers(connection, student.id)
    state = state_of(assignment, now)
    is_open = state == "open"
    questions = tuple(
        _question(assignment, student.id, index, [row for row in rows if row.question == index], is_open)
        for index in (() if state == "waiting" else range(assignment.question_count))
    )
    return StudentView(
        title=assignment.title,
        state=state,
        opens_at=assignment.opens_at,
        closes_at=assignment.closes_at,
        options=options_of(assignment),
        number=student.number,
        name=student.name,
        questions=questions,
        question_count=assignment.question_count,
        server_time=now,
    )


def attempt_question(database: Database, token: str, question: int, attempt: int, now: datetime) -> dict[str, Json]:
    """The variant of an attempt that was made already, for showing it again beside its answer."""
    with database.read() as connection:
        student, assignment = _seat(connection, token)
        checks.question_index(question, assignment.question_count)
        made = {row.attempt for row in _own_answers(connection, student.id, question)}
    if attempt not in made:
        raise ClassroomError("bad_input", "There is no such attempt.")
    shown = variant(assignment, student.id, question, attempt)
    return shown if state_of(assignment, now) == "revealed" else without_solution(shown)


def _refuse_unless_open(assignment: Row[Any], now: datetime) -> None:
    state = state_of(assignment, now)
    if state == "waiting":
        raise ClassroomError("early", "This assignment is not open yet: the answer was not stored.")
    if state == "closed":
        raise ClassroomError("closed", "This assignment is closed: the answer was not stored.")
    if state == "revealed":
        raise ClassroomError("revealed", "The solutions have been shown: the answer was not stored.")


def _replay(
    connection: Connection, assignment: Row[Any], student_id: str, marks: list[Row[Any]], question: int, key: str
) -> Receipt | None:
    """The receipt of the answer that this press of the button already stored, if it did."""
    mine = next((mark for mark in marks if mark.idempotency_key == key), None)
    if mine is None:
        return None
    if mine.question != question:
        raise ClassroomError("bad_input", "The answer's idempotency key was used for another question.")
    row = next(row for row in _own_answers(connection, student_id, question) if row.attempt == mine.attempt)
    left = max(assignment.attempts - sum(mark.question == question for mark in marks), 0)
    return Receipt(question, row.attempt, row.submitted_at, left, True, _result_for_student(assignment, row))


def _refuse_wrong_attempt(assignment: Row[Any], marks: list[Row[Any]], question: int, attempt: int) -> None:
    used = sum(mark.question == question for mark in marks)
    if used >= assignment.attempts:
        raise ClassroomError(
            "answered",
            "This question is answered already: the first answer stands."
            if assignment.attempts == 1
            else "No attempt is left at this question.",
        )
    if attempt != used + 1:
        raise ClassroomError("answered", "This question was answered in another window: please reload the page.")


def submit(
    database: Database, token: str, question: int, answers: Json, grader: Grader, key: str, attempt: int, now: datetime
) -> Receipt:
    """Grades an answer and stores it. When it returns, the answer is on disk, once.

    Grading happens between two transactions, so that a slow grader holds up nobody; the second one asks everything
    again. What counts for the deadline is when the answer arrived, not how long the database took.
    """
    checks.idempotency_key(key)
    checks.answers(answers)
    with database.read() as connection:
        student, assignment = _seat(connection, token)
        checks.question_index(question, assignment.question_count)
        marks = _marks(connection, student.id)
        if (receipt := _replay(connection, assignment, student.id, marks, question, key)) is not None:
            return receipt
    _refuse_unless_open(assignment, now)
    _refuse_wrong_attempt(assignment, marks, question, attempt)
    grade = checks.grade(grader(variant(assignment, student.id, question, attempt), answers))
    with database.write() as connection:
        rules = _locked_assignment(connection, assignment.id, _LOCKED_TO_SUBMIT)
        student = _student(connection, token, _STUDENT_LOCKED)
        marks = _marks(connection, student.id)
        if (receipt := _replay(connection, rules, student.id, marks, question, key)) is not None:
            return receipt
        _refuse_unless_open(rules, now)
        _refuse_wrong_attempt(rules, marks, question, attempt)
        connection.execute(_INSERT_ANSWER, _answer(student.id, question, attempt, key, answers, grade, now))
    result = grade if assignment.feedback == "at_once" else None
    return Receipt(question, attempt, now, assignment.attempts - attempt, False, result)


def _answer(
    student_id: str, question: int, attempt: int, key: str, answers: Json, grade: Grade, now: datetime
) -> Mapping[str, Any]:
    return {
        "student_id": student_id,
        "question": question,
        "attempt": attempt,
        "idempotency_key": key,
        "answers": answers,
        "score": grade.score,
        "max_score": grade.max_score,
        "misconceptions": list(grade.misconceptions),
        "result": grade.to_json(),
        "submitted_at": now,
    }
