"""One process at a time, by a lock on a file that no crash leaves behind.

scripts/setup.py has a lock of its own: it runs before there is an environment, on Pythons too old for this.

Does not know: what is done meanwhile.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from specdec_core.models.protocol import ModelUnavailable


@contextmanager
def held(path: Path, seconds: float, work: str, progress: Callable[[str], None]) -> Iterator[None]:
    """Hold ``path`` against other processes. The system lets go of it when the holder dies, however it dies.

    Waits for another holder, and says once that it does; ``work`` is what that one is doing. Raises ModelUnavailable
    after so many seconds.
    """
    with path.open("a+b") as file:
        deadline = time.monotonic() + seconds
        told = False
        while not _try_lock(file):
            if time.monotonic() > deadline:
                raise ModelUnavailable(f"Another process has been {work} for too long.")
            if not told:
                progress(f"Another process is {work}: waiting for it ...")
                told = True
            time.sleep(0.2)
        try:
            yield
        finally:
            _unlock(file)


def _try_lock(file: IO[bytes]) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _unlock(file: IO[bytes]) -> None:
    if sys.platform == "win32":
        import msvcrt

        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_UN)
