"""One worker for all visitors: a fair queue of texts in the making.

Models are heavy and shared, visitors are many. Each text has its own decoder; one thread serves them in turn, one block
at a time, so that a long text does not hold up a short one and a client that vanished holds up nobody. Whole blocks
only: stopping takes effect between two.

Does not know: streamlit, how a pair is loaded (it is given a function), what a block looks like on the screen.
"""

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from enum import StrEnum

from specdec_core import log
from specdec_core.decoding import InvalidPrompt, assemble, decode
from specdec_core.models.protocol import ModelUnavailable, Pair
from specdec_core.trace import Block, Settings, Trace


class State(StrEnum):
    """Where a text stands. Idle: nothing more was asked for, but it could go on."""

    WAITING = "waiting"
    LOADING = "loading"
    RUNNING = "running"
    IDLE = "idle"
    ENDED = "ended"
    FAILED = "failed"


class Busy(Exception):
    """The queue is full. ``str(error)`` is one plain sentence."""


class Job:
    """One visitor's text. Read its fields at any time; only the runner writes them."""

    def __init__(self, settings: Settings, models: str | None = None) -> None:
        """models: what the runner's ``load`` is asked for; the settings' pair by default."""
        self.settings = settings
        self.models = models or settings.pair
        self.state = State.WAITING
        self.error = ""
        self.blocks: list[Block] = []
        self.pair: Pair | None = None
        self.wanted: int | None = 0
        self.seen = self.since = time.monotonic()
        self._generator: Iterator[Block] | None = None
        self._trace: Trace | None = None

    @property
    def active(self) -> bool:
        """Whether the runner still works on it, or will."""
        return self.state in (State.WAITING, State.LOADING, State.RUNNING)

    @property
    def can_go_on(self) -> bool:
        return self.state is State.IDLE

    def trace(self) -> Trace | None:
        """The text so far as a trace; None before the first block."""
        if self.pair is None or not self.blocks:
            return None
        n = len(self.blocks)
        if self._trace is None or len(self._trace.blocks) != n:
            self._trace = assemble(self.pair, self.settings, self.blocks[:n])
        return self._trace

    def _satisfied(self) -> bool:
        return self.wanted is not None and len(self.blocks) >= self.wanted

    def _next(self) -> Block | None:
        assert self.pair is not None
        if self._generator is None:
            self._generator = decode(self.pair, self.settings)
        return next(self._generator, None)

    def advance(self) -> bool:
        """One turn, taken by the runner once the pair is there: the next block. True when nothing more can come.

        Other work that needs a pair overrides this, in turns of about a second at most, for others wait meanwhile.
        """
        block = self._next()
        if block is not None:
            self.blocks.append(block)
        return block is None or bool(block.ends)


class Runner:
    """The queue and its thread.

    load: gives the pair of that name; may raise ModelUnavailable. patience: seconds after which a text nobody looked
    at is dropped from the queue. keep: how many loaded pairs stay in memory.
    """

    def __init__(
        self, load: Callable[[str], Pair], patience: float = 20.0, most: int = 64, keep: int = 1, start: bool = True
    ) -> None:
        self._load, self._patience, self._most, self._keep = load, patience, most, keep
        self._pairs: OrderedDict[str, Pair] = OrderedDict()
        self._queue: deque[Job] = deque()
        self._current: Job | None = None
        self._lock = threading.Condition()
        if start:
            threading.Thread(target=self._work, name="specdec-runner", daemon=True).start()

    def ask(self, job: Job, blocks: int | None) -> None:
        """Ask for ``blocks`` more blocks of ``job``, or for all (None). Raises Busy when the queue is full."""
        with self._lock:
            job.since = time.monotonic()
            if job.state in (State.ENDED, State.FAILED) or (job.active and job in self._queue):
                return
            if len(self._queue) >= self._most:
                raise Busy("Too many texts are being made right now; please try again in a minute.")
            job.wanted = None if blocks is None else len(job.blocks) + blocks
            job.state = State.WAITING
            job.seen = time.monotonic()
            self._queue.append(job)
            self._lock.notify()

    def stop(self, job: Job) -> None:
        """Nothing more than what is there, and at most the block in the making."""
        with self._lock:
            job.wanted = 0
            if job in self._queue:
                self._queue.remove(job)
                job.state = State.IDLE

    def look(self, job: Job) -> None:
        """Tell that somebody still looks at ``job``."""
        job.seen = time.monotonic()

    def place(self, job: Job) -> int:
        """How many texts are served before it: 0 when it is being worked on or next."""
        with self._lock:
            if job is self._current or job not in self._queue:
                return 0
            return self._queue.index(job) + (self._current is not None)

    @property
    def loaded(self) -> list[str]:
        """Names of the pairs in memory."""
        return list(self._pairs)

    def _work(self) -> None:
        while True:
            with self._lock:
                while not self._queue:
                    self._lock.wait()
                job = self._queue.popleft()
                self._current = job
            try:
                self.turn(job)
            finally:
                with self._lock:
                    self._current = None

    def turn(self, job: Job) -> None:
        """One block of ``job``, and back into the queue if it wants more."""
        if time.monotonic() - job.seen > self._patience:
            job.state = State.IDLE
            return
        try:
            if job.pair is None:
                job.state = State.LOADING
                job.pair = self._pair(job.models)
            job.state = State.RUNNING
            ended = job.advance()
        except (ModelUnavailable, InvalidPrompt) as error:
            job.error, job.state = str(error), State.FAILED
            log.event("text_refused", reason=type(error).__name__)
            return
        except Exception as error:
            if _is_out_of_memory(error):
                log.event("out_of_memory", blocks=len(job.blocks))
                job.error, job.state = "The machine ran out of memory; the blocks so far are kept.", State.FAILED
                return
            log.failure("block_failed", error, blocks=len(job.blocks))
            job.error, job.state = "The models failed at this block; the blocks so far are kept.", State.FAILED
            return
        self._settle(job, ended)

    def _settle(self, job: Job, ended: bool) -> None:
        with self._lock:
            if ended:
                job.state, job._generator = State.ENDED, None
                seconds = time.monotonic() - job.since
                log.event("text_ended", blocks=len(job.blocks), seconds=seconds, queue=len(self._queue))
            elif job._satisfied():
                job.state = State.IDLE
            else:
                job.state = State.WAITING
                self._queue.append(job)

    def _pair(self, name: str) -> Pair:
        if name not in self._pairs:
            began = time.monotonic()
            while len(self._pairs) >= self._keep:
                self._pairs.popitem(last=False)
            self._pairs[name] = self._load(name)
            log.event("models_loaded", seconds=time.monotonic() - began, kept=len(self._pairs))
        self._pairs.move_to_end(name)
        return self._pairs[name]


def _is_out_of_memory(error: Exception) -> bool:
    """torch has errors of its own for it: OutOfMemoryError on a GPU, on the CPU a RuntimeError of its allocator."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return type(error) is RuntimeError and "allocate memory" in str(error)
