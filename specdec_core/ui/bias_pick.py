"""The first choice in the bias lab: where p and q come from.

Does not know: rules.
"""

from collections.abc import Callable, Sequence

import streamlit as st

from specdec_core import contexts
from specdec_core.lessons import why_random as lesson
from specdec_core.numbers import probability
from specdec_core.tokens import shown
from specdec_core.ui.bias_place import Place, recorded_place, typed_place
from specdec_core.ui.links import check_link, choice, number
from specdec_core.ui.literal import literal
from specdec_core.ui.pair_editor import pair_editor
from specdec_core.ui.shell import notation
from specdec_core.words import _

_SHOWN_CONTEXT = 220


def pick_place(live: Callable[[], Place | None]) -> Place | None:
    """The place in view; None, with a word why, where there is none yet. live: asks models for one."""
    ways = {"toy": _("By hand"), "text": _("Real text"), "live": _("Your prompt")}
    label = _("A place: {p} and {q} of one token").format(p=notation().p, q=notation().q)
    way = choice(label, ways, "lab_place", wrap=True)
    if way == "toy":
        return _by_hand()
    return _recorded() if way == "text" else live()


def _by_hand() -> Place | None:
    reading = pair_editor("lab", lesson.presets(), lesson.preset_title, notation())
    if reading.pair is None:
        return None
    return typed_place(reading.pair, repr(reading.pair))


def _recorded() -> Place | None:
    try:
        known = contexts.contexts()
        if not known:
            st.info(_("No recorded places are installed here. By hand works without any."))
            return None
        titles = {x.name: _title(x) for x in known}
        name = choice(_("What stands before the token"), titles, "lab_text", _middle(known), menu=True)
        warmth = temperature()
        found = recorded_place(name, warmth)
        here = contexts.context(name)
    except contexts.InvalidContext as error:
        st.error(literal(str(error)), icon=":material/error:")
        return None
    show_context(here.text)
    st.caption(literal(alpha_words(found, here.draft, here.target)))
    return found


def _middle(known: Sequence[contexts.Context]) -> str:
    """A place of middling agreement: there a threshold has something to decide."""
    return min(known, key=lambda x: abs(x.alpha - 0.5)).name


def _title(x: contexts.Context) -> str:
    text = x.text.replace("<|im_start|>", "").replace("<|im_end|>", "")
    line = shown(" ".join(text.split()), 400)
    return f"{'…' if len(line) > 40 else ''}{line[-40:]} (α = {probability(x.alpha)})"


def temperature() -> float:
    """The temperature at a real place, the same for both models."""
    check_link(lab_heat=number(0, 2))
    return round(float(st.slider(_("Temperature"), 0.0, 2.0, 1.0, 0.1, key="lab_heat", bind="query-params")), 2)


def show_context(text: str) -> None:
    """The text before the token, literally, with a mark where the token will stand."""
    tail = text if len(text) <= _SHOWN_CONTEXT else "…" + text[-_SHOWN_CONTEXT:]
    with st.container(border=True):
        st.markdown(f"{literal(tail)} :blue-background[?]")


def alpha_words(place: Place, draft: str, target: str) -> str:
    """What a real place is, in one line."""
    return _("{size} tokens; α = Σ min({p}, {q}) = {alpha}. Draft: {draft}. Target: {target}.").format(
        size=f"{place.p.size:,}",
        p=notation().p,
        q=notation().q,
        alpha=probability(place.alpha),
        draft=draft,
        target=target,
    )
