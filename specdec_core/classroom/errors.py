"""What can go wrong in the classroom, each as one plain sentence that a person can act on.

Does not know: who shows the sentence, or in which language. `ClassroomError.sentence` keeps the English template and
its values apart, so that the screen's catalogue can translate it.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout


@dataclass(frozen=True)
class Sentence:
    """One sentence: an English template and the values that fill it. `str()` gives the English text."""

    template: str
    values: Mapping[str, object] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.template.format(**self.values)


class ClassroomError(Exception):
    """Something was refused or failed, and nothing was stored by the call that raised it.

    kind: a short name for programs ("closed", "wrong_key", "busy" ...). str(error): the sentence for people.
    One exception to "nothing was stored": kind "unavailable" can come after the database took the answer but before it
    could say so. Sending the same answer again with the same idempotency key is always safe.
    """

    def __init__(self, kind: str, template: str, **values: object) -> None:
        self.kind = kind
        self.sentence = Sentence(template, values)
        super().__init__(str(self.sentence))


def _busy() -> ClassroomError:
    return ClassroomError("busy", "The classroom database is busy. Nothing was stored: please try again.")


def _disk_full() -> ClassroomError:
    return ClassroomError(
        "disk_full", "The disk of the classroom database is full. Nothing was stored: tell whoever runs this server."
    )


def _not_writable() -> ClassroomError:
    return ClassroomError(
        "read_only",
        "The classroom database cannot be written. Whoever runs this server must check the data folder's permissions.",
    )


def _damaged() -> ClassroomError:
    return ClassroomError(
        "damaged",
        "The classroom database is damaged or not a database. Whoever runs this server must restore a copy.",
    )


def _unavailable() -> ClassroomError:
    return ClassroomError(
        "unavailable", "The classroom database cannot be reached. Please try again: nothing is stored twice."
    )


def _unexpected(error: BaseException) -> ClassroomError:
    name = type(error).__name__
    return ClassroomError("database", "The classroom database reported an unexpected error ({name}).", name=name)


# By the primary result code's name; extended codes (SQLITE_READONLY_DBMOVED, SQLITE_IOERR_WRITE ...) begin with it.
_SQLITE = (
    ("SQLITE_BUSY", _busy),
    ("SQLITE_LOCKED", _busy),
    ("SQLITE_FULL", _disk_full),
    ("SQLITE_READONLY", _not_writable),
    ("SQLITE_CANTOPEN", _not_writable),
    ("SQLITE_PERM", _not_writable),
    ("SQLITE_CORRUPT", _damaged),
    ("SQLITE_NOTADB", _damaged),
    ("SQLITE_IOERR", _unavailable),
)

# By the beginning of the SQLSTATE; longer ones first.
_POSTGRESQL = (
    ("25006", _not_writable),  # read-only transaction
    ("42501", _not_writable),  # insufficient privilege
    ("53100", _disk_full),
    ("53300", _busy),  # too many connections
    ("55P03", _busy),  # lock not available
    ("57014", _busy),  # cancelled by a timeout
    ("40", _busy),  # deadlock, serialization failure
    ("57P", _unavailable),  # the server shuts down or starts up
    ("08", _unavailable),
    ("28", _unavailable),  # refused the user or the password
    ("3D000", _unavailable),  # no such database
    ("XX001", _damaged),
    ("XX002", _damaged),
)


def _from_driver(error: BaseException) -> ClassroomError:
    """The sentence for an error of sqlite3 or psycopg."""
    name = getattr(error, "sqlite_errorname", "") or ""
    state = getattr(error, "sqlstate", "") or ""
    for start, make in _SQLITE if isinstance(error, sqlite3.Error) else _POSTGRESQL:
        if (name or state).startswith(start):
            return make()
    # psycopg gives no SQLSTATE when the connection itself was lost or never came about.
    if not isinstance(error, sqlite3.Error) and not state and type(error).__name__ == "OperationalError":
        return _unavailable()
    return _unexpected(error)


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turns what the database and the file system raise into a ClassroomError."""
    try:
        yield
    except PoolTimeout as error:
        raise _busy() from error
    except DBAPIError as error:
        raise (_from_driver(error.orig) if error.orig else _unexpected(error)) from error
    except sqlite3.Error as error:  # raised while a connection is being opened
        raise _from_driver(error) from error
    except SQLAlchemyError as error:
        raise _unexpected(error) from error
    except PermissionError as error:
        raise _not_writable() from error
