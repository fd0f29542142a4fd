"""Opening the database, and the two kinds of transaction: reading and writing.

What "stored" means here: a write that has left `Database.write()` without an error is on disk. SQLite runs in WAL mode
with synchronous=FULL, PostgreSQL with synchronous_commit on. On SQLite the writers of one process take turns in order
of arrival: SQLite's own busy handler sleeps and retries in no order, and of a hundred threads it would starve one.

Does not know: the tables.
"""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError

from specdec_core.classroom.errors import ClassroomError, plain_errors
from specdec_core.classroom.settings import Settings
from specdec_core.classroom.turns import Turns

_WRITES = "specdec_writes"


class Database:
    """An engine with its transactions. Safe to share between threads, and between processes on one file or server."""

    def __init__(self, settings: Settings) -> None:
        self._busy_seconds = settings.busy_seconds
        self._turns = Turns()
        with plain_errors():
            self.engine = _postgresql(settings) if settings.is_postgresql else _sqlite(settings)
        self.is_sqlite = self.engine.dialect.name == "sqlite"

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that only reads."""
        with plain_errors(), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that writes: all of it is on disk when the block ends, or nothing is."""
        with self._turn(), plain_errors(), self.engine.connect() as connection:
            connection.execution_options(**{_WRITES: True})
            with connection.begin():
                yield connection

    @contextmanager
    def _turn(self) -> Iterator[None]:
        if not self.is_sqlite:
            yield
        elif not self._turns.acquire(timeout=self._busy_seconds * 3):
            raise ClassroomError("busy", "The classroom database is busy. Nothing was stored: please try again.")
        else:
            try:
                yield
            finally:
                self._turns.release()

    def wipe(self) -> bool:
        """Removes what deleted rows left behind in the file. False when somebody else's reading was in the way.

        SQLite: VACUUM writes the file anew, then the write-ahead log, which still holds old pages, is emptied.
        PostgreSQL: VACUUM frees the space; its own logs and backups are up to whoever runs that server.
        """
        try:
            return self._wipe_sqlite() if self.is_sqlite else self._wipe_postgresql()
        except ClassroomError as error:
            if error.kind in ("busy", "disk_full"):
                return False
            raise

    def _wipe_sqlite(self) -> bool:
        with self._turn(), plain_errors():
            pooled = self.engine.raw_connection()
            try:
                driver = pooled.driver_connection
                assert driver is not None
                driver.execute("VACUUM")
                busy, _, _ = driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                return not busy
            finally:
                pooled.close()

    def _wipe_postgresql(self) -> bool:
        with plain_errors(), self.engine.connect() as connection:
            connection.execution_options(isolation_level="AUTOCOMMIT")
            connection.execute(text("VACUUM assignments, students, answers"))
        return True

    def close(self) -> None:
        """Gives all connections back."""
        self.engine.dispose()


def _make_private(folder: Path, file: Path) -> None:
    """Creates the data folder and an empty database file that only this user can read; SQLite's other files follow."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not file.exists():
            os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise ClassroomError(
            "read_only",
            "The classroom's data folder {folder} cannot be created or written: {reason}.",
            folder=folder,
            reason=error.strerror or type(error).__name__,
        ) from error


def _sqlite(settings: Settings) -> Engine:
    file = Path(make_url(settings.url).database or "")
    _make_private(file.parent, file)
    engine = create_engine(settings.url, connect_args={"timeout": settings.busy_seconds}, pool_timeout=30)

    @event.listens_for(engine, "connect")
    def connected(connection: sqlite3.Connection, _: Any) -> None:
        connection.isolation_level = None  # BEGIN is ours to say, below
        for pragma in ("foreign_keys=ON", "synchronous=FULL", "secure_delete=ON"):
            connection.execute(f"PRAGMA {pragma}")
        _switch_to_wal(connection, settings.busy_seconds)

    @event.listens_for(engine, "begin")
    def begun(connection: Connection) -> None:
        # IMMEDIATE: a transaction that reads first and then writes could otherwise fail with "locked" half-way.
        writes = connection.get_execution_options().get(_WRITES)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _switch_to_wal(connection: sqlite3.Connection, seconds: float) -> None:
    """WAL mode stays in the file once it is set. Two first starts at once: SQLite does not wait here, so we do."""
    until = time.monotonic() + seconds
    while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError:
            if time.monotonic() > until:
                raise
            time.sleep(0.02)


def _postgresql(settings: Settings) -> Engine:
    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        raise ClassroomError(
            "bad_setting", "PostgreSQL needs the package psycopg: pip install psycopg[binary]"
        ) from error
    try:
        url = make_url(settings.url)
    except (ArgumentError, ValueError) as error:
        raise ClassroomError("bad_setting", "SPECDEC_DATABASE_URL is not a valid database address.") from error
    milliseconds = int(settings.busy_seconds * 1000)
    engine = create_engine(
        url,
        pool_pre_ping=True,  # a restarted server costs nobody an answer
        pool_size=10,
        max_overflow=10,
        connect_args={"connect_timeout": 5, "application_name": "specdec classroom"},
    )

    @event.listens_for(engine, "connect")
    def connected(connection: Any, _: Any) -> None:
        with connection.cursor() as cursor:
            # A server may be set to confirm before the disk has it; one that waits for its replicas too is left alone.
            cursor.execute(
                "SELECT set_config('synchronous_commit', 'on', false) "
                "WHERE current_setting('synchronous_commit') IN ('off', 'local')"
            )
            cursor.execute("SET TIME ZONE 'UTC'")
            cursor.execute(f"SET lock_timeout = {milliseconds}")
            cursor.execute(f"SET statement_timeout = {milliseconds * 3}")
        connection.commit()

    return engine
