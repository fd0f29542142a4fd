"""A whole class at once: students join and answer, and afterwards nothing is lost, doubled or crossed over.

    PYTHONPATH=. python tests/load_classroom.py --database sqlite --students 100 --questions 10 --processes 4 [--kill]

Bounded in count and in time. Everything stays on this machine: a file, or a private PostgreSQL on a Unix socket.
The tests use the same pieces: `work` is one app server with its students, each a thread; every confirmed answer is
printed as a line of JSON the moment it is confirmed, which is what a student's screen would have shown.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from specdec_core.classroom import Assignment, Classroom, ClassroomError, Desk, Grade, GradeStep, Settings, testing

Result = TypeVar("Result")
Confirmed = dict[str, Any]
REPO = Path(__file__).resolve().parent.parent
GIVE_UP_SECONDS = 90.0
_TRANSIENT = ("busy", "unavailable")


def grade(question: Any, answers: Any) -> Grade:
    """A stand-in for the question bank: the points depend on the answer."""
    points = float(answers["question"] % 3)
    wrong = () if points == 2 else ("inverted_ratio",)
    return Grade(points, 2.0, (GradeStep("ratio", points, 2.0, wrong),))


def patiently(call: Callable[[], Result], until: float) -> Result:
    """Tries again while the database is busy or away, as a student would."""
    while True:
        try:
            return call()
        except ClassroomError as error:
            if error.kind not in _TRANSIENT or time.monotonic() > until:
                raise
            time.sleep(0.1)


def one_student(
    room: Classroom, code: str, name: str, questions: int, tell: Callable[[Confirmed], None], times: list[float]
) -> None:
    """Joins and answers every question; tells each answer once it is confirmed."""
    until = time.monotonic() + GIVE_UP_SECONDS
    seat = patiently(lambda: room.join(code, name), until)
    for question in range(questions):
        answers = {"name": name, "question": question, "nonce": uuid.uuid4().hex}
        key = str(uuid.uuid4())
        start = time.perf_counter()
        patiently(lambda q=question, a=answers, k=key: room.submit(seat.token, q, a, grade, k), until)  # type: ignore[misc]
        times.append(time.perf_counter() - start)
        tell({"token": seat.token, "number": seat.number, "key": key, "answers": answers, "seconds": times[-1]})


def work(
    room: Classroom, code: str, names: Iterable[str], questions: int, tell: Callable[[Confirmed], None]
) -> list[float]:
    """All these students at once, a thread each. Returns how long each answer took; raises the first failure."""
    times: list[float] = []
    failures: list[BaseException] = []

    def run(name: str) -> None:
        try:
            one_student(room, code, name, questions, tell, times)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return times


def start_worker(settings: Settings, code: str, first: int, students: int, questions: int) -> "subprocess.Popen[str]":
    """One more app server: a process of its own, whose confirmations can be read from its standard output."""
    environ = os.environ | {
        "SPECDEC_DATA": str(settings.data_folder),
        "SPECDEC_DATABASE_URL": settings.database_url,
        "PYTHONPATH": str(REPO),
    }
    command = [sys.executable, __file__, "--work", code, str(first), str(students), str(questions)]
    return subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True)


def as_worker(code: str, first: int, students: int, questions: int) -> None:
    """The other side of start_worker."""
    room = Classroom.open()
    lock = threading.Lock()

    def tell(confirmed: Confirmed) -> None:
        line = json.dumps(confirmed) + "\n"
        with lock:
            os.write(1, line.encode())  # no buffer: what is confirmed is out, even if we are killed next

    work(room, code, [f"student {first + i}" for i in range(students)], questions, tell)


def kill_after(worker: "subprocess.Popen[str]", lines: int) -> str:
    """SIGKILL in the middle of its work, once so many answers were confirmed. Returns what it had said until then."""
    assert worker.stdout is not None
    seen = "".join(worker.stdout.readline() for _ in range(lines))
    worker.kill()
    return seen


def read_confirmed(text: str) -> list[Confirmed]:
    """The confirmations in a worker's output. A line that the kill cut off was never seen by anyone."""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def check(room: Classroom, desk: Desk, assignment: Assignment, confirmed: list[Confirmed]) -> int:
    """None lost, none doubled, none crossed over. Returns how many answers are stored."""
    rows = desk.answers(assignment.id)
    doubled = [place for place, n in Counter((row.number, row.question) for row in rows).items() if n > 1]
    assert not doubled, f"doubled: {doubled[:5]}"
    stored = {(row.number, row.question): row for row in rows}
    for row in rows:
        assert row.answers["name"] == row.name and row.answers["question"] == row.question, f"crossed over: {row}"
    for one in confirmed:
        row = stored[one["number"], one["answers"]["question"]]  # KeyError: lost
        assert row.answers == one["answers"] and row.result == grade(None, row.answers)
    tokens = {one["token"]: one["number"] for one in confirmed}
    for token, number in tokens.items():
        view = room.student_view(token)
        assert view.number == number
        for question in view.questions:
            for own in question.answers:
                assert own.answers == stored[number, question.index].answers
    return len(rows)


def run(kind: str, students: int, questions: int, processes: int, kill: bool) -> None:
    """One measured run, printed."""
    with tempfile.TemporaryDirectory() as folder, testing.fresh_classroom(kind, Path(folder)) as room:
        desk = room.open_desk(testing.TEACHER_KEY)
        assignment = desk.create_assignment("Load", [{"family": "f", "level": 1}] * questions)
        share = students // processes
        workers = [start_worker(room.settings, assignment.code, i * share, share, questions) for i in range(processes)]
        start = time.perf_counter()
        seen = kill_after(workers[0], share * questions // 2) if kill else ""
        outputs = [seen, *(worker.communicate(timeout=300)[0] for worker in workers)]
        seconds = time.perf_counter() - start
        confirmed = [one for output in outputs for one in read_confirmed(output)]
        stored = check(room, desk, assignment, confirmed)
        times = sorted(one["seconds"] for one in confirmed)
        before = time.perf_counter()
        desk.progress(assignment.id)
        poll = time.perf_counter() - before
    print(
        f"{kind}: {processes} processes, {students} students x {questions} questions: {len(confirmed)} confirmed, "
        f"{stored} stored, {seconds:.1f} s with start-up, per answer median {times[len(times) // 2] * 1000:.0f} ms, "
        f"95% {times[len(times) * 95 // 100] * 1000:.0f} ms, worst {times[-1] * 1000:.0f} ms, "
        f"desk's view {poll * 1000:.0f} ms" + (", one server killed half-way" if kill else "")
    )


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--database", choices=testing.DATABASES, default="sqlite")
    parser.add_argument("--students", type=int, default=100)
    parser.add_argument("--questions", type=int, default=10)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--kill", action="store_true", help="kill one of the servers half-way")
    parser.add_argument("--work", nargs=4, metavar=("CODE", "FIRST", "STUDENTS", "QUESTIONS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        as_worker(options.work[0], *(int(word) for word in options.work[1:]))
    else:
        run(options.database, options.students, options.questions, options.processes, options.kill)


if __name__ == "__main__":
    main()
