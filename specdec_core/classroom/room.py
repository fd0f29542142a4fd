"""The classroom as the app sees it: opened once per process, shared by all its sessions and threads.

    room = Classroom.open()                                  # settings from the environment, tables brought up to date
    desk = room.open_desk(key, source=address)               # the teacher's half: desk.py
    seat = room.join(code, "Ada", source=address)            # the students' half: below
    room.submit(seat.token, 0, {"n_a": 1}, grader, key)      # when it returns, the answer is on disk

Every failure is a ClassroomError. `source` is where a try of a key or code comes from: an address, or any word.

Does not know: Streamlit, question families, grading.
"""

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Literal

from specdec_core import log
from specdec_core.classroom import keys, limits, retention, students
from specdec_core.classroom.database import Database
from specdec_core.classroom.desk import Desk, purge
from specdec_core.classroom.errors import ClassroomError, Sentence
from specdec_core.classroom.records import Card, Grader, Json, Receipt, Seat, StudentView
from specdec_core.classroom.schema import migrate
from specdec_core.classroom.settings import Settings

_PURGE_EVERY = timedelta(hours=1)
# One key is hashed at a time: each takes 32 MiB and a tenth of a second.
_HASHING = threading.Lock()


def utc_now() -> datetime:
    """The server's time. Several servers must keep theirs in step (NTP)."""
    return datetime.now(UTC)


class Classroom:
    """The database with its two doors. Thread-safe."""

    def __init__(self, settings: Settings, database: Database, clock: Callable[[], datetime] = utc_now) -> None:
        self.settings = settings
        self.database = database
        self._clock = clock
        self._purged_at: datetime | None = None

    @classmethod
    def open(
        cls, settings: Settings | None = None, clock: Callable[[], datetime] = utc_now, purge: bool = True
    ) -> "Classroom":
        """Opens the database, creates or updates its tables, and deletes what is too old.

        Any number of processes may do so at once.
        """
        settings = settings or Settings.from_environment()
        database = Database(settings)
        try:
            migrate(database)
        except BaseException:
            database.close()
            raise
        room = cls(settings, database, clock)
        if purge:
            room._purge_if_due()
        return room

    def close(self) -> None:
        """Gives the connections back. For tests and scripts; an app keeps its classroom."""
        self.database.close()

    # -- the teacher's door ----------------------------------------------------------------------------------------

    def desk_state(self) -> Literal["on", "off", "misconfigured"]:
        """Whether there is a desk: off without SPECDEC_TEACHER_KEY_HASH, misconfigured when that is no hash."""
        if not self.settings.teacher_key_hash:
            return "off"
        return "on" if keys.parse_hash(self.settings.teacher_key_hash) else "misconfigured"

    def open_desk(self, key: str, source: str = "") -> Desk:
        """The desk, for the right key. Keep it in the teacher's session; ten wrong keys from a source are too many."""
        stored = keys.parse_hash(self.settings.teacher_key_hash)
        if stored is None:
            raise ClassroomError("desk_off", "The teacher's desk is off: this server has no valid teacher key.")
        self._purge_if_due()
        now = self._clock()
        with self.database.write() as connection:
            number = limits.begin(connection, limits.TEACHER_KEY, source, now)
        with _HASHING:
            right = keys.matches(key, stored)
        if not right:
            log.event("teacher_key_refused")
            raise ClassroomError("wrong_key", "This is not the teacher key.")
        with self.database.write() as connection:
            limits.succeeded(connection, number)
        log.event("desk_opened")
        return Desk(self.database, self._clock)

    # -- the students' door ----------------------------------------------------------------------------------------

    def find(self, code: str, source: str = "") -> Card:
        """What the join code opens: title, number of questions, times. Case, hyphens and blanks do not matter."""
        return students.find(self.database, code, source, self._clock())

    def join(self, code: str, name: str = "", source: str = "") -> Seat:
        """A seat in the assignment. Its token is all that identifies the student from now on."""
        self._purge_if_due()
        seat = students.join(self.database, code, name, source, self._clock())
        log.event("student_joined")
        return seat

    def student_view(self, token: str) -> StudentView:
        """The student's questions and own answers: no solution before the reveal, nobody else's anything."""
        return students.view(self.database, token, self._clock())

    def attempt_question(self, token: str, question: int, attempt: int) -> dict[str, Json]:
        """The variant that an earlier attempt of this student was made at."""
        return students.attempt_question(self.database, token, question, attempt, self._clock())

    def submit(
        self, token: str, question: int, answers: Json, grader: Grader, idempotency_key: str, attempt: int = 1
    ) -> Receipt:
        """Grades and stores an answer to the question with this index. When it returns, the answer is on disk.

        grader(question, answers) gets the stored question with its seed. idempotency_key: made once per form, before
        the button is pressed (str(uuid.uuid4())); pressing twice or trying again stores once. attempt: as in
        StudentQuestion.attempt, so that a stale window cannot answer a variant it does not show.
        """
        now = self._clock()
        receipt = students.submit(self.database, token, question, answers, grader, idempotency_key, attempt, now)
        log.event("answer_stored", again=receipt.replayed)
        return receipt

    # -- keeping and forgetting ------------------------------------------------------------------------------------

    def statement(self) -> tuple[Sentence, ...]:
        """What is stored and for how long, to be shown where students join."""
        return retention.statement(self.settings.retention_days)

    def purge_old(self) -> int:
        """Deletes students who joined longer ago than the retention time, with their answers. Returns how many.

        Tries of keys and codes that no longer count go too.
        """
        self._purged_at = now = self._clock()
        limits.forget(self.database, now)
        if not self.settings.retention_days:
            return 0
        gone = purge(self.database, now - timedelta(days=self.settings.retention_days)).students
        log.event("old_data_deleted", students=gone)
        return gone

    def _purge_if_due(self) -> None:
        if self._purged_at is not None and self._clock() - self._purged_at < _PURGE_EVERY:
            return
        try:
            self.purge_old()
        except ClassroomError as error:  # forgetting is tried again in an hour; it must not keep a class from joining
            log.failure("purge_failed", error, kind=error.kind)
