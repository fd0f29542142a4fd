"""The runs that the speed page measures: recorded texts, recorded races, and the text the visitor made last.

Does not know: figures.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from specdec_core.figures.speed import Run
from specdec_core.models import recorded
from specdec_core.runner import Job
from specdec_core.trace import InvalidTrace, Totals, Trace, totals
from specdec_core.ui import speed_race
from specdec_core.ui.live import JOB
from specdec_core.ui.speed_race import InvalidRace, Race
from specdec_core.words import _


@dataclass(frozen=True)
class Measured:
    """One run: its whole blocks only, because a block cut short by the budget says nothing of tau."""

    title: str
    trace: Trace
    whole: Totals
    counts: tuple[int, ...]
    race: Race | None = None

    @property
    def tau(self) -> int:
        return self.trace.settings.tau

    @property
    def alpha(self) -> float:
        """Accepted over judged."""
        return self.whole.accepted_per_judged

    @property
    def figure(self) -> Run:
        """What the figures ask for."""
        return Run(self.title, self.alpha, self.tau, self.whole.tokens_per_block, self.counts)


def measure(trace: Trace, title: str, race: Race | None = None) -> Measured | None:
    """The run's measures; None where it has no whole block."""
    tau = trace.settings.tau
    blocks = [b for b in trace.blocks if b.tau == tau and not b.ends]
    if not blocks:
        return None
    counts = [0] * (tau + 1)
    for block in blocks:
        counts[block.n_a] += 1
    return Measured(title, trace, totals(blocks), tuple(counts), race)


def races() -> dict[str, Race]:
    """The recorded races by name; damaged ones are left out."""
    out = {}
    for name in speed_race.names():
        try:
            out[name] = speed_race.load(name)
        except InvalidRace:
            continue
    return out


def runs() -> Mapping[str, Measured]:
    """All runs by a name that can stand in a link: own, races, recorded texts with enough blocks to count."""
    found: dict[str, Measured | None] = {}
    job: Job | None = st.session_state.get(JOB)
    trace = job.trace() if job is not None else None
    if trace is not None:
        found["own"] = measure(trace, _("Your last text"))
    for name, race in races().items():
        found[f"race-{name}"] = measure(race.trace, race_title(race), race)
    for name in recorded.names():
        try:
            text = recorded.load(name)
        except InvalidTrace:
            continue
        found[f"text-{name}"] = measure(text, text.title or text.settings.prompt[:40])
    return {name: x for name, x in found.items() if x is not None and (name == "own" or x.whole.blocks >= 4)}


def race_title(race: Race) -> str:
    """A race's name on the screen."""
    return _(race.trace.title) if race.trace.title else race.trace.settings.prompt[:40]
