"""The room at a glance: who answered what, how each question went, which misconceptions showed.

Pure functions of rows, so that a live view costs two queries whatever the class's size.
Does not know: the database's transactions, or how any of it is drawn.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from specdec_core.classroom.records import Assignment, Progress, QuestionProgress, StudentProgress


def counted(attempts: Sequence[Any], counts: str) -> Any:
    """The attempt whose points count, of one student's attempts at one question (in order; not empty)."""
    if counts == "last":
        return attempts[-1]
    return max(attempts, key=lambda row: row.score)  # max keeps the first of equals


def grouped(rows: Iterable[Any]) -> dict[tuple[str, int], list[Any]]:
    """Answers by student and question. The rows come in order of attempt."""
    groups: dict[tuple[str, int], list[Any]] = {}
    for row in rows:
        groups.setdefault((row.student_id, row.question), []).append(row)
    return groups


def _student(row: Any, groups: dict[tuple[str, int], list[Any]], assignment: Assignment) -> StudentProgress:
    made = [groups.get((row.id, index), []) for index in range(assignment.question_count)]
    best = [counted(attempts, assignment.options.counts) if attempts else None for attempts in made]
    times = [answer.submitted_at for attempts in made for answer in attempts]
    return StudentProgress(
        number=row.number,
        name=row.name,
        joined_at=row.joined_at,
        scores=tuple(None if answer is None else answer.score for answer in best),
        max_scores=tuple(None if answer is None else answer.max_score for answer in best),
        attempts=tuple(len(attempts) for attempts in made),
        last_answer_at=max(times, default=None),
    )


def _question(index: int, made: list[list[Any]], counts: str) -> QuestionProgress:
    """made: the attempts of every student who answered this question."""
    best = [counted(attempts, counts) for attempts in made]
    shares = [answer.score / answer.max_score for answer in best if answer.max_score > 0]
    shown = Counter(m for attempts in made for m in {m for answer in attempts for m in answer.misconceptions})
    return QuestionProgress(
        index=index,
        answered=len(best),
        mean_share=sum(shares) / len(shares) if shares else None,
        full=sum(answer.score == answer.max_score for answer in best),
        none=sum(answer.score == 0 and answer.max_score > 0 for answer in best),
        misconceptions=dict(sorted(shown.items(), key=lambda item: (-item[1], item[0]))),
    )


def progress(assignment: Assignment, students: Sequence[Any], answers: Iterable[Any], at: datetime) -> Progress:
    """The whole picture. Answers of students who are not in the list (they joined just now) are left for next time."""
    known = {row.id for row in students}
    groups = {key: rows for key, rows in grouped(answers).items() if key[0] in known}
    people = tuple(_student(row, groups, assignment) for row in students)
    by_question: dict[int, list[list[Any]]] = {}
    for (_, index), rows in groups.items():
        by_question.setdefault(index, []).append(rows)
    counts = assignment.options.counts
    indices = range(assignment.question_count)
    return Progress(
        assignment=assignment,
        at=at,
        students=people,
        questions=tuple(_question(index, by_question.get(index, []), counts) for index in indices),
        started=sum(person.answered > 0 for person in people),
        finished=sum(person.answered == assignment.question_count for person in people),
    )
