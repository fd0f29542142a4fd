"""How fast the Monte Carlo is, and how many times faster than transformers' own function called in a loop.

    python -m benchmarks.simulation [--trials 1000000] [--loop 200] [--json FILE]

Prints a table; --json writes the same as JSON. Both ways emit one token per trial over the same p and q, in the same
run and on the same threads. Every time is the median of several.
"""

import argparse
import json
import os
import platform
import resource
import statistics
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from specdec_core import contexts
from specdec_core.acceptance import Rule
from specdec_core.bias import compare, sweep
from specdec_core.distributions import Array, probabilities
from specdec_core.simulation import collect, simulate

VOCABULARY = 49_152
REPEATS = 5


def place() -> tuple[str, Array, Array]:
    """(name, p, q): a recorded context where there is one, else random logits of the same size."""
    recorded = contexts.contexts()
    if recorded:
        middle = recorded[len(recorded) // 2]
        return middle.name, *contexts.pair_at(middle.name)
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 2.6, VOCABULARY)
    return "random logits", probabilities(logits), probabilities(0.9 * logits + rng.normal(0, 1.2, VOCABULARY))


def median_seconds(
    call: Callable[[], Any], repeats: int = REPEATS, clock: Callable[[], float] = time.perf_counter
) -> float:
    """Seconds of the middle one of ``repeats`` calls, after one that does not count."""
    call()
    times = []
    for _ in range(repeats):
        start = clock()
        call()
        times.append(clock() - start)
    return statistics.median(times)


def theirs_per_trial(p: Array, q: Array, loop: int, clock: Callable[[], float]) -> float:
    """Seconds per trial, by ``clock``, of transformers' ``_speculative_sampling`` for one drawn candidate.

    With one thread, which is its best case here: arrays this small are not worth sharing between cores, and on a busy
    machine waiting for the other core costs a hundred times more than the work.
    """
    import torch
    from transformers.generation.utils import _speculative_sampling

    with np.errstate(divide="ignore"):
        draft = torch.tensor(np.log(q), dtype=torch.float32)[None, None]
        # It wants the target's logits at the candidate and at the bonus position.
        target = torch.tensor(np.log(p), dtype=torch.float32)[None, None].repeat(1, 2, 1)
    law = draft.softmax(-1)[0]
    torch.manual_seed(0)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)

    def trials() -> None:
        for _ in range(loop):
            candidate = torch.multinomial(law, 1)
            _speculative_sampling(candidate, draft, 1, target)

    try:
        return median_seconds(trials, 3, clock) / loop
    finally:
        torch.set_num_threads(threads)


def memory(p: Array, q: Array, trials: int) -> int:
    """Bytes that Python and numpy held at most while simulating."""
    tracemalloc.start()
    collect(simulate(p, q, [Rule()], trials))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def measure(trials: int, loop: int) -> dict[str, Any]:
    """All figures of one run."""
    name, p, q = place()
    several = [Rule(), Rule("fixed"), Rule("lenient"), Rule("always"), Rule("never")]
    one = median_seconds(lambda: collect(simulate(p, q, [Rule()], trials)))
    theirs = theirs_per_trial(p, q, loop, time.perf_counter)
    # Both run on one thread, so the processor's own time tells them apart on a machine that is busy with other things.
    one_cpu = median_seconds(lambda: collect(simulate(p, q, [Rule()], trials)), clock=time.process_time)
    theirs_cpu = theirs_per_trial(p, q, loop, time.process_time)
    return {
        "place": name,
        "vocabulary": p.size,
        "alpha": float(np.minimum(p, q).sum()),
        "trials": trials,
        "seconds_one_rule": one,
        "seconds_five_rules": median_seconds(lambda: collect(simulate(p, q, several, trials)), 3),
        "microseconds_per_trial": 1e6 * one / trials,
        "transformers_microseconds_per_trial": 1e6 * theirs,
        "times_faster_than_transformers": theirs / (one / trials),
        "cpu_seconds_one_rule": one_cpu,
        "transformers_cpu_microseconds_per_trial": 1e6 * theirs_cpu,
        "times_faster_by_cpu_time": theirs_cpu / (one_cpu / trials),
        "peak_bytes": memory(p, q, trials),
        "peak_bytes_a_tenth_of_the_trials": memory(p, q, trials // 10),
        "seconds_sweep_101_thresholds": median_seconds(lambda: sweep(p, q)),
        "seconds_compare_three_rules": median_seconds(lambda: compare(p, q, several[:3])),
        "peak_resident_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "machine": f"{platform.machine()}, {_cores()} cores, numpy {np.__version__}",
    }


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=1_000_000)
    parser.add_argument("--loop", type=int, default=200, help="calls of transformers' function per measurement")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    found = measure(given.trials, given.loop)
    width = max(map(len, found))
    for key, value in found.items():
        shown = f"{value:,.4g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else value
        print(f"{key.replace('_', ' '):{width}}  {shown}")
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
