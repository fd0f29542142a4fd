"""A hundred students at once, and servers that die in the middle: what was confirmed is there, once, and in its place.

Bounded: a hundred students, ten questions each, and every try ends after a minute and a half.
"""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from specdec_core.classroom import Classroom, ClassroomError, Settings, testing
from tests.load_classroom import Confirmed, check, grade, kill_after, read_confirmed, start_worker, work

STUDENTS, QUESTIONS = 100, 10
REFERENCES = [{"family": "f", "level": 1}] * QUESTIONS


@pytest.fixture(params=testing.DATABASES)
def room(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Classroom]:
    try:
        with testing.fresh_classroom(request.param, tmp_path / "data") as room:
            yield room
    except testing.NoPostgresql as reason:
        pytest.skip(str(reason))


def test_a_hundred_students_at_once(room: Classroom) -> None:
    """One app server, a thread for each student, as Streamlit has it; the teacher watches meanwhile."""
    desk = room.open_desk(testing.TEACHER_KEY)
    assignment = desk.create_assignment("Load", REFERENCES)
    confirmed: list[Confirmed] = []
    done = threading.Event()
    views: list[int] = []

    def watch() -> None:
        while not done.wait(0.2):
            views.append(desk.progress(assignment.id).assignment.answers)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        work(room, assignment.code, [f"student {i}" for i in range(STUDENTS)], QUESTIONS, confirmed.append)
    finally:
        done.set()
        watcher.join()
    assert len(confirmed) == STUDENTS * QUESTIONS == check(room, desk, assignment, confirmed)
    seen = desk.progress(assignment.id)
    assert (len(seen.students), seen.finished) == (STUDENTS, STUDENTS)
    assert [student.number for student in seen.students] == list(range(1, STUDENTS + 1))
    assert views == sorted(views)


def test_a_server_is_killed_in_the_middle(room: Classroom) -> None:
    """Two app servers with half of the class each. One gets SIGKILL; its students send again to the other."""
    desk = room.open_desk(testing.TEACHER_KEY)
    assignment = desk.create_assignment("Kill", REFERENCES)
    half = STUDENTS // 2
    workers = [start_worker(room.settings, assignment.code, i * half, half, QUESTIONS) for i in range(2)]
    seen = kill_after(workers[0], half * QUESTIONS // 3)
    outputs = [worker.communicate(timeout=200)[0] for worker in workers]
    assert workers[0].returncode == -9 and workers[1].returncode == 0
    survivors = read_confirmed(outputs[1])
    killed = read_confirmed(seen + outputs[0])
    assert len(survivors) == half * QUESTIONS and half * QUESTIONS // 3 <= len(killed) < half * QUESTIONS
    stored = check(room, desk, assignment, survivors + killed)
    for one in killed:
        receipt = room.submit(one["token"], one["answers"]["question"], one["answers"], grade, one["key"])
        assert receipt.replayed
    assert check(room, desk, assignment, survivors + killed) == stored
    if room.database.is_sqlite:
        with room.database.read() as connection:
            assert connection.exec_driver_sql("PRAGMA integrity_check").scalar_one() == "ok"


@pytest.fixture
def own_server() -> Iterator[testing.PrivatePostgresql]:
    try:
        server = testing.PrivatePostgresql()
    except testing.NoPostgresql as reason:
        pytest.skip(str(reason))
    yield server
    server.close()


@pytest.mark.postgres
def test_the_database_server_dies_in_the_middle(own_server: testing.PrivatePostgresql, tmp_path: Path) -> None:
    """PostgreSQL goes down without a goodbye and comes back. Nobody does more than press the button again."""
    url = own_server.new_database().replace("postgresql://", "postgresql+psycopg://", 1)
    room = Classroom.open(testing.fresh_settings("sqlite", tmp_path, database_url=url))
    desk = room.open_desk(testing.TEACHER_KEY)
    assignment = desk.create_assignment("Crash", REFERENCES)
    confirmed: list[Confirmed] = []
    names = [f"student {i}" for i in range(30)]
    with ThreadPoolExecutor(1) as pool:
        job = pool.submit(work, room, assignment.code, names, QUESTIONS, confirmed.append)
        while len(confirmed) < 60 and not job.done():
            time.sleep(0.01)
        own_server.crash()
        time.sleep(0.3)
        own_server.start()
        job.result(timeout=120)
    assert len(confirmed) == 30 * QUESTIONS == check(room, desk, assignment, confirmed)
    room.close()


def test_one_button_pressed_many_times_at_once(room: Classroom) -> None:
    """A double click, a retry and a reload in the same moment: one answer, and everyone gets the same receipt."""
    desk = room.open_desk(testing.TEACHER_KEY)
    assignment = desk.create_assignment("Once", REFERENCES)
    seat = room.join(assignment.code)
    with ThreadPoolExecutor(12) as pool:
        calls = [pool.submit(room.submit, seat.token, 0, {"question": n}, grade, "the-same-press") for n in range(12)]
        receipts = [call.result() for call in calls]
    assert sum(not receipt.replayed for receipt in receipts) == 1
    assert len({(receipt.submitted_at, receipt.result) for receipt in receipts}) == 1
    assert len(desk.answers(assignment.id)) == 1


def test_two_windows_race_for_the_only_attempt(room: Classroom) -> None:
    """Different presses: one is stored, the others are told so. Never two answers, never a database error."""
    desk = room.open_desk(testing.TEACHER_KEY)
    assignment = desk.create_assignment("Race", REFERENCES)
    seat = room.join(assignment.code)

    def press(number: int) -> str:
        try:
            room.submit(seat.token, 0, {"question": number}, grade, f"press-number-{number}")
        except ClassroomError as error:
            return error.kind
        return "stored"

    with ThreadPoolExecutor(12) as pool:
        outcomes = sorted(pool.map(press, range(12)))
    assert outcomes == ["answered"] * 11 + ["stored"]
    assert len(desk.answers(assignment.id)) == 1


def test_guesses_sent_at_the_same_moment_are_all_counted(room: Classroom) -> None:
    def guess(_: int) -> str:
        try:
            room.open_desk("a wrong key", source="mallory")
        except ClassroomError as error:
            return error.kind
        return "open"

    with ThreadPoolExecutor(16) as pool:
        outcomes = list(pool.map(guess, range(32)))
    assert (outcomes.count("wrong_key"), outcomes.count("too_many_tries")) == (10, 22)


def test_deleting_while_a_class_answers(room: Classroom) -> None:
    """Whoever is deleted hears so; nothing of them stays behind, nothing else breaks."""
    desk = room.open_desk(testing.TEACHER_KEY)
    assignment = desk.create_assignment("Gone", REFERENCES)
    seats = [room.join(assignment.code) for _ in range(10)]

    def answer_all(token: str) -> str:
        try:
            for question in range(QUESTIONS):
                room.submit(token, question, {"question": question}, grade, f"press-number-{question}")
        except ClassroomError as error:
            return error.kind
        return "done"

    with ThreadPoolExecutor(11) as pool:
        calls = [pool.submit(answer_all, seat.token) for seat in seats]
        deleted = pool.submit(desk.delete_class_data, assignment.id).result()
        outcomes = {call.result() for call in calls}
    assert deleted.students == 10 and outcomes <= {"done", "unknown_seat"}
    assert desk.answers(assignment.id) == () and desk.progress(assignment.id).students == ()


def test_many_servers_start_at_once(room: Classroom, tmp_path: Path) -> None:
    """An empty database, three processes: one makes the tables, all of them start."""
    kind = "sqlite" if room.database.is_sqlite else "postgresql"
    settings = testing.fresh_settings(kind, tmp_path / "fresh")
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(_open_and_close, [settings] * 3)) == [0] * 3


def _open_and_close(settings: Settings) -> int:
    """Starts a server that only opens the classroom; its exit status."""
    code = "from specdec_core.classroom import Classroom; Classroom.open().close()"
    environ = os.environ | {
        "SPECDEC_DATA": str(settings.data_folder),
        "SPECDEC_DATABASE_URL": settings.database_url,
        "PYTHONPATH": str(Path(__file__).resolve().parent.parent),
    }
    return subprocess.run([sys.executable, "-c", code], env=environ, timeout=100).returncode


def test_the_check_itself_notices_what_it_is_for(tmp_path: Path) -> None:
    """Lose an answer, or give one to somebody else: `check` must fail, or the tests above show nothing."""
    with testing.fresh_classroom("sqlite", tmp_path) as room:
        desk = room.open_desk(testing.TEACHER_KEY)
        assignment = desk.create_assignment("Check", REFERENCES)
        confirmed: list[Confirmed] = []
        work(room, assignment.code, ["Ada", "Bob"], 2, confirmed.append)
        assert check(room, desk, assignment, confirmed) == 4
        with room.database.write() as connection:
            connection.exec_driver_sql("DELETE FROM answers WHERE id = (SELECT max(id) FROM answers)")
        with pytest.raises(KeyError):
            check(room, desk, assignment, confirmed)
        with room.database.write() as connection:
            connection.exec_driver_sql("UPDATE students SET name = CASE name WHEN 'Ada' THEN 'Bob' ELSE 'Ada' END")
        with pytest.raises(AssertionError, match="crossed over"):
            check(room, desk, assignment, [])
