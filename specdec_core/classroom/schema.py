"""Brings the database's tables up to date at every start, once, however many processes start together.

Does not know: what the tables mean.
"""

import threading
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from specdec_core.classroom.database import Database
from specdec_core.classroom.errors import ClassroomError

_FOLDER = Path(__file__).parent / "migrations"
# Alembic's context and op are global to a process.
_ONE_AT_A_TIME = threading.Lock()
# Any number will do, as long as no other program in the same PostgreSQL database uses it.
_POSTGRESQL_LOCK = 0x5BEC_DEC0


def _config(connection: Connection) -> Config:
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


def migrate(database: Database) -> None:
    """Creates or updates the tables in one transaction.

    The second of two processes waits for the first (SQLite: for its write transaction; PostgreSQL: for an advisory
    lock) and then finds nothing left to do. A database of a newer program is left alone.
    """
    with _ONE_AT_A_TIME, database.write() as connection:
        if not database.is_sqlite:
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _POSTGRESQL_LOCK})
        config = _config(connection)
        scripts = ScriptDirectory.from_config(config)
        found = set(MigrationContext.configure(connection).get_current_heads())
        if found - {script.revision for script in scripts.walk_revisions()}:
            raise ClassroomError(
                "newer_schema", "The classroom database was made by a newer version of this program: please update."
            )
        if found != set(scripts.get_heads()):
            command.upgrade(config, "head")
