"""The server's log: one JSON object a line on standard error, for whoever runs it.

A line holds the time, the event's name, numbers, truth values, and short words of our own. Prompts, names, answers,
codes and keys never come near it: an error is told by its type and its place in the source, never by its message, which
may quote a visitor.

Does not know: who logs what.
"""

import json
import logging
import os
import sys
import traceback
from datetime import UTC, datetime
from pathlib import Path

LEVEL = "SPECDEC_LOG_LEVEL"
_LEVELS = {"off": logging.CRITICAL + 1, "error": logging.ERROR, "info": logging.INFO}
_LONGEST = 200
_PLACES = 6
_logger = logging.getLogger("specdec")

Field = bool | int | float | str | None


def configure() -> None:
    """Send events to standard error, once in a process. SPECDEC_LOG_LEVEL: off, error, or info (the default)."""
    if _logger.handlers:
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines())
    _logger.addHandler(handler)
    _logger.propagate = False
    _logger.setLevel(_LEVELS.get(os.environ.get(LEVEL, "info").lower(), logging.INFO))


def event(name: str, **fields: Field) -> None:
    """Something happened. ``fields`` hold numbers, truth values, and words that no visitor chose."""
    _logger.info(name, extra={"fields": fields})


def failure(name: str, error: BaseException, **fields: Field) -> None:
    """Something went wrong that nobody foresaw: its type, and where in the source."""
    _logger.error(name, extra={"fields": {**fields, "error": type(error).__name__, "at": _place(error)}})


def _place(error: BaseException) -> str:
    """The last frames, innermost first: ``decoding.py:120 < runner.py:170``."""
    frames = traceback.extract_tb(error.__traceback__)[-_PLACES:]
    return " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(frames))


class _Lines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        fields = {name: _plain(value) for name, value in getattr(record, "fields", {}).items()}
        return json.dumps({"time": time, "level": record.levelname.lower(), "event": record.msg, **fields})


def _plain(value: Field) -> Field:
    if isinstance(value, float):
        return round(value, 3)
    return value[:_LONGEST] if isinstance(value, str) else value
