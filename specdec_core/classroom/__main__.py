"""The classroom's two chores that need a shell.

    python -m specdec_core.classroom key              asks for a teacher key twice, prints the line to set
    python -m specdec_core.classroom key --generate   makes a key, prints it and the line to set
    python -m specdec_core.classroom purge            deletes what is older than SPECDEC_RETENTION_DAYS, for a daily job

Exit status 2 and one line on standard error when something is wrong.
"""

import argparse
import getpass
import secrets
import sys

from specdec_core.classroom.errors import ClassroomError
from specdec_core.classroom.keys import make_hash
from specdec_core.classroom.room import Classroom


def _typed_key() -> str:
    """Asks twice at a terminal; reads one line from a pipe."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().strip()
    key = getpass.getpass("Teacher key: ")
    if key != getpass.getpass("The same again: "):
        raise ClassroomError("bad_input", "The two keys are not the same.")
    return key


def _key(generate: bool) -> None:
    key = secrets.token_urlsafe(15) if generate else _typed_key()
    line = f"SPECDEC_TEACHER_KEY_HASH={make_hash(key)}"
    if generate:
        print(f"Teacher key (keep it, it is not stored): {key}", file=sys.stderr)
    print(line)


def _purge() -> None:
    room = Classroom.open(purge=False)
    try:
        print(f"Deleted {room.purge_old()} students with their answers.")
    finally:
        room.close()


def main(arguments: list[str] | None = None) -> int:
    """Runs one chore; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m specdec_core.classroom")
    chores = parser.add_subparsers(dest="chore", required=True)
    key = chores.add_parser("key", help="make the hash of a teacher key")
    key.add_argument("--generate", action="store_true", help="make a strong key instead of asking for one")
    chores.add_parser("purge", help="delete what is older than SPECDEC_RETENTION_DAYS")
    options = parser.parse_args(arguments)
    try:
        if options.chore == "key":
            _key(options.generate)
        else:
            _purge()
    except ClassroomError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
