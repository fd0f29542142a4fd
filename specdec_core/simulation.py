"""Monte Carlo of one emitted token: draft, judge, correct, a million times, under several rules at once.

The verdicts come from ``Rule.accepts`` and the tokens from ``distributions.draw_many``: the decoder's own code. All
rules see the same candidates, the same r_t and the same uniforms for the correction (common random numbers), so that a
difference between two rules is the rules' and not luck. Only histograms are kept.

Does not know: models, texts of more than one token, the screen.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from specdec_core.acceptance import RANDOM, Rule, output_law
from specdec_core.distributions import SUM_TOLERANCE, Array, check_pair, draw_many, total_variation, uniforms

Counts = NDArray[np.int64]

TRIALS = 1_000_000
#: Trials per step of the arithmetic. Fits a core's second-level cache, which is worth a factor of two.
CHUNK = 1 << 16


@dataclass(frozen=True)
class Measure:
    """One rule after ``n`` trials. tv_target = TV(empirical law, p); tv_law = TV(empirical law, the rule's own law)."""

    rule: Rule
    n: int
    accepted: int
    tv_target: float
    tv_law: float

    @property
    def acceptance(self) -> float:
        """Accepted candidates over trials."""
        return self.accepted / self.n


@dataclass(frozen=True)
class Snapshot:
    """All rules after the same ``n`` trials. counts: per rule how often each token was emitted, shape ``(V,)``."""

    n: int
    measures: tuple[Measure, ...]
    counts: tuple[Counts, ...]


@dataclass(frozen=True)
class Simulation:
    """A run, complete or stopped early: the measures at every checkpoint reached, and the counts at the last one."""

    rules: tuple[Rule, ...]
    history: tuple[tuple[Measure, ...], ...]
    counts: tuple[Counts, ...]

    @property
    def trials(self) -> int:
        """How many trials each rule has behind it."""
        return self.history[-1][0].n if self.history else 0

    def of(self, index: int) -> tuple[Measure, ...]:
        """The measures of rule ``index``, one per checkpoint."""
        return tuple(row[index] for row in self.history)


def checkpoints(trials: int, per_decade: int = 5) -> list[int]:
    """Numbers of trials from 10 to ``trials``, evenly spaced on a logarithmic scale; ``trials`` itself is the last."""
    if trials < 1:
        raise ValueError(f"trials must be 1 or more, not {trials}.")
    steps = round(per_decade * np.log10(max(trials, 10) / 10)) + 1
    marks = {round(10 ** (1 + k / per_decade)) for k in range(steps)}
    return sorted({m for m in marks if m < trials} | {trials})


def simulate(
    p: Array,
    q: Array,
    rules: Sequence[Rule] = (RANDOM,),
    trials: int = TRIALS,
    seed: int = 0,
    chunk: int = CHUNK,
    marks: Sequence[int] | None = None,
) -> Iterator[Snapshot]:
    """Emit ``trials`` tokens under each rule; yields at growing checkpoints, so that a caller can show and stop.

    p, q: shape ``(V,)``. marks: numbers of trials at which to yield (default ``checkpoints(trials)``). The same seed
    gives the same trials whatever ``chunk`` is, and the first n trials of a longer run are those of a shorter one.
    Memory: ``O(chunk + V * len(rules))``.

    Raises InvalidDistribution or ValueError at once, before the first snapshot is asked for.
    """
    _check(p, q)
    if not rules:
        raise ValueError("rules must name at least one rule.")
    if chunk < 1:
        raise ValueError(f"chunk must be 1 or more, not {chunk}.")
    stops = checkpoints(trials) if marks is None else sorted({int(m) for m in marks if 0 < m <= trials})
    return _run(p, q, tuple(rules), stops, _Streams.from_seed(seed), chunk)


def collect(snapshots: Iterable[Snapshot]) -> Simulation:
    """All that ``simulate`` yields, without the histograms in between. Raises ValueError when that is nothing."""
    history = []
    last = None
    for last in snapshots:
        history.append(last.measures)
    if last is None:
        raise ValueError("The simulation was stopped before its first checkpoint.")
    return Simulation(tuple(m.rule for m in last.measures), tuple(history), last.counts)


def history_csv(done: Simulation) -> str:
    """The measures as CSV, one row per checkpoint and rule."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["trials", "rule", "parameter", "correction", "accepted", "tv_target", "tv_law"])
    for m in (x for row in done.history for x in row):
        number = "" if m.rule.parameter is None else m.rule.parameter
        writer.writerow([m.n, m.rule.name, number, m.rule.correction, m.accepted, m.tv_target, m.tv_law])
    return out.getvalue()


def _check(p: Array, q: Array) -> None:
    """Arrays of a whole vocabulary are looked at in one sweep; only what is wrong is looked at entry by entry."""
    for values in (p, q):
        fine = values.ndim == 1 and values.size and np.isfinite(values).all() and values.min() >= 0
        if not fine or abs(values.sum() - 1) > SUM_TOLERANCE:
            check_pair(p.tolist(), q.tolist())
    if p.size != q.size:
        check_pair(p.tolist(), q.tolist())


@dataclass
class _Streams:
    """Candidates, r_t and corrections each have a stream; were two of them one, the law would be biased."""

    draft: np.random.Generator
    r: np.random.Generator
    correction: np.random.Generator

    @classmethod
    def from_seed(cls, seed: int) -> "_Streams":
        # Spawned as the decoder spawns its own: trial 1 is the first token of a decoding with the same seed.
        return cls(*(np.random.Generator(np.random.PCG64(s)) for s in np.random.SeedSequence(seed).spawn(3)))


class _Tally:
    """One rule's running histogram."""

    def __init__(self, p: Array, q: Array, rule: Rule) -> None:
        self.rule, self.p = rule, p
        self.law = output_law(p, q, rule).output
        self.correction = rule.correct(p, q)
        self.counts: Counts = np.zeros(p.size, dtype=np.int64)
        self.accepted = 0

    def add(self, x: NDArray[np.intp], px: Array, qx: Array, r: Array, u: Array) -> None:
        kept = self.rule.accepts(px, qx, r)
        self.accepted += int(np.count_nonzero(kept))
        # Sorting before the search changes no draw, only the order in which they are found.
        corrected = draw_many(self.correction, np.sort(u[~kept]))
        self.counts += np.bincount(x[kept], minlength=self.p.size)
        self.counts += np.bincount(corrected, minlength=self.p.size)

    def measure(self, n: int) -> Measure:
        empirical = self.counts / n
        return Measure(
            self.rule, n, self.accepted, total_variation(empirical, self.p), total_variation(empirical, self.law)
        )


def _run(
    p: Array, q: Array, rules: tuple[Rule, ...], stops: list[int], streams: _Streams, chunk: int
) -> Iterator[Snapshot]:
    tallies = [_Tally(p, q, rule) for rule in rules]
    done = 0
    for stop in stops:
        while done < stop:
            n = min(chunk, stop - done)
            _step(p, q, tallies, streams, n)
            done += n
        yield Snapshot(done, tuple(t.measure(done) for t in tallies), tuple(_frozen(t.counts) for t in tallies))


def _step(p: Array, q: Array, tallies: list[_Tally], streams: _Streams, n: int) -> None:
    """``n`` trials for every rule. They are gone through in the order of their candidates: neighbours in memory."""
    u = uniforms(streams.draft, n)
    order = np.argsort(u)
    x = draw_many(q, u[order])
    r = uniforms(streams.r, n)[order]
    correction = uniforms(streams.correction, n)[order]
    px, qx = p[x], q[x]
    for tally in tallies:
        tally.add(x, px, qx, r, correction)


def _frozen(counts: Counts) -> Counts:
    copy = counts.copy()
    copy.flags.writeable = False
    return copy


# --- what chance alone does -----------------------------------------------------------------------------------------


def expected_error(law: Array, n: int) -> float:
    """E[TV(empirical law of n draws, law)]: how far off an exact rule looks after ``n`` trials, by chance alone.

    Half the sum of the binomial's mean absolute deviations (de Moivre 1730):
    E|X - n a| = 2 k C(n, k) a^k (1 - a)^(n - k + 1) with k = floor(n a) + 1. Falls as 1/sqrt(n) once every token that
    matters has been seen a few times.
    """
    a = law[(law > 0) & (law < 1)]
    k = np.floor(n * a) + 1
    seen = k > 1
    # k = 1, a token not expected even once, is most of a vocabulary, and needs no binomial coefficient.
    rare = a[~seen]
    total = float(np.sum(2 * n * rare * np.exp(n * np.log1p(-rare))))
    common, k = a[seen], k[seen]
    log = np.log(2 * k) + _log_choose(n, k) + k * np.log(common) + (n - k + 1) * np.log1p(-common)
    return (total + float(np.exp(log).sum())) / (2 * n)


def _log_choose(n: int, k: Array) -> Array:
    return _log_factorial(np.array([float(n)])) - _log_factorial(k) - _log_factorial(n - k)


def _log_factorial(k: Array) -> Array:
    """log k! for whole numbers: a table up to 255, Stirling's series above (error below 1e-12 there)."""
    x = np.maximum(k, 256.0)
    series = x * np.log(x) - x + 0.5 * np.log(2 * np.pi * x) + 1 / (12 * x) - 1 / (360 * x**3)
    return np.where(k < 256, _factorials()[np.minimum(k, 255).astype(np.intp)], series)


@lru_cache(maxsize=1)
def _factorials() -> Array:
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1.0, 256.0)))])
