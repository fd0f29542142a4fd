"""The bias lab with models at hand: a place in a visitor's own prompt, and texts made on demand.

The models work in the queue's thread; the page only looks, twice a second, and can be left at any time.

Does not know: how p, q and texts are made (``bias_jobs`` does).
"""

import streamlit as st

from specdec_core.figures.convergence import text_curves, text_curves_text
from specdec_core.models.pairs import PairInfo, describe
from specdec_core.runner import Busy, Job, State
from specdec_core.trace import Settings
from specdec_core.ui.bias_jobs import MOST_RULES, Asked, PlaceJob, TextsJob, exact_first
from specdec_core.ui.bias_pick import alpha_words, show_context, temperature
from specdec_core.ui.bias_place import Place
from specdec_core.ui.bias_rules import chosen_rules
from specdec_core.ui.bias_texts import recorded_study, show_study
from specdec_core.ui.charts import chart
from specdec_core.ui.lesson import begin_number
from specdec_core.ui.links import check_link, choice, whole, whole_field
from specdec_core.ui.literal import literal
from specdec_core.ui.part import part
from specdec_core.ui.runners import runner
from specdec_core.ui.shell import notation, theme
from specdec_core.words import _, ngettext

PLACE_JOB, TEXTS_JOB = "lab_place_job", "lab_texts_job"
POLL_SECONDS = 0.5
MAX_PROMPT = 1000
DEFAULT_PROMPT = "Once upon a time, a small robot found"


def _pair(key: str) -> PairInfo | None:
    """Which models; None, with a plain word, where the chosen ones are not there."""
    known = {x.name: x for x in describe() if x.ready or x.name == "embedded"}
    name = choice(_("Models"), {x.name: x.title for x in known.values()}, key, menu=True)
    found = known[name]
    if not found.ready:
        st.info(
            literal(found.problem or _("These models are not installed."))
            + "  \n"
            + _("Real text, recorded, and numbers by hand work without any models."),
            icon=":material/download:",
        )
        return None
    return found


def _ask(job: Job, key: str) -> None:
    try:
        if isinstance(job, TextsJob):
            job.enter()
        runner().ask(job, None)
    except Busy as error:
        st.session_state[f"{key}_message"] = str(error)
        return
    st.session_state[key] = job


def _message(key: str) -> None:
    message = st.session_state.pop(f"{key}_message", None)
    if message:
        st.warning(literal(message), icon=":material/hourglass_empty:")


def _waiting(job: Job) -> None:
    """What is going on before the first result."""
    place = runner().place(job)
    if job.state is State.LOADING:
        st.info(_("Loading the models…"), icon=":material/hourglass_top:")
    elif place > 0:
        text = ngettext("{n} text is before yours.", "{n} texts are before yours.", place).format(n=place)
        st.info(text, icon=":material/groups:")
    else:
        st.info(_("The models are at work…"), icon=":material/hourglass_top:")


# --- a place --------------------------------------------------------------------------------------------------------


def live_place() -> Place | None:
    """p and q of the token that follows a prompt, from real models."""
    prompt = st.text_area(
        _("Prompt"), DEFAULT_PROMPT, key="lab_prompt", bind="query-params", max_chars=MAX_PROMPT, height=80
    )
    pair = _pair("lab_pair")
    warmth = temperature()
    if pair is None:
        return None
    asked = Asked(prompt or "", pair.name, _position(), warmth)
    job: PlaceJob | None = st.session_state.get(PLACE_JOB)
    active = job is not None and job.active
    fresh = job is not None and job.asked == asked
    label = _("Ask the models again") if job and not fresh else _("Ask the models")
    st.button(
        label,
        type="primary" if not fresh else "secondary",
        icon=":material/play_arrow:",
        key="lab_ask",
        disabled=active or not asked.prompt.strip(),
        on_click=_ask_place,
        args=(asked,),
    )
    _message(PLACE_JOB)
    return _place_of(job, fresh)


def _position() -> int:
    """After how many tokens of the prompt; 0 at the end. Known once the prompt was cut into tokens."""
    check_link(lab_at=whole(0, 9999))
    begin_number("lab_at", 0, 0, 9999)
    return whole_field(_("After how many tokens of the prompt (0: all)"), 0, 9999, key="lab_at")


def _ask_place(asked: Asked) -> None:
    _ask(PlaceJob(asked), PLACE_JOB)


def _place_of(job: PlaceJob | None, fresh: bool) -> Place | None:
    if job is None:
        st.caption(_("The first time the models are loaded, which takes some seconds."))
        return None
    if job.active:
        part(_place_progress, "lab_place_progress", POLL_SECONDS)
        return None
    if job.state is State.FAILED:
        st.error(literal(job.error), icon=":material/error:")
    if job.place is None or job.pair is None:
        return None
    if not fresh:
        st.warning(
            _("The settings have changed since. Below is what the models said before."), icon=":material/history:"
        )
    end = job.asked.position or len(job.tokens)
    show_context("".join(job.tokens[:end]))
    st.caption(literal(alpha_words(job.place, job.pair.draft.info.name, job.pair.target.info.name)))
    return job.place


def _place_progress() -> None:
    job: PlaceJob | None = st.session_state.get(PLACE_JOB)
    if job is None or not job.active:
        st.rerun()
    runner().look(job)
    _waiting(job)


# --- texts ----------------------------------------------------------------------------------------------------------


def texts_section() -> None:
    """What the rules do to whole texts: recorded, or made now."""
    st.markdown(
        _(
            "One token's bias is one thing. A text is made of many, each of which changes what comes after it. Here the"
            " same prompt was continued again and again under each rule."
        )
    )
    way = choice(_("Texts"), {"recorded": _("Recorded"), "live": _("Make some now")}, "lab_texts")
    if way == "recorded":
        study = recorded_study()
        if study is not None:
            show_study(study, "lab_rec")
        return
    _live_texts()


def _live_texts() -> None:
    pair = _pair("lab_texts_pair")
    prompt = st.text_input(
        _("Prompt to continue"), DEFAULT_PROMPT, key="lab_texts_prompt", bind="query-params", max_chars=MAX_PROMPT
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        texts = choice(_("Texts per rule"), {str(n): str(n) for n in (4, 8, 16, 32, 64)}, "lab_many", "16")
        tokens = choice(_("Tokens per text"), {str(n): str(n) for n in (4, 8, 12, 16)}, "lab_long", "12")
    if pair is None:
        return
    job: TextsJob | None = st.session_state.get(TEXTS_JOB)
    settings = Settings((prompt or "").strip() or " ", pair.name, max_new_tokens=int(tokens))
    wanted = exact_first(chosen_rules())
    st.caption(
        _("Under the rules chosen above, at most {n}; the random rule is always among them.").format(n=MOST_RULES)
    )
    active = job is not None and job.active
    with st.container(horizontal=True):
        st.button(
            _("Make the texts"),
            type="primary",
            icon=":material/play_arrow:",
            key="lab_make",
            disabled=active or len(wanted) < 2 or not (prompt or "").strip(),
            on_click=_ask_texts,
            args=(settings, int(texts)),
        )
        st.button(_("Stop"), icon=":material/stop:", key="lab_texts_stop", disabled=not active, on_click=_stop_texts)
    _message(TEXTS_JOB)
    if job is not None:
        _texts_of(job, settings, wanted)


def _ask_texts(settings: Settings, texts: int) -> None:
    _ask(TextsJob(settings, chosen_rules(), texts), TEXTS_JOB)


def _stop_texts() -> None:
    job: TextsJob | None = st.session_state.get(TEXTS_JOB)
    if job is not None:
        runner().stop(job)


def _texts_of(job: TextsJob, settings: Settings, wanted: tuple[object, ...]) -> None:
    if job.active:
        part(_texts_progress, "lab_texts_progress", 2 * POLL_SECONDS)
        return
    if job.state is State.FAILED:
        st.error(literal(job.error), icon=":material/error:")
    study = job.study()
    if study is None:
        st.caption(_("Too few texts yet: every rule needs at least two."))
        return
    if (job.settings, job.rules) != (settings, wanted):
        st.warning(
            _("The settings have changed since. These texts were made with the ones before."), icon=":material/history:"
        )
    show_study(study, "lab_live")


def _texts_progress() -> None:
    job: TextsJob | None = st.session_state.get(TEXTS_JOB)
    if job is None or not job.active:
        st.rerun()
    runner().look(job)
    if job.done == 0:
        _waiting(job)
    st.progress(job.done / job.total, _("{done} of {all} texts").format(done=job.done, all=job.total))
    if job.last is not None:
        st.caption(literal(job.last.text))
    study = job.latest
    if study is not None:
        chart(text_curves(study, "law_tv", theme(), notation()), "lab_growing", text_curves_text(study, "law_tv"))
