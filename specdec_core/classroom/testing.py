"""For tests and load runs: a private PostgreSQL that is started here and thrown away, and a fresh classroom in either
database.

The server listens on a Unix socket in a folder of its own and on no network address. PostgreSQL refuses to run as
root: then it runs as the user postgres (or nobody). Needs Debian's package postgresql, or any initdb and pg_ctl on the
PATH or under /usr/lib/postgresql.

Does not know: pytest.
"""

import atexit
import contextlib
import functools
import os
import pwd
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from specdec_core.classroom.keys import make_hash
from specdec_core.classroom.room import Classroom, utc_now
from specdec_core.classroom.settings import Settings

TEACHER_KEY = "a key for tests only"
DATABASES = ("sqlite", "postgresql")


class NoPostgresql(Exception):
    """No PostgreSQL server can be started here; the text says why."""


@functools.cache
def teacher_key_hash() -> str:
    """The hash of TEACHER_KEY, a cheap one."""
    return make_hash(TEACHER_KEY, cost=2**10)


def _binaries() -> Path:
    """The folder that holds initdb and pg_ctl."""
    on_path = shutil.which("initdb")
    places = [Path(on_path).resolve().parent] if on_path else []
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for place in places:
        if (place / "initdb").exists() and (place / "pg_ctl").exists():
            return place
    raise NoPostgresql("no PostgreSQL server here: install Debian's package postgresql to run these tests")


def _user() -> pwd.struct_passwd:
    """Whom the server runs as: us, or an unprivileged user when we are root."""
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid())
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise NoPostgresql("PostgreSQL does not run as root, and there is no user postgres or nobody")


class PrivatePostgresql:
    """A PostgreSQL server in a temporary folder, with Debian's defaults but for its size."""

    def __init__(self) -> None:
        self._bin = _binaries()
        self._user = _user()
        self.folder = Path(tempfile.mkdtemp(prefix="specdec-pg-"))  # short: a socket's path has at most 107 letters
        os.chown(self.folder, self._user.pw_uid, self._user.pw_gid)
        self._data = self.folder / "data"
        try:
            self._run("initdb", "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync", "-U", "specdec")
            self.start()
        except NoPostgresql:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise

    def _run(self, program: str, *arguments: str) -> None:
        who: dict[str, Any] = {}
        if os.geteuid() == 0:
            who = {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": []}
        command = [str(self._bin / program), "-D", str(self._data), *arguments]
        # Into a file, not a pipe: the server inherits it, and a pipe would never end.
        with open(self.folder / f"{program}.out", "w+") as output:
            done = subprocess.run(
                command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output, timeout=90, **who
            )
            if done.returncode:
                output.seek(0)
                raise NoPostgresql(f"{program} failed: {output.read()[-500:]}")

    def start(self) -> None:
        """Starts the server, after a crash too, and waits for it."""
        options = f"-c listen_addresses='' -c unix_socket_directories='{self.folder}' -c shared_buffers=32MB"
        self._run("pg_ctl", "start", "-w", "-t", "60", "-l", str(self.folder / "server.log"), "-o", options)

    def crash(self) -> None:
        """Kills the server without a chance to tidy up, in the middle of whatever it does."""
        with contextlib.suppress(NoPostgresql):  # pg_ctl complains about the way it went
            self._run("pg_ctl", "stop", "-w", "-t", "30", "-m", "immediate")

    def close(self) -> None:
        """Stops the server and deletes its folder."""
        self.crash()
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, name: str) -> str:
        """The address of the database with this name, as SPECDEC_DATABASE_URL takes it."""
        return f"postgresql://specdec@/{name}?host={self.folder}"

    def new_database(self) -> str:
        """Creates an empty database; returns its address."""
        import psycopg

        name = f"room_{uuid.uuid4().hex[:12]}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"'.encode())
        return self.url(name)


@functools.cache
def _shared() -> PrivatePostgresql | str:
    try:
        import psycopg  # noqa: F401

        server = PrivatePostgresql()
    except ImportError:
        return "no PostgreSQL driver here: pip install psycopg[binary]"
    except NoPostgresql as error:
        return str(error)
    atexit.register(server.close)
    return server


def shared_postgresql() -> PrivatePostgresql:
    """One server for all tests of this process, started at the first call. Raises NoPostgresql."""
    server = _shared()
    if isinstance(server, str):
        raise NoPostgresql(server)
    return server


def fresh_settings(kind: str, folder: Path, **changes: Any) -> Settings:
    """Settings of an empty classroom: kind "sqlite" in that folder, or "postgresql" in a new database."""
    url = shared_postgresql().new_database() if kind == "postgresql" else ""
    values: dict[str, Any] = {"database_url": url.replace("postgresql://", "postgresql+psycopg://", 1)}
    values |= {"data_folder": folder, "teacher_key_hash": teacher_key_hash(), "busy_seconds": 20.0}
    return Settings(**(values | changes))


@contextlib.contextmanager
def fresh_classroom(
    kind: str, folder: Path, clock: Callable[[], datetime] = utc_now, **changes: Any
) -> Iterator[Classroom]:
    """An empty classroom, closed at the end."""
    room = Classroom.open(fresh_settings(kind, folder, **changes), clock)
    try:
        yield room
    finally:
        room.close()
