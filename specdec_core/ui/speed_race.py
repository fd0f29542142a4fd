"""A race: the same prompt by plain and by speculative decoding, one after the other, each token with its time.

Recorded ones lie in assets/race (``scripts/record_race.py`` makes them) and need no models; a new one is a job in the
queue that all visitors share. Times are those of the decoding itself, without waiting for others.

Does not know: streamlit.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from pathlib import Path

from specdec_core.decoding import assemble, decode, plain
from specdec_core.models.protocol import Pair
from specdec_core.runner import Job
from specdec_core.trace import Block, Settings, Totals, Trace, to_plain, totals, trace_from_json

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "race"
SCHEMA = 1


class InvalidRace(ValueError):
    """A recorded race cannot be read. ``str(error)`` is one plain sentence."""


@dataclass(frozen=True)
class Race:
    """plain_tokens, plain_seconds: the target's own text, token by token, and what each took. The rest is in the trace:
    block_seconds holds the time of each of its blocks as a clock outside saw it. machine: where it was run.
    """

    trace: Trace
    block_seconds: tuple[float, ...]
    plain_tokens: tuple[str, ...]
    plain_seconds: tuple[float, ...]
    machine: str = ""

    @property
    def plain_ends(self) -> list[float]:
        """When each token of plain decoding was there, in seconds from the start."""
        return list(accumulate(self.plain_seconds))

    @property
    def block_ends(self) -> list[float]:
        """When each block was there."""
        return list(accumulate(self.block_seconds))

    @property
    def seconds(self) -> float:
        """When the slower of the two was done."""
        return max(sum(self.plain_seconds), sum(self.block_seconds))

    @property
    def totals(self) -> Totals:
        return totals(self.trace.blocks)

    @property
    def plain_rate(self) -> float:
        """Tokens per second of plain decoding."""
        return len(self.plain_tokens) / sum(self.plain_seconds)

    @property
    def block_rate(self) -> float:
        """Tokens per second of decoding in blocks."""
        return len(self.trace.emitted) / sum(self.block_seconds)

    @property
    def gain(self) -> float:
        """How many times as fast as plain decoding it was, per token."""
        return self.block_rate / self.plain_rate

    @property
    def cost(self) -> float:
        """A draft step's time over that of a target pass over one token: Leviathan's c, as measured here."""
        return measured_cost(self.totals, _median(self.plain_seconds[1:] or self.plain_seconds))

    @property
    def verify_cost(self) -> float:
        """A pass over a block's candidates, over a pass over one token: the formula takes it for 1."""
        verify = _median([b.seconds.get("verify", 0.0) for b in self.trace.blocks[1:] or self.trace.blocks])
        return verify / _median(self.plain_seconds[1:] or self.plain_seconds)


def measured_cost(found: Totals, target_pass: float) -> float:
    """Seconds per drafted token over ``target_pass`` seconds; 0 where nothing was drafted."""
    return found.seconds.get("draft", 0.0) / found.drafted / target_pass if found.drafted and target_pass else 0.0


def _median(values: list[float] | tuple[float, ...]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


# --- running --------------------------------------------------------------------------------------------------------


class _Runners:
    """Both decodings, step by step: each step says what came and how long it took."""

    def __init__(self, pair: Pair, settings: Settings) -> None:
        self.pair, self.settings = pair, settings
        self.tokens: list[str] = []
        self.plain_seconds: list[float] = []
        self.blocks: list[Block] = []
        self.block_seconds: list[float] = []

    def plain(self) -> Iterator[None]:
        """The target alone; one token a step."""
        steps = plain(self.pair, self.settings)
        while True:
            start = time.perf_counter()
            token = next(steps, None)
            if token is None:
                return
            self.plain_seconds.append(time.perf_counter() - start)
            self.tokens.append(self.pair.tokenizer.token_text(token))
            yield

    def speculative(self) -> Iterator[None]:
        """Draft and target; one block a step."""
        steps = decode(self.pair, self.settings)
        while True:
            start = time.perf_counter()
            block = next(steps, None)
            if block is None:
                return
            self.block_seconds.append(time.perf_counter() - start)
            self.blocks.append(block)
            yield

    def race(self, machine: str = "", title: str = "") -> Race:
        trace = assemble(self.pair, self.settings, self.blocks, title)
        return Race(trace, tuple(self.block_seconds), tuple(self.tokens), tuple(self.plain_seconds), machine)


def run(pair: Pair, settings: Settings, machine: str = "", title: str = "") -> Race:
    """A whole race at once. Raises InvalidPrompt for a prompt that cannot be continued."""
    runners = _Runners(pair, settings)
    for steps in (runners.plain(), runners.speculative()):
        for _ in steps:
            pass
    return runners.race(machine, title)


class RaceJob(Job):
    """A race in the queue: a few steps a turn. ``race`` is there once it has ended."""

    STEPS = 4

    def __init__(self, settings: Settings, models: str) -> None:
        super().__init__(settings, models)
        self.race: Race | None = None
        self._runners: _Runners | None = None
        self._left: list[Iterator[None]] = []

    @property
    def done(self) -> tuple[int, int]:
        """Tokens so far: of plain decoding, of decoding in blocks."""
        runners = self._runners
        if runners is None:
            return 0, 0
        return len(runners.tokens), sum(len(b.emitted) for b in list(runners.blocks))

    def advance(self) -> bool:
        """A few steps of the one that is running."""
        assert self.pair is not None
        if self._runners is None:
            self._runners = _Runners(self.pair, self.settings)
            self._left = [self._runners.plain(), self._runners.speculative()]
        for _ in range(self.STEPS):
            if not self._left:
                break
            if next(self._left[0], self) is self:
                self._left.pop(0)
        if not self._left and self.race is None:
            self.race = self._runners.race()
        return not self._left


# --- recorded -------------------------------------------------------------------------------------------------------


def names() -> list[str]:
    """The recorded races that are there."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


@lru_cache(maxsize=8)
def load(name: str) -> Race:
    """A recorded race; frozen, so all visitors share one. Raises InvalidRace."""
    if name not in names():
        raise InvalidRace(f"There is no recorded race named {name[:40]!r}.")
    try:
        return from_json((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise InvalidRace(f"The recorded race {name!r} cannot be read: get the repository again.") from error


def to_json(race: Race) -> str:
    """The race as JSON; times to the microsecond."""
    data = {
        "schema": SCHEMA,
        "machine": race.machine,
        "plain_tokens": list(race.plain_tokens),
        "plain_seconds": [round(x, 6) for x in race.plain_seconds],
        "block_seconds": [round(x, 6) for x in race.block_seconds],
        "trace": to_plain(race.trace),
    }
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"


def from_json(text: str) -> Race:
    """What ``to_json`` wrote. Raises ValueError where it contradicts itself."""
    data = json.loads(text)
    trace = trace_from_json(json.dumps(data["trace"]).encode())
    race = Race(
        trace,
        tuple(float(x) for x in data["block_seconds"]),
        tuple(str(x) for x in data["plain_tokens"]),
        tuple(float(x) for x in data["plain_seconds"]),
        str(data["machine"]),
    )
    times = (*race.block_seconds, *race.plain_seconds)
    if len(race.block_seconds) != len(trace.blocks) or len(race.plain_seconds) != len(race.plain_tokens):
        raise ValueError("the times do not fit the tokens")
    if data["schema"] != SCHEMA or not race.plain_tokens or not trace.blocks or not all(x > 0 for x in times):
        raise ValueError("there is a time or a token missing")
    return race
