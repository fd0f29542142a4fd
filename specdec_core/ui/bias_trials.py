"""Monte Carlo in the bias lab: tokens drawn under every rule, from 10 to a million, growing, to be stopped at any time.

A run belongs to one visitor, one place, one set of rules and one seed. The first AUTO trials are drawn at once; more
are drawn in slices of a fraction of a second, between which the page answers.

Does not know: where p and q come from.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import streamlit as st

from specdec_core.acceptance import Rule
from specdec_core.bias import rule_label
from specdec_core.figures.convergence import convergence, convergence_text
from specdec_core.numbers import probability
from specdec_core.simulation import Measure, Simulation, Snapshot, checkpoints, expected_error, simulate
from specdec_core.statistics import goodness_of_fit, verdict
from specdec_core.ui import bias_place
from specdec_core.ui.bias_place import Place
from specdec_core.ui.bias_rules import chosen_rules
from specdec_core.ui.charts import chart
from specdec_core.ui.lesson import begin_number
from specdec_core.ui.links import choice, whole_field
from specdec_core.ui.literal import literal
from specdec_core.ui.part import part
from specdec_core.ui.shell import notation, theme
from specdec_core.words import _

RUN, FRAGMENT = "lab_run", "lab_trials"
SIZES = (10, 100, 1_000, 10_000, 100_000, 1_000_000)
AUTO = 10_000
LAST_SEED = 99_999
_SLICE = 0.3
_TICK = 0.5


@dataclass
class Run:
    """A simulation in the making; ``snapshots`` goes on where it was left."""

    place: Place
    rules: tuple[Rule, ...]
    seed: int
    snapshots: Iterator[Snapshot]
    history: list[tuple[Measure, ...]] = field(default_factory=list)
    last: Snapshot | None = None
    growing: bool = False

    @classmethod
    def begin(cls, place: Place, rules: tuple[Rule, ...], seed: int) -> "Run":
        # Closer marks towards the end, so that a slice is never much longer than it should be.
        marks = sorted({*checkpoints(100_000), *(n for n in checkpoints(SIZES[-1], 15) if n > 100_000)})
        counted = [place.in_floats(rule) for rule in rules]
        return cls(place, rules, seed, simulate(place.p, place.q, counted, SIZES[-1], seed, marks=marks))

    @property
    def n(self) -> int:
        return self.last.n if self.last else 0

    def advance(self, n: int, seconds: float) -> None:
        """On to ``n`` trials, or as far as ``seconds`` allow; one slice at least."""
        end = time.monotonic() + seconds
        while self.n < n:
            self.last = next(self.snapshots)
            # Named by the rules as chosen: those calculated with may differ by a rounding.
            pairs = zip(self.last.measures, self.rules, strict=True)
            self.history.append(tuple(replace(m, rule=rule) for m, rule in pairs))
            if time.monotonic() > end:
                break

    def result(self, n: int) -> Simulation:
        """What there is, up to ``n`` trials. Counts are those of the last trial drawn."""
        assert self.last is not None
        kept = tuple(row for row in self.history if row[0].n <= n)
        return Simulation(self.rules, kept, self.last.counts)


def _run(place: Place, rules: tuple[Rule, ...], seed: int, n: int) -> Run:
    """The session's run, if it is of this place, these rules and this seed and not yet past ``n``; else a new one."""
    run: Run | None = st.session_state.get(RUN)
    if run is None or (run.place, run.rules, run.seed) != (place, rules, seed) or run.n > n:
        run = Run.begin(place, rules, seed)
        st.session_state[RUN] = run
        latest()["run"] = run
    return run


def latest() -> dict[str, Run]:
    """A box with the session's run under "run", once there is one. Files are made in a thread of their own, which
    knows nothing of sessions: they look into this box instead.
    """
    box: dict[str, Run] = st.session_state.setdefault("lab_run_box", {})
    return box


def trials(place: Place) -> None:
    """The section: how many, which seed, the curve, the verdicts. Draws itself again while a run grows."""
    run: Run | None = st.session_state.get(RUN)
    ticking = run is not None and run.growing

    def body() -> None:
        _body(place, ticking)

    part(body, FRAGMENT, _TICK if ticking else None)


def _body(place: Place, ticking: bool) -> None:
    n = _controls()
    seed = int(st.session_state.get("lab_seed") or 0)
    first = RUN not in st.session_state  # a link to a long run brings that run
    run = _run(place, chosen_rules(), seed, n)
    if st.session_state.pop("lab_grow", first and n > AUTO):
        run.growing = True
    if run.growing:
        run.advance(n, _SLICE)
        run.growing = run.n < n
    elif run.n < min(n, AUTO):
        run.advance(min(n, AUTO), 2.0)
    if run.growing != ticking:
        st.rerun()  # the timer is set, or taken away, by a run of the whole page
    _progress(run, n)
    _results(run, run.result(run.n))


def _controls() -> int:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        size = choice(
            _("Trials"),
            {str(n): f"{n:,}" for n in SIZES},
            "lab_n",
            str(AUTO),
            on_change=_grow,
        )
        begin_number("lab_seed", 0, 0, LAST_SEED)
        whole_field(_("Seed"), 0, LAST_SEED, key="lab_seed", width=130)
        st.button(_("Other draws"), icon=":material/casino:", key="lab_other", on_click=_next_seed)
    return int(size)


def _grow() -> None:
    st.session_state["lab_grow"] = True


def _next_seed() -> None:
    st.session_state["lab_seed"] = (int(st.session_state.get("lab_seed") or 0) + 1) % (LAST_SEED + 1)


def _stop() -> None:
    run: Run | None = st.session_state.get(RUN)
    if run is not None:
        run.growing = False


def _progress(run: Run, n: int) -> None:
    """How far it is, and the button that stops it or goes on."""
    if run.growing:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.progress(run.n / n, _("{done} of {all} trials").format(done=f"{run.n:,}", all=f"{n:,}"))
            st.button(_("Stop"), icon=":material/stop:", key="lab_stop", on_click=_stop)
    elif run.n < n:
        label = _("Go on to {n} trials").format(n=f"{n:,}")
        st.button(label, icon=":material/fast_forward:", key="lab_go_on", type="primary", on_click=_grow)


def _results(run: Run, done: Simulation) -> None:
    notes = notation()
    laws = [bias_place.law(run.place, rule).output for rule in run.rules]
    figure = convergence(done, run.place.p, laws, theme(), notes, max(done.trials, 100))
    chart(figure, "lab_convergence", convergence_text(done, run.place.p, notes))
    for sentence in verdicts(run, done):
        st.markdown(sentence)
    noise = expected_error(run.place.p, done.trials)
    st.caption(
        literal(
            _(
                "All rules see the same candidates and the same {r}. After {n} trials chance alone leaves a distance of"
                " about {noise}. Chi-square test, one false alarm in a thousand; outcomes expected fewer than five"
                " times share a bin."
            ).format(r=notes.r, n=f"{done.trials:,}", noise=probability(min(1.0, noise)))
        )
    )


def verdicts(run: Run, done: Simulation) -> list[str]:
    """Per rule, in markdown: what the test says of p."""
    out = []
    for rule, counts in zip(run.rules, done.counts, strict=True):
        test = goodness_of_fit(counts, run.place.p)
        icon = ":material/close:" if test.rejected else ":material/check:" if test.decidable else ":material/remove:"
        out.append(f"{icon} **{literal(rule_label(rule))}:** {literal(verdict(test, notation().p))}")
    return out
