"""Where the classroom's data is, and who may open the desk: everything that is set by environment variables.

    SPECDEC_DATA               the data folder. Default: $XDG_DATA_HOME/specdec, that is ~/.local/share/specdec
                               (%LOCALAPPDATA%\\specdec on Windows)
    SPECDEC_DATABASE_URL       postgresql://user:password@host/name. Default: the SQLite file classroom.sqlite3 there
    SPECDEC_TEACHER_KEY_HASH   made by `python -m specdec_core.classroom key`. Without it the desk is off
    SPECDEC_RETENTION_DAYS     students and their answers are deleted so many days after joining. Default 180; 0 keeps

Does not know: Streamlit's secrets, files, command lines.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from specdec_core.classroom.errors import ClassroomError

DATABASE_FILE = "classroom.sqlite3"
_POSTGRESQL = ("postgresql+psycopg://", "postgresql://", "postgres://")


def default_data_folder(environ: Mapping[str, str]) -> Path:
    """A folder of the user who runs the server: an update or a fresh clone of the program must not lose answers."""
    if os.name == "nt" and environ.get("LOCALAPPDATA"):
        return Path(environ["LOCALAPPDATA"]) / "specdec"
    if environ.get("XDG_DATA_HOME"):
        return Path(environ["XDG_DATA_HOME"]) / "specdec"
    home = environ.get("HOME") or environ.get("USERPROFILE")
    if not home:
        raise ClassroomError("bad_setting", "This user has no home folder: set SPECDEC_DATA to a folder for the data.")
    return Path(home) / ".local" / "share" / "specdec"


def _url(text: str) -> str:
    """The URL with the driver that is used spelled out; "" for the default SQLite file."""
    if not text or text.startswith("sqlite:///"):
        return text
    for start in _POSTGRESQL:
        if text.startswith(start):
            return "postgresql+psycopg://" + text[len(start) :]
    # The value can hold a password: it is not repeated.
    raise ClassroomError("bad_setting", "SPECDEC_DATABASE_URL must begin with postgresql:// (or sqlite:///).")


def _days(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 5):
        raise ClassroomError(
            "bad_setting", "SPECDEC_RETENTION_DAYS must be a whole number of days, not {text!r}.", text=text[:20]
        )
    return int(text)


@dataclass(frozen=True)
class Settings:
    """How this server runs its classroom. Secrets do not show in its repr."""

    data_folder: Path
    database_url: str = field(default="", repr=False)
    teacher_key_hash: str = field(default="", repr=False)
    retention_days: int = 180
    busy_seconds: float = 10.0

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> "Settings":
        """Reads the variables listed above; ClassroomError names the one that is wrong."""
        folder = environ.get("SPECDEC_DATA", "").strip()
        return cls(
            data_folder=Path(folder).expanduser() if folder else default_data_folder(environ),
            database_url=_url(environ.get("SPECDEC_DATABASE_URL", "").strip()),
            teacher_key_hash=environ.get("SPECDEC_TEACHER_KEY_HASH", "").strip(),
            retention_days=_days(environ.get("SPECDEC_RETENTION_DAYS", "").strip() or "180"),
        )

    @property
    def is_postgresql(self) -> bool:
        """Whether the data is in PostgreSQL rather than in a SQLite file."""
        return self.database_url.startswith("postgresql")

    @property
    def url(self) -> str:
        """The database to open."""
        return self.database_url or f"sqlite:///{self.data_folder / DATABASE_FILE}"
