"""How often the teacher key and join codes may be tried: counted in the database, so that restarts and several app
servers do not add up to more tries.

A try is written down before it is checked and taken back when it was right. So a hundred guesses sent at the same
moment cannot all be checked before the first one is counted.

Addresses are stored as hashes, and deleted once they no longer count: at the next wrong try, or within the hour.

Does not know: what a right key or code is.
"""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, case, delete, func, insert, select, text

from specdec_core.classroom.database import Database
from specdec_core.classroom.errors import ClassroomError
from specdec_core.classroom.tables import tries

_POSTGRESQL_LOCK = 0x5BEC_DEC1


@dataclass(frozen=True)
class Limit:
    """So many wrong tries within the window, per source and in total."""

    kind: str
    window: timedelta
    per_source: int
    in_total: int


TEACHER_KEY = Limit("teacher_key", timedelta(minutes=15), per_source=10, in_total=60)
# A whole class sits behind one address and mistypes; 2,000 tries in ten minutes against 2**51 codes are nothing.
JOIN_CODE = Limit("join_code", timedelta(minutes=10), per_source=100, in_total=2000)


def _hash(source: str) -> str:
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()


def check(connection: Connection, limit: Limit, source: str, now: datetime) -> None:
    """Refuses when the tries of this source, or of all, are used up."""
    mine = func.coalesce(func.sum(case((tries.c.source_hash == _hash(source), 1), else_=0)), 0)
    query = select(mine, func.count()).where(tries.c.kind == limit.kind, tries.c.at > now - limit.window)
    from_source, in_total = connection.execute(query).one()
    if from_source >= limit.per_source or in_total >= limit.in_total:
        minutes = int(limit.window.total_seconds() // 60)
        raise ClassroomError(
            "too_many_tries", "Too many wrong tries. Please wait {minutes} minutes and try again.", minutes=minutes
        )


def begin(connection: Connection, limit: Limit, source: str, now: datetime) -> int:
    """Counts a try that is about to be checked; needs a writing transaction. Returns the number for `succeeded`."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _POSTGRESQL_LOCK})
    connection.execute(delete(tries).where(tries.c.kind == limit.kind, tries.c.at <= now - limit.window))
    check(connection, limit, source, now)
    new = insert(tries).values(kind=limit.kind, source_hash=_hash(source), at=now).returning(tries.c.id)
    return int(connection.execute(new).scalar_one())


def forget(database: Database, now: datetime) -> None:
    """Deletes the tries that no limit counts any more."""
    longest = max(TEACHER_KEY.window, JOIN_CODE.window)
    with database.read() as connection:
        old = connection.execute(select(func.count()).where(tries.c.at <= now - longest)).scalar_one()
    if old:
        with database.write() as connection:
            connection.execute(delete(tries).where(tries.c.at <= now - longest))


def succeeded(connection: Connection, number: int) -> None:
    """Takes a counted try back: it was right."""
    connection.execute(delete(tries).where(tries.c.id == number))
