"""What the bias lab asks of real models: p and q at a place in a prompt, and many texts under several rules.

Both are jobs in the queue that all visitors share, in short turns, so that nobody waits long for anybody.

Does not know: streamlit.
"""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from specdec_core.acceptance import RANDOM, Rule
from specdec_core.decoding import prompt_ids
from specdec_core.distributions import Warp
from specdec_core.models.protocol import Pair
from specdec_core.runner import Busy, Job
from specdec_core.texts import TextTally, continue_texts, pair_at
from specdec_core.textstudy import TextRecord, TextStudy
from specdec_core.trace import Settings
from specdec_core.ui.bias_place import Place

MODELS = "{pair}|automatic|automatic"


@dataclass(frozen=True)
class Asked:
    """A place in a prompt. position: after how many of its tokens; 0 for the end."""

    prompt: str
    pair: str
    position: int
    temperature: float


class PlaceJob(Job):
    """p and q of one next token. ``place`` is there once the job has ended."""

    def __init__(self, asked: Asked) -> None:
        settings = Settings(asked.prompt, asked.pair, temperature=asked.temperature)
        super().__init__(settings, MODELS.format(pair=asked.pair))
        self.asked = asked
        self.place: Place | None = None
        self.tokens: list[str] = []

    def advance(self) -> bool:
        """One pass of each model."""
        assert self.pair is not None
        tokenizer = self.pair.tokenizer
        ids = prompt_ids(self.pair, self.settings)
        end = self.asked.position or len(ids)
        p, q = pair_at(self.pair, self.asked.prompt, min(end, len(ids)), Warp(self.asked.temperature))
        self.tokens = [tokenizer.token_text(i) for i in ids]
        self.place = Place(f"live {self.asked!r}", p, q, lambda some: [tokenizer.token_text(i) for i in some])
        return True


#: Every run holds the summed laws of all its positions; more than two at once could fill the machine's memory.
MOST_RUNS = 2
GROUPS = 4
MOST_RULES = 4
_running: set["TextsJob"] = set()
_lock = threading.Lock()


class TextsJob(Job):
    """A prompt continued ``texts`` times under each rule; a turn is one text. The first rule is the exact one."""

    def __init__(self, settings: Settings, rules: Sequence[Rule], texts: int) -> None:
        super().__init__(settings, MODELS.format(pair=settings.pair))
        self.rules = exact_first(rules)
        self.texts = texts
        self.done = 0
        self.last: TextRecord | None = None
        self.latest: TextStudy | None = None
        self._tally: TextTally | None = None
        self._steps: Iterator[tuple[int, TextRecord]] = iter(())

    @property
    def total(self) -> int:
        """How many texts it will be, of all rules together."""
        return self.texts * len(self.rules)

    def enter(self) -> None:
        """Take one of the places for such runs. Raises Busy where all are taken."""
        with _lock:
            gone = {job for job in _running if not job.active}
            _running.difference_update(gone)
            if len(_running) >= MOST_RUNS:
                raise Busy("Others are making texts right now; please try again in a minute.")
            _running.add(self)

    def advance(self) -> bool:
        """One text. The measures are taken anew whenever the number of texts has doubled, and at the end."""
        assert self.pair is not None
        if self._tally is None:
            self._tally = _tally(self.pair, self.settings, self.rules)
            self._steps = continue_texts(self._tally, range(self.texts))
        step = next(self._steps, None)
        if step is not None:
            self.last, self.done = step[1], self.done + 1
        complete = self._tally.complete
        ended = step is None or self.done >= self.total
        whole = self.done % len(self.rules) == 0
        if complete >= 2 and whole and (ended or complete & (complete - 1) == 0):
            self.latest = self._tally.study()
        if ended:
            self._tally, self._steps = None, iter(())
            with _lock:
                _running.discard(self)
        return ended

    def study(self) -> TextStudy | None:
        """The measures so far; all texts' once the run was stopped or has ended. None while there are too few."""
        if not self.active and self._tally is not None:
            if self._tally.complete >= 2:
                self.latest = self._tally.study()
            self._tally, self._steps = None, iter(())  # stopped: it will not go on
        return self.latest


def _tally(pair: Pair, settings: Settings, rules: Sequence[Rule]) -> TextTally:
    return TextTally(pair, settings, rules, GROUPS)


def exact_first(rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """The random rule, with which all others are compared, and the others in their order; at most MOST_RULES."""
    return (RANDOM, *(rule for rule in rules if rule != RANDOM))[:MOST_RULES]
