"""Record races of the embedded pair, plain against speculative decoding of the same prompt, into assets/race.

    python -m scripts.record_race                # a few minutes on two free cores; run it again when the draft changes

Each race is run ROUNDS times on a machine that should have nothing else to do, and the fastest run of each of the two
is kept. tau is what the speed page advises for the alpha and the cost that a first run shows.
"""

import argparse
import os
import platform
from dataclasses import replace

from specdec_core.models.pairs import load_pair
from specdec_core.models.protocol import Pair
from specdec_core.theory import best_tau
from specdec_core.trace import Settings
from specdec_core.ui import speed_race
from specdec_core.ui.speed_race import Race, run, to_json

RACES = {
    "1-story": ("A story", Settings("Once upon a time, a small robot found", max_new_tokens=64, seed=1)),
    "2-answer": (
        "An answer, temperature 0",
        Settings(
            "<|im_start|>user\nHow can I sleep better?<|im_end|>\n<|im_start|>assistant\n",
            max_new_tokens=64,
            temperature=0.0,
            seed=1,
        ),
    ),
    "3-code": ("Code", Settings("def fibonacci(n):\n", max_new_tokens=64, seed=1)),
}
ROUNDS = 3


def advised(pair: Pair, settings: Settings) -> Settings:
    """The settings with the tau that alpha and cost of a first run ask for, between 1 and 8."""
    first = run(pair, settings)
    alpha = first.totals.accepted_per_judged
    return replace(settings, tau=min(8, max(1, best_tau(alpha, first.cost))))


def fastest(pair: Pair, settings: Settings, title: str, machine: str, rounds: int) -> Race:
    """The fastest of ``rounds`` runs of each of the two. The same seed makes the same texts every time, and whatever
    else a machine does can only slow one of them down.
    """
    races = [run(pair, settings, machine, title) for _ in range(rounds)]
    plain = min(races, key=lambda x: sum(x.plain_seconds))
    blocks = min(races, key=lambda x: sum(x.block_seconds))
    return replace(blocks, plain_tokens=plain.plain_tokens, plain_seconds=plain.plain_seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tau", type=int, default=0, help="candidates per block; 0 takes the page's own advice")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--only", choices=list(RACES), help="record this one alone")
    given = parser.parse_args()
    pair = load_pair("embedded")
    info = pair.target.info
    cores = int(os.environ.get("OMP_NUM_THREADS", "0")) or len(os.sched_getaffinity(0))
    machine = f"{platform.machine()}, {info.dtype}, on {cores} of {os.cpu_count()} cores"
    speed_race.FOLDER.mkdir(parents=True, exist_ok=True)
    for name, (title, wanted) in RACES.items():
        if given.only and name != given.only:
            continue

        settings = replace(wanted, tau=given.tau) if given.tau else advised(pair, wanted)
        race = fastest(pair, settings, title, machine, given.rounds)
        (speed_race.FOLDER / f"{name}.json").write_text(to_json(race), encoding="utf-8")
        print(
            f"{name:10} tau {settings.tau}, alpha {race.totals.accepted_per_judged:.2f}, cost {race.cost:.2f}, "
            f"verify {race.verify_cost:.2f}, plain {race.plain_rate:.1f}/s, blocks {race.block_rate:.1f}/s, "
            f"gain {race.gain:.2f}"
        )


if __name__ == "__main__":
    main()
