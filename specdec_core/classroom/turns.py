"""A lock that is handed on in order of arrival.

A threading.Lock is not: a thread that lets go of it and comes back at once gets it again, and with a hundred students
one of them waited half a minute while the others were served in milliseconds.

Does not know: what it protects, or other processes.
"""

import threading
from collections import deque


class Turns:
    """First come, first served."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._taken = False
        self._waiting: deque[threading.Event] = deque()

    def acquire(self, timeout: float) -> bool:
        """Waits for its turn, at most so many seconds. Whether it came; then release() must follow."""
        with self._mutex:
            if not self._taken:
                self._taken = True
                return True
            mine = threading.Event()
            self._waiting.append(mine)
        if mine.wait(timeout):
            return True
        with self._mutex:
            if mine.is_set():  # it came between giving up and saying so
                return True
            self._waiting.remove(mine)
            return False

    def release(self) -> None:
        """Hands the turn to whoever has waited longest."""
        with self._mutex:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._taken = False
