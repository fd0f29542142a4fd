"""The speed page's race: both texts grow at the pace at which they were made; start, pause, restart, to the end.

The clock is the server's; a timer draws both texts again a few times a second while the race is on.

Does not know: how a race is run.
"""

import time
from bisect import bisect_right

import streamlit as st

from specdec_core.models.pairs import describe
from specdec_core.runner import Busy, State
from specdec_core.trace import Settings
from specdec_core.ui.links import choice
from specdec_core.ui.literal import literal
from specdec_core.ui.part import part
from specdec_core.ui.runners import runner
from specdec_core.ui.shell import notation
from specdec_core.ui.speed_race import Race, RaceJob
from specdec_core.ui.speed_runs import race_title, races
from specdec_core.ui.text_flow import text_flow
from specdec_core.words import _

JOB, CLOCK, AT = "speed_race_job", "speed_race_started", "speed_race_at"
TICK = 0.25
MAX_PROMPT = 500
LIVE = "live"


def race_section() -> Race | None:
    """The race in view, with its controls; None where there is none yet."""
    known = races()
    titles = {name: race_title(x) for name, x in known.items()} | {LIVE: _("Race now")}
    name = choice(_("Race"), titles, "speed_race")
    race = _live() if name == LIVE else known[name]
    if race is None:
        return None
    if st.session_state.get("speed_race_shown") != id(race):
        st.session_state["speed_race_shown"] = id(race)
        st.session_state[AT], st.session_state[CLOCK] = race.seconds, None
    _buttons(race)
    playing = st.session_state[CLOCK] is not None
    part(lambda: _both(race, playing), "speed_race_clock", TICK if playing else None)
    return race


def _now(race: Race) -> float:
    """Seconds into the race."""
    started: float | None = st.session_state[CLOCK]
    at = st.session_state[AT] if started is None else time.monotonic() - started
    return min(race.seconds, float(at))


def _buttons(race: Race) -> None:
    playing = st.session_state[CLOCK] is not None
    ended = not playing and st.session_state[AT] >= race.seconds
    with st.container(horizontal=True):
        if playing:
            st.button(
                _("Pause"), icon=":material/pause:", key="race_pause", shortcut="P", on_click=_pause, args=(race,)
            )
        else:
            label = _("Start the race") if ended else _("Go on")
            st.button(
                label,
                icon=":material/play_arrow:",
                key="race_play",
                type="primary",
                shortcut="P",
                on_click=_play,
                args=(0.0 if ended else float(st.session_state[AT]),),
            )
        st.button(_("Restart"), icon=":material/restart_alt:", key="race_restart", on_click=_play, args=(0.0,))
        st.button(
            _("To the end"), icon=":material/skip_next:", key="race_end", disabled=ended, on_click=_end, args=(race,)
        )


def _play(at: float) -> None:
    st.session_state[CLOCK] = time.monotonic() - at


def _pause(race: Race) -> None:
    st.session_state[AT] = _now(race)
    st.session_state[CLOCK] = None


def _end(race: Race) -> None:
    st.session_state[AT], st.session_state[CLOCK] = race.seconds, None


def _both(race: Race, playing: bool) -> None:
    at = _now(race)
    if playing and at >= race.seconds:
        _end(race)
        st.rerun()
    left, right = st.columns(2)
    with left.container(border=True, height="stretch"):
        n = bisect_right(race.plain_ends, at + 1e-9)
        _head(_("Plain: the target alone"), n, len(race.plain_tokens), min(at, race.plain_ends[-1]))
        prompt = "".join(t.text for t in race.trace.prompt)
        st.markdown(f":gray[{literal(prompt)}]{literal(''.join(race.plain_tokens[:n]))}")
    with right.container(border=True, height="stretch"):
        blocks = race.trace.blocks[: bisect_right(race.block_ends, at + 1e-9)]
        n = sum(len(b.emitted) for b in blocks)
        title = _("In blocks: draft and target, {tau} = {n}").format(tau=notation().tau, n=race.trace.settings.tau)
        _head(title, n, len(race.trace.emitted), min(at, race.block_ends[-1]))
        text_flow(race.trace.prompt, blocks, "speed_race_flow")


def _head(title: str, n: int, all_of_them: int, seconds: float) -> None:
    st.markdown(f"**{literal(title)}**")
    rate = n / seconds if seconds > 0 else 0.0
    words = _("{n} of {all} tokens in {seconds} s: {rate} tokens per second")
    text = words.format(n=n, all=all_of_them, seconds=f"{seconds:.1f}", rate=f"{rate:.1f}")
    st.progress(n / max(1, all_of_them), text)


def race_words(race: Race) -> str:
    """Who won, by how much, and why the two texts are not the same; true for every race."""
    words = {"gain": f"{race.gain:.2f}", "loss": f"{1 / race.gain:.2f}", "passes": len(race.trace.blocks)}
    words |= {"tokens": len(race.trace.emitted)}
    if race.gain > 1.02:
        first = _(
            "Per token, decoding in blocks was {gain} times as fast: {tokens} tokens from {passes} passes of the"
            " target."
        )
    elif race.gain < 0.98:
        first = _(
            "Per token, plain decoding was {loss} times as fast: the {passes} passes that gave {tokens} tokens, with"
            " the draft's own work, took longer than one pass per token."
        )
    else:
        first = _("Per token both were about as fast: {tokens} tokens from {passes} passes of the target.")
    if race.trace.settings.temperature == 0:
        second = _("At temperature 0 both texts are the same but for the last digits of the arithmetic.")
    else:
        second = _("The two texts differ, because the draws differ; both follow the target's distribution.")
    return f"{first.format(**words)} {second}"


# --- a race of one's own --------------------------------------------------------------------------------------------


def _live() -> Race | None:
    known = {x.name: x for x in describe() if x.ready or x.name == "embedded"}
    pair = known[choice(_("Models"), {x.name: x.title for x in known.values()}, "speed_pair", menu=True)]
    if not pair.ready:
        st.info(literal(pair.problem or _("These models are not installed.")), icon=":material/download:")
        return None
    default = "The best way to learn a language is"
    prompt = st.text_input(_("Prompt"), default, key="speed_prompt", bind="query-params", max_chars=MAX_PROMPT)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        tau = choice(
            _("Candidates per block, {tau}").format(tau=notation().tau),
            {str(n): str(n) for n in range(1, 9)},
            "speed_tau",
            "4",
        )
        heat = choice(_("Temperature"), {"1": "1", "0.7": "0.7", "0": "0"}, "speed_heat")
    settings = Settings(
        (prompt or "").strip() or " ", pair.name, tau=int(tau), max_new_tokens=48, temperature=float(heat)
    )
    job: RaceJob | None = st.session_state.get(JOB)
    active = job is not None and job.active
    with st.container(horizontal=True):
        st.button(
            _("Run both"),
            type="primary",
            icon=":material/sports_score:",
            key="race_run",
            disabled=active or not (prompt or "").strip(),
            on_click=_ask,
            args=(settings,),
        )
        st.button(_("Stop"), icon=":material/stop:", key="race_stop", disabled=not active, on_click=_stop)
    return _result(job, settings)


def _ask(settings: Settings) -> None:
    job = RaceJob(settings, f"{settings.pair}|automatic|automatic")
    try:
        runner().ask(job, None)
    except Busy as error:
        st.session_state["speed_race_message"] = str(error)
        return
    st.session_state[JOB] = job


def _stop() -> None:
    job: RaceJob | None = st.session_state.get(JOB)
    if job is not None:
        runner().stop(job)


def _result(job: RaceJob | None, settings: Settings) -> Race | None:
    message = st.session_state.pop("speed_race_message", None)
    if message:
        st.warning(literal(message), icon=":material/hourglass_empty:")
    if job is None:
        st.caption(_("First the one, then the other, alone on the machine; then both are shown side by side."))
        return None
    if job.active:
        part(_progress, "speed_race_progress", 2 * TICK)
        return None
    if job.state is State.FAILED:
        st.error(literal(job.error), icon=":material/error:")
    if job.race is None:
        st.caption(_("This race was stopped before it was over."))
        return None
    if job.settings != settings:
        text = _("The settings have changed since. This race was run with the ones before.")
        st.warning(text, icon=":material/history:")
    return job.race


def _progress() -> None:
    job: RaceJob | None = st.session_state.get(JOB)
    if job is None or not job.active:
        st.rerun()
    runner().look(job)
    if job.state is State.LOADING:
        st.info(_("Loading the models…"), icon=":material/hourglass_top:")
    plain, blocks = job.done
    most = 2 * job.settings.max_new_tokens
    text = _("Plain: {plain} tokens; in blocks: {blocks}").format(plain=plain, blocks=blocks)
    st.progress(min(1.0, (plain + blocks) / most), text)
