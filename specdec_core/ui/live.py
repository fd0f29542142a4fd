"""The live page's running: ask for blocks, show progress, stop; recorded and uploaded traces without a model.

Does not know: how blocks are made (the runner does) or drawn (replay does).
"""

import streamlit as st

from specdec_core.acceptance import CORRECTIONS
from specdec_core.models import recorded
from specdec_core.runner import Busy, Job, State
from specdec_core.steps import Kind, steps
from specdec_core.strip import strip_data
from specdec_core.trace import InvalidTrace, Settings, Trace, trace_from_json
from specdec_core.ui.links import choice
from specdec_core.ui.literal import literal
from specdec_core.ui.live_settings import LiveSettings, controls, examples_menu, prompt_field
from specdec_core.ui.part import part
from specdec_core.ui.replay import show_trace
from specdec_core.ui.runners import runner
from specdec_core.ui.shell import notation
from specdec_core.ui.strip import token_strip
from specdec_core.ui.text_flow import text_flow
from specdec_core.words import Notation, _, ngettext

JOB = "live_job"
POLL_SECONDS = 0.5


def console() -> LiveSettings | None:
    """Prompt, settings, and the buttons that run, stop, or begin anew. Returns what is asked for."""
    prompt_field()
    with st.container(horizontal=True, vertical_alignment="center"):
        run = st.container(horizontal=True, width="content")
        asked = controls(notation())
        examples_menu()
    with run:
        _buttons(asked)
    if asked is not None:
        st.caption(literal(describe(asked.settings, notation())))
    return asked


def _buttons(asked: LiveSettings | None) -> None:
    job: Job | None = st.session_state.get(JOB)
    active = job is not None and job.active
    goes_on = job is not None and asked is not None and job.can_go_on and _same(job, asked)
    st.button(
        _("Next block") if goes_on else _("Run block"),
        type="primary",
        icon=":material/skip_next:",
        shortcut="B",
        key="run_block",
        disabled=active or asked is None,
        on_click=_run,
        args=(asked, 1),
    )
    st.button(
        _("Rest of the text") if goes_on else _("Run text"),
        icon=":material/fast_forward:",
        shortcut="T",
        key="run_text",
        disabled=active or asked is None,
        on_click=_run,
        args=(asked, None),
    )
    st.button(_("Stop"), icon=":material/stop:", key="stop", shortcut="S", disabled=not active, on_click=_stop)
    st.button(
        _("New text"), icon=":material/restart_alt:", key="new_text", disabled=job is None or active, on_click=_forget
    )


def _same(job: Job, asked: LiveSettings) -> bool:
    return job.settings == asked.settings and job.models == asked.models


def _run(asked: LiveSettings | None, blocks: int | None) -> None:
    if asked is None:
        return
    job: Job | None = st.session_state.get(JOB)
    if job is None or not (job.can_go_on and _same(job, asked)):
        job = Job(asked.settings, asked.models)
    try:
        runner().ask(job, blocks)
    except Busy as error:
        st.session_state["live_message"] = str(error)
        return
    st.session_state[JOB] = job
    st.session_state["block"] = len(job.blocks) + 1
    st.session_state["step"] = 0
    st.session_state["candidate"] = None


def _stop() -> None:
    job: Job | None = st.session_state.get(JOB)
    if job is not None:
        runner().stop(job)


def _forget() -> None:
    st.session_state.pop(JOB, None)


def results(asked: LiveSettings | None) -> None:
    """What the job has made so far: growing while it runs, step by step when it rests."""
    message = st.session_state.pop("live_message", None)
    if message:
        st.warning(message, icon=":material/hourglass_empty:")
    job: Job | None = st.session_state.get(JOB)
    if job is None:
        st.info(
            _("Press Run block. The first run loads the models, which takes some seconds; recorded texts need none."),
            icon=":material/lightbulb:",
        )
        return
    if job.active:
        part(_progress, "progress", POLL_SECONDS)
        return
    if job.state is State.FAILED:
        st.error(literal(job.error), icon=":material/error:")
    trace = job.trace()
    if trace is None:
        return
    if asked is not None and not _same(job, asked):
        st.warning(
            _("The settings have changed since. These blocks were made with: {settings}.").format(
                settings=literal(describe(job.settings, notation()))
            ),
            icon=":material/history:",
        )
    show_trace(trace, "live")


def _progress() -> None:
    job: Job | None = st.session_state.get(JOB)
    if job is None or not job.active:
        st.rerun()
    runner().look(job)
    n = len(job.blocks)
    if job.state is State.LOADING:
        st.info(_("Loading the models…"), icon=":material/hourglass_top:")
    elif n == 0 and (place := runner().place(job)) > 0:
        st.info(
            ngettext("{n} text is before yours.", "{n} texts are before yours.", place).format(n=place),
            icon=":material/groups:",
        )
    emitted = sum(len(b.emitted) for b in list(job.blocks))
    st.progress(
        min(1.0, emitted / job.settings.max_new_tokens),
        _("{n} of at most {most} tokens").format(n=emitted, most=job.settings.max_new_tokens),
    )
    trace = job.trace()
    if trace is None:
        return
    text_flow(trace.prompt, trace.blocks, "progress_flow")
    block = trace.blocks[-1]
    last = next(i for i, s in enumerate(steps(block)) if s.kind is Kind.COMMIT)
    data = strip_data(trace.verified_before(block.index), block, last, job.settings.acceptance, notation())
    token_strip(data, "progress_strip")


def describe(settings: Settings, n: Notation) -> str:
    """Settings in one line: what is on by default is left out."""
    rule = settings.acceptance
    parts = [
        f"{n.tau} = {settings.tau}",
        _("temperature {value:g}").format(value=settings.temperature),
        _(rule.spec.title).lower()
        + (f" {rule.spec.parameter.symbol} = {rule.parameter:g}" if rule.spec.parameter else ""),
        _("seed {value}").format(value=settings.seed),
        _("at most {value} tokens").format(value=settings.max_new_tokens),
    ]
    if settings.correction != "residual":
        parts.append(_("correction: {name}").format(name=_(CORRECTIONS[settings.correction].title).lower()))
    if settings.top_k:
        parts.append(_("top-k {value}").format(value=settings.top_k))
    if settings.top_p < 1:
        parts.append(_("top-p {value:g}").format(value=settings.top_p))
    return " · ".join([*parts, settings.pair])


def recorded_view() -> None:
    """A recorded text, chosen by name."""
    names = recorded.names()
    if not names:
        st.info(_("No recorded texts are installed."))
        return
    name = choice(_("Recorded text"), {x: _title(recorded.load(x)) for x in names}, "text", menu=True)
    trace = recorded.load(name)
    st.caption(literal(describe(trace.settings, notation())))
    part(lambda: show_trace(trace, "recorded"), "recorded_trace")


def _title(trace: Trace) -> str:
    return trace.title or trace.settings.prompt[:60]


def upload_view() -> None:
    """A trace from a file. It may come from anybody: it is checked before anything is shown."""
    file = st.file_uploader(_("A trace that was downloaded here (JSON)"), type=["json"], key="trace_file")
    if file is not None:
        try:
            st.session_state["uploaded"] = trace_from_json(file.getvalue())
        except InvalidTrace as error:
            st.error(literal(str(error)), icon=":material/error:")
            if "uploaded" in st.session_state:
                st.caption(_("Still shown: the trace that was read before."))
    trace: Trace | None = st.session_state.get("uploaded")
    if trace is None:
        return
    if not trace.blocks:
        st.info(_("This trace has no blocks."))
        return
    st.caption(literal(describe(trace.settings, notation())))
    show_trace(trace, "uploaded")
