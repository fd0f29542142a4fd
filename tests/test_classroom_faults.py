"""A locked database, a full disk, a folder that cannot be written, a server that is away: one clear sentence each, and
what was confirmed stays.
"""

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import event, text

from specdec_core.classroom import Classroom, ClassroomError, Desk, Grade, Settings, testing
from specdec_core.classroom.tables import metadata

QUESTIONS = [{"family": "f", "level": 1}] * 100


def one_point(question: object, answers: object) -> Grade:
    return Grade(1, 1)


@pytest.fixture(params=testing.DATABASES)
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    try:
        return testing.fresh_settings(request.param, tmp_path / "data", busy_seconds=0.5)
    except testing.NoPostgresql as reason:
        pytest.skip(str(reason))


@pytest.fixture
def room(settings: Settings) -> Iterator[Classroom]:
    room = Classroom.open(settings)
    yield room
    room.close()


@pytest.fixture
def postgresql_room(tmp_path: Path) -> Iterator[Classroom]:
    try:
        with testing.fresh_classroom("postgresql", tmp_path, busy_seconds=0.5) as room:
            yield room
    except testing.NoPostgresql as reason:
        pytest.skip(str(reason))


@pytest.fixture
def sqlite_room(tmp_path: Path) -> Iterator[Classroom]:
    with testing.fresh_classroom("sqlite", tmp_path / "data", busy_seconds=0.3) as room:
        yield room


def database_file(room: Classroom) -> Path:
    return room.settings.data_folder / "classroom.sqlite3"


def a_seat(room: Classroom) -> tuple[Desk, str, str]:
    """The desk, an assignment's id, and the token of a student who has answered its first question."""
    desk = room.open_desk(testing.TEACHER_KEY)
    assignment = desk.create_assignment("Faults", QUESTIONS)
    token = room.join(assignment.code, "Ada").token
    room.submit(token, 0, "confirmed", one_point, "press-one")
    return desk, assignment.id, token


def refusal(call: Any, *arguments: Any) -> ClassroomError:
    """The error of a call that must fail; its sentence is one line and names no file or password."""
    with pytest.raises(ClassroomError) as caught:
        call(*arguments)
    sentence = str(caught.value)
    assert sentence.endswith(".") and "\n" not in sentence and "Traceback" not in sentence
    return caught.value


# -- settings of the database --------------------------------------------------------------------------------------


def test_what_confirmed_means_on_sqlite(sqlite_room: Classroom) -> None:
    with sqlite_room.database.read() as connection:
        pragmas = ("journal_mode", "synchronous", "foreign_keys", "secure_delete", "busy_timeout")
        found = [connection.exec_driver_sql(f"PRAGMA {name}").scalar_one() for name in pragmas]
    assert found == ["wal", 2, 1, 1, 300]  # synchronous 2 is FULL: the log is on disk before a commit returns


def test_only_its_owner_reads_the_data(sqlite_room: Classroom) -> None:
    a_seat(sqlite_room)
    folder = sqlite_room.settings.data_folder
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}


@pytest.mark.postgres
def test_what_confirmed_means_on_postgresql(postgresql_room: Classroom) -> None:
    room = postgresql_room
    with room.database.write() as connection:
        connection.execute(text("ALTER ROLE specdec SET synchronous_commit = off"))
    room.database.close()
    try:
        with room.database.read() as connection:
            assert connection.execute(text("SHOW synchronous_commit")).scalar_one() == "on"
    finally:
        with room.database.write() as connection:
            connection.execute(text("ALTER ROLE specdec RESET synchronous_commit"))


def test_migrations_make_exactly_the_tables(room: Classroom) -> None:
    with room.database.read() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []


def test_a_database_of_a_newer_program_is_left_alone(room: Classroom) -> None:
    with room.database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    assert refusal(Classroom.open, room.settings).kind == "newer_schema"
    with room.database.read() as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one() == "9999"


# -- the desk is off -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stored", "state"), [("", "off"), ("plain text", "misconfigured"), ("scrypt:1", "misconfigured")]
)
def test_without_a_valid_hash_the_desk_is_off(tmp_path: Path, stored: str, state: str) -> None:
    with testing.fresh_classroom("sqlite", tmp_path, teacher_key_hash=stored) as room:
        assert room.desk_state() == state
        for key in ("", stored, testing.TEACHER_KEY):
            assert refusal(room.open_desk, key).kind == "desk_off"


# -- locked --------------------------------------------------------------------------------------------------------


def test_a_locked_sqlite_file(sqlite_room: Classroom) -> None:
    desk, assignment_id, token = a_seat(sqlite_room)
    other = sqlite3.connect(database_file(sqlite_room), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert refusal(sqlite_room.submit, token, 1, "x", one_point, "press-two").kind == "busy"
    assert sqlite_room.student_view(token).questions[0].answers[0].answers == "confirmed"  # reading goes on
    other.execute("COMMIT")
    other.close()
    assert not sqlite_room.submit(token, 1, "x", one_point, "press-two").replayed
    assert len(desk.answers(assignment_id)) == 2


@pytest.mark.postgres
def test_a_locked_table_in_postgresql(postgresql_room: Classroom) -> None:
    room = postgresql_room
    desk, assignment_id, token = a_seat(room)
    with room.database.engine.begin() as other:
        other.execute(text("LOCK TABLE answers IN ACCESS EXCLUSIVE MODE"))
        assert refusal(room.submit, token, 1, "x", one_point, "press-two").kind == "busy"
    assert not room.submit(token, 1, "x", one_point, "press-two").replayed
    assert len(desk.answers(assignment_id)) == 2


def test_a_reader_in_the_way_of_wiping_is_reported(sqlite_room: Classroom) -> None:
    """SQLite keeps old pages in its log for whoever still reads them."""
    desk, assignment_id, _ = a_seat(sqlite_room)
    reader = sqlite3.connect(database_file(sqlite_room), isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM students").fetchall()
    assert not desk.delete_class_data(assignment_id).wiped
    reader.close()
    assert desk.delete_class_data(assignment_id).wiped


# -- full ----------------------------------------------------------------------------------------------------------


def test_a_full_disk(sqlite_room: Classroom) -> None:
    """The file may not grow any more. Some answers still fit; the first that does not is refused, and none is lost."""
    desk, assignment_id, token = a_seat(sqlite_room)

    @event.listens_for(sqlite_room.database.engine, "connect")
    def limit(connection: Any, _: Any) -> None:
        connection.execute("PRAGMA max_page_count=1")  # that is: not one page more than there are

    sqlite_room.database.close()
    confirmed = 1
    with pytest.raises(ClassroomError) as caught:
        for question in range(1, 100):
            sqlite_room.submit(token, question, "x" * 3000, one_point, f"press-number-{question}")
            confirmed += 1
    assert caught.value.kind == "disk_full" and "full" in str(caught.value)
    assert refusal(desk.create_assignment, "T", [{"question": {"text": "x" * 50_000}}]).kind == "disk_full"
    assert len(desk.answers(assignment_id)) == confirmed
    again = Classroom.open(sqlite_room.settings)  # space was made
    assert not again.submit(token, confirmed, "x" * 3000, one_point, f"press-number-{confirmed}").replayed
    assert again.open_desk(testing.TEACHER_KEY).assignment(assignment_id).answers == confirmed + 1
    again.close()


# -- not writable --------------------------------------------------------------------------------------------------


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """A folder outside pytest's private one, so that an unprivileged user can reach it."""
    folder = Path(tempfile.mkdtemp(prefix="specdec-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


class Unprivileged:
    """Root may write anywhere: as root, acts as nobody for a while."""

    def __enter__(self) -> None:
        if os.geteuid() == 0:
            os.seteuid(65534)

    def __exit__(self, *_: object) -> None:
        if os.getuid() == 0:
            os.seteuid(0)


def test_a_folder_that_cannot_be_made(public_folder: Path) -> None:
    public_folder.chmod(0o555)
    with Unprivileged():
        error = refusal(Classroom.open, Settings(public_folder / "data"))
    assert error.kind == "read_only" and str(public_folder) in str(error)
    blocked = public_folder / "file"
    blocked.write_text("")
    assert refusal(Classroom.open, Settings(blocked / "data")).kind == "read_only"


def test_a_folder_that_became_read_only(public_folder: Path) -> None:
    data = public_folder / "data"
    settings = Settings(data, teacher_key_hash=testing.teacher_key_hash(), busy_seconds=0.3)
    room = Classroom.open(settings)
    _, assignment_id, token = a_seat(room)
    room.close()
    for path in (*data.iterdir(), data):
        path.chmod(0o555 if path.is_dir() else 0o444)
    with Unprivileged():
        assert refusal(Classroom.open, settings).kind == "read_only"
        assert refusal(room.submit, token, 1, "x", one_point, "press-two").kind == "read_only"
    for path in (data, *data.iterdir()):
        path.chmod(0o755 if path.is_dir() else 0o644)
    again = Classroom.open(settings)
    assert [row.answers for row in again.open_desk(testing.TEACHER_KEY).answers(assignment_id)] == ["confirmed"]
    again.close()


# -- broken or away ------------------------------------------------------------------------------------------------


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "classroom.sqlite3").write_bytes(b"these are not the bytes you are looking for" * 100)
    assert refusal(Classroom.open, Settings(tmp_path)).kind == "damaged"


@pytest.mark.postgres
def test_a_postgresql_that_is_not_there(tmp_path: Path) -> None:
    nobody_there = "postgresql+psycopg://me:hunter2@/db?host=" + str(tmp_path)
    for url in (nobody_there, "postgresql+psycopg://me:hunter2@127.0.0.1:1/db"):
        error = refusal(Classroom.open, Settings(tmp_path, database_url=url))
        assert error.kind == "unavailable" and "hunter2" not in str(error)
    assert refusal(Classroom.open, Settings(tmp_path, database_url="postgresql+psycopg://h:x/y")).kind == "bad_setting"


@pytest.mark.postgres
def test_a_postgresql_that_refuses_us(postgresql_room: Classroom) -> None:
    settings = postgresql_room.settings
    for url in (settings.database_url.replace("/room_", "/nope_"), settings.database_url.replace("specdec@", "eve@")):
        assert refusal(Classroom.open, Settings(settings.data_folder, database_url=url)).kind == "unavailable"


def test_the_shell_says_one_line_too(tmp_path: Path) -> None:
    environ = os.environ | {"SPECDEC_DATA": str(tmp_path), "SPECDEC_DATABASE_URL": "mysql://x"}
    environ["PYTHONPATH"] = str(Path(__file__).resolve().parent.parent)
    command = [sys.executable, "-m", "specdec_core.classroom", "purge"]
    done = subprocess.run(command, capture_output=True, text=True, env=environ, timeout=60)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1) and "SPECDEC_DATABASE_URL" in done.stderr
    environ["SPECDEC_DATABASE_URL"] = ""
    done = subprocess.run(command, capture_output=True, text=True, env=environ, timeout=60)
    assert (done.returncode, done.stdout) == (0, "Deleted 0 students with their answers.\n")
