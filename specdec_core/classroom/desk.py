"""The teacher's desk: compose, watch, reveal, close, export, delete.

A Desk is handed out by `Classroom.open_desk` for the right key, and there is no other way to one. Whoever has the key
sees every assignment of this server: it is one desk, not an account system.

Does not know: questions' contents, Streamlit.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from specdec_core.classroom import checks, codes, export, progress
from specdec_core.classroom.database import Database
from specdec_core.classroom.errors import ClassroomError
from specdec_core.classroom.records import AnswerRow, Assignment, Deleted, Grade, Json, Options, Progress
from specdec_core.classroom.tables import answers, assignments, students
from specdec_core.classroom.variants import options_of, state_of, variant

_STUDENT_ROWS = select(students.c.id, students.c.number, students.c.name, students.c.joined_at)
_POINTS = (
    answers.c.student_id,
    answers.c.question,
    answers.c.attempt,
    answers.c.score,
    answers.c.max_score,
    answers.c.misconceptions,
    answers.c.submitted_at,
)

_DEFAULTS = Options()


class Desk:
    """Everything a teacher can do. Each method is one transaction."""

    def __init__(self, database: Database, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._clock = clock

    # -- compose ---------------------------------------------------------------------------------------------------

    def create_assignment(
        self,
        title: str,
        questions: Sequence[dict[str, Json]],
        options: Options = _DEFAULTS,
        opens_at: datetime | None = None,
        closes_at: datetime | None = None,
    ) -> Assignment:
        """A new assignment with a join code of its own. Without opens_at it is open at once."""
        checks.window(opens_at, closes_at)
        kept = checks.questions(questions)
        values = {
            "id": codes.new_id(),
            "code": codes.new_code(),
            "secret": codes.new_secret(),
            "title": checks.title(title),
            "questions": kept,
            "question_count": len(kept),
            **asdict(checks.options(options)),
            "opens_at": opens_at,
            "closes_at": closes_at,
            "created_at": self._clock(),
        }
        with self._database.write() as connection:
            connection.execute(insert(assignments).values(values))
            return self._info(connection, values["id"])

    def duplicate(self, assignment_id: str, title: str | None = None) -> Assignment:
        """The same questions and options for another class: a new code, new variants, no students, no times."""
        with self._database.read() as connection:
            row = _row(connection, assignment_id)
        return self.create_assignment(row.title if title is None else title, row.questions, options_of(row))

    def assignments(self) -> tuple[Assignment, ...]:
        """All assignments of this server, newest first."""
        with self._database.read() as connection:
            return tuple(self._listed(connection))

    def assignment(self, assignment_id: str) -> Assignment:
        """One assignment."""
        with self._database.read() as connection:
            return self._info(connection, assignment_id)

    def questions(self, assignment_id: str) -> tuple[dict[str, Json], ...]:
        """The questions as they were composed."""
        with self._database.read() as connection:
            return tuple(_row(connection, assignment_id).questions)

    def variant(
        self, assignment_id: str, question: int, number: int | None = None, attempt: int = 1
    ) -> dict[str, Json]:
        """A question with its seed, for the answer key: the student's with this number, or everyone's (None)."""
        with self._database.read() as connection:
            row = _row(connection, assignment_id)
            checks.question_index(question, row.question_count)
            if number is None and row.per_student:
                raise ClassroomError("bad_input", "Every student has a variant of their own: say whose.")
            student_id = "" if number is None else _student_id(connection, assignment_id, number)
        return variant(row, student_id, question, attempt)

    # -- run -------------------------------------------------------------------------------------------------------

    def reveal(self, assignment_id: str) -> Assignment:
        """Shows the solutions to everyone who joined. No answer is taken afterwards, and there is no way back."""
        with self._database.write() as connection:
            row = _row(connection, assignment_id, lock=True)
            if row.revealed_at is None:
                _change(connection, assignment_id, revealed_at=self._clock())
            return self._info(connection, assignment_id)

    def close(self, assignment_id: str) -> Assignment:
        """Takes no more answers, from now on. The solutions stay hidden."""
        with self._database.write() as connection:
            row = _row(connection, assignment_id, lock=True)
            now = self._clock()
            if row.closes_at is None or row.closes_at > now:
                # Closed before it opened: the opening time would lie after the closing time.
                opens_at = None if row.opens_at is not None and row.opens_at >= now else row.opens_at
                _change(connection, assignment_id, closes_at=now, opens_at=opens_at)
            return self._info(connection, assignment_id)

    def reopen(self, assignment_id: str, closes_at: datetime | None = None) -> Assignment:
        """Takes answers again, until closes_at if that is given."""
        return self.reschedule(assignment_id, None, closes_at)

    def reschedule(self, assignment_id: str, opens_at: datetime | None, closes_at: datetime | None) -> Assignment:
        """Sets both times anew; None means at once, or never."""
        checks.window(opens_at, closes_at)
        with self._database.write() as connection:
            if _row(connection, assignment_id, lock=True).revealed_at is not None:
                raise ClassroomError(
                    "revealed", "The solutions have been shown, so this assignment stays closed: make a copy of it."
                )
            _change(connection, assignment_id, opens_at=opens_at, closes_at=closes_at)
            return self._info(connection, assignment_id)

    # -- watch -----------------------------------------------------------------------------------------------------

    def progress(self, assignment_id: str) -> Progress:
        """Who has answered what, how each question went, and which misconceptions showed. Cheap enough to poll."""
        with self._database.read() as connection:
            info = self._info(connection, assignment_id)
            mine = students.c.assignment_id == assignment_id
            people = connection.execute(_STUDENT_ROWS.where(mine).order_by(students.c.number)).all()
            query = select(*_POINTS).join(students).where(mine).order_by(answers.c.attempt)
            rows = connection.execute(query).all()
        return progress.progress(info, people, rows, self._clock())

    def answers(self, assignment_id: str, question: int | None = None) -> tuple[AnswerRow, ...]:
        """Every stored answer, or those to one question, by student and attempt."""
        with self._database.read() as connection:
            counts = _row(connection, assignment_id).counts
            query = select(answers, students.c.number, students.c.name).join(students)
            query = query.where(students.c.assignment_id == assignment_id)
            if question is not None:
                query = query.where(answers.c.question == question)
            rows = connection.execute(query.order_by(students.c.number, answers.c.question, answers.c.attempt)).all()
        counting = {progress.counted(made, counts).id for made in progress.grouped(rows).values()}
        return tuple(_answer_row(row, row.id in counting) for row in rows)

    def export_csv(
        self, assignment_id: str, layout: Literal["students", "answers"] = "students", bom: bool = True
    ) -> bytes:
        """Results as CSV: one row per student, or one per answer. With a byte order mark, Excel reads it as UTF-8."""
        if layout == "answers":
            return export.answers_csv(self.answers(assignment_id), bom)
        return export.students_csv(self.progress(assignment_id), bom)

    # -- delete ----------------------------------------------------------------------------------------------------

    def remove_student(self, assignment_id: str, number: int) -> Deleted:
        """Deletes one student with all answers. The student's link stops working."""
        with self._database.write() as connection:
            _row(connection, assignment_id, lock=True)
            gone = _delete_students(connection, students.c.id == _student_id(connection, assignment_id, number))
        return Deleted(*gone, wiped=self._database.wipe())

    def delete_class_data(self, assignment_id: str) -> Deleted:
        """Deletes every student of an assignment with all answers; the assignment itself stays, empty."""
        with self._database.write() as connection:
            _row(connection, assignment_id, lock=True)
            gone = _delete_students(connection, students.c.assignment_id == assignment_id)
        return Deleted(*gone, wiped=self._database.wipe())

    def delete_assignment(self, assignment_id: str) -> Deleted:
        """Deletes an assignment with everything that hangs on it."""
        with self._database.write() as connection:
            _row(connection, assignment_id, lock=True)
            gone = _delete_students(connection, students.c.assignment_id == assignment_id)
            connection.execute(delete(assignments).where(assignments.c.id == assignment_id))
        return Deleted(*gone, wiped=self._database.wipe())

    # -- rows to records -------------------------------------------------------------------------------------------

    def _listed(self, connection: Connection, assignment_id: str | None = None) -> list[Assignment]:
        joined = select(func.count()).where(students.c.assignment_id == assignments.c.id).scalar_subquery()
        given = select(func.count()).select_from(answers.join(students))
        given_here = given.where(students.c.assignment_id == assignments.c.id).scalar_subquery()
        query = select(assignments, joined.label("students"), given_here.label("answers"))
        if assignment_id is not None:
            query = query.where(assignments.c.id == assignment_id)
        now = self._clock()
        newest_first = query.order_by(assignments.c.created_at.desc(), assignments.c.id)
        return [_assignment(row, now) for row in connection.execute(newest_first)]

    def _info(self, connection: Connection, assignment_id: str) -> Assignment:
        found = self._listed(connection, assignment_id)
        if not found:
            raise _no_assignment()
        return found[0]


def purge(database: Database, before: datetime) -> Deleted:
    """Deletes students who joined before that moment, with their answers; assignments stay."""
    with database.write() as connection:
        gone = _delete_students(connection, students.c.joined_at < before)
    return Deleted(*gone, wiped=database.wipe() if gone[0] else True)


def _no_assignment() -> ClassroomError:
    return ClassroomError("unknown_assignment", "This assignment does not exist, or has been deleted.")


def _row(connection: Connection, assignment_id: str, lock: bool = False) -> Row[Any]:
    query = select(assignments).where(assignments.c.id == assignment_id)
    row = connection.execute(query.with_for_update() if lock else query).one_or_none()
    if row is None:
        raise _no_assignment()
    return row


def _student_id(connection: Connection, assignment_id: str, number: int) -> str:
    query = select(students.c.id).where(students.c.assignment_id == assignment_id, students.c.number == number)
    found = connection.execute(query).scalar_one_or_none()
    if found is None:
        raise ClassroomError("bad_input", "There is no student with the number {number}.", number=number)
    return str(found)


def _change(connection: Connection, assignment_id: str, **values: datetime | None) -> None:
    connection.execute(update(assignments).where(assignments.c.id == assignment_id).values(**values))


def _delete_students(connection: Connection, which: Any) -> tuple[int, int]:
    """How many students and answers went. Answers are deleted by name, not by cascade, to be counted."""
    ids = select(students.c.id).where(which)
    of_answers = connection.execute(delete(answers).where(answers.c.student_id.in_(ids))).rowcount
    return connection.execute(delete(students).where(which)).rowcount, of_answers


def _assignment(row: Row[Any], now: datetime) -> Assignment:
    return Assignment(
        id=row.id,
        code=codes.show_code(row.code),
        title=row.title,
        question_count=row.question_count,
        options=options_of(row),
        opens_at=row.opens_at,
        closes_at=row.closes_at,
        revealed_at=row.revealed_at,
        created_at=row.created_at,
        state=state_of(row, now),
        students=row.students,
        answers=row.answers,
    )


def _answer_row(row: Row[Any], counts: bool) -> AnswerRow:
    return AnswerRow(
        number=row.number,
        name=row.name,
        question=row.question,
        attempt=row.attempt,
        counts=counts,
        answers=row.answers,
        result=Grade.from_json(row.result),
        submitted_at=row.submitted_at,
    )
