"""Choosing an exercise: family, level, variant and the filters. The first three stand in the address.

Does not know: how a question is shown or answered.
"""

import random
from collections.abc import Mapping

import streamlit as st

from specdec_core.exercises import Entry, Thinking, all_topics, entries
from specdec_core.ui.lesson import begin_number
from specdec_core.ui.links import carry, check_link, whole, whole_field
from specdec_core.ui.literal import literal
from specdec_core.ui.part import part
from specdec_core.words import _, ngettext

FAMILY, LEVEL, SEED = "family", "level", "seed"
#: The live page's seed has the same name in the address and the same bounds.
MAX_SEED = 2**32 - 1
REAL = "real_block"


def thinking_word(level: Thinking) -> str:
    """A level of thinking as people read it."""
    return {
        Thinking.REMEMBER: _("remember"),
        Thinking.UNDERSTAND: _("understand"),
        Thinking.APPLY: _("apply"),
        Thinking.ANALYSE: _("analyse"),
        Thinking.EVALUATE: _("evaluate"),
        Thinking.CREATE: _("create"),
    }[level]


def check_exercise_link() -> None:
    """Says what a link asks for in vain, before any widget is drawn."""
    known = {(e.family, e.level) for e in entries()}
    asked = st.query_params.get(FAMILY, "")
    levels = {str(level) for family, level in known if family == asked or not asked}
    check_link(
        family=lambda text: text in {family for family, _level in known},
        level=lambda text: text in levels or bool(asked and not levels),
        seed=whole(0, MAX_SEED),
    )


def choose() -> tuple[Entry, int]:
    """The exercise and the variant that are asked for."""
    check_exercise_link()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        place = st.container(width="stretch")
        found = _filters()
        with place:
            family = pick(_("Exercise"), {e.family: e.family_title for e in found}, FAMILY)
    mine = {str(e.level): e for e in found if e.family == family}
    titles = {level: f"{level}. {e.title} ({thinking_word(e.thinking)})" for level, e in mine.items()}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        with st.container(width="stretch"):
            level = pick(_("Level"), titles, LEVEL)
        seed = _seed()
    _tell_address(FAMILY, LEVEL, SEED)
    return mine[level], seed


def _tell_address(*keys: str) -> None:
    """Bring values that the page chose itself into the address.

    The browser writes a field's value there when a run changes it, not when the field first appears. So on arrival
    without a full link the page runs once more, a moment later.
    """
    now = tuple(str(st.session_state[key]) for key in keys)
    if all(key in st.query_params for key in keys) or st.session_state.get("address_told") == now:
        return

    def tick() -> None:
        if st.session_state.get("address_ticked") == now:
            st.session_state["address_told"] = now
            st.rerun()
        st.session_state["address_ticked"] = now

    part(tick, "address_tick", 0.8)


def new_variant() -> None:
    """Another variant of the same exercise: a callback."""
    st.session_state[SEED] = random.SystemRandom().randrange(1, 1_000_000)


def _seed() -> int:
    begin_number(SEED, random.SystemRandom().randrange(1, 1_000_000), 0, MAX_SEED)
    st.session_state[SEED] = st.session_state[SEED]  # said by the page in every run, so that the address has it
    value = whole_field(
        _("Variant"),
        0,
        MAX_SEED,
        key=SEED,
        width=150,
        help=_("The same number gives the same question on every machine. The address of this page holds it."),
    )
    st.button(_("New variant"), icon=":material/casino:", on_click=new_variant, key="new_variant", shortcut="N")
    return value


def pick(label: str, titles: Mapping[str, str], key: str) -> str:
    """One of ``titles``, by a menu; the name always stands in the address, for the filters change which is the first.

    As ``links.choice`` otherwise: the widget itself is not bound, its name is carried beside it.
    """
    widget, sent = f"{key}_choice", f"{key}_sent"
    held = st.session_state.get(key, "")
    if st.session_state.get(widget) not in titles:  # on arrival, or when the filters took it away
        asked = (st.query_params.get(key, ""), held, st.session_state.get(sent, ""), next(iter(titles)))
        st.session_state[widget] = next(x for x in asked if x in titles)
    elif held != st.session_state.get(sent, "") and held in titles:
        st.session_state[widget] = held  # the browser's Back and Forward change the address alone
    chosen = str(st.selectbox(label, list(titles), key=widget, format_func=lambda x: titles.get(x, x)))
    st.session_state[sent] = chosen
    carry(key, chosen)
    return chosen


def _filters() -> tuple[Entry, ...]:
    """What the filters leave; all of it when they leave nothing, with a word."""
    with st.popover(_("Filter"), icon=":material/filter_list:", key="exercise_filter"):
        topics = st.pills(
            _("Topics"),
            list(all_topics()),
            selection_mode="multi",
            format_func=lambda topic: literal(_(topic)),
            key="topics_wanted",
            persist_state="session",
        )
        thinking = st.pills(
            _("Levels of thinking"),
            list(Thinking),
            selection_mode="multi",
            format_func=thinking_word,
            key="thinking_wanted",
            persist_state="session",
        )
        found = entries(topics or (), thinking or ())
        if not found:
            st.warning(_("No exercise has all of this. The filters are ignored."), icon=":material/filter_list_off:")
        elif topics or thinking:
            text = ngettext("{n} exercise of {all} fits.", "{n} exercises of {all} fit.", len(found))
            st.caption(text.format(n=len(found), all=len(entries())))
    if topics or thinking:
        st.caption(_("Filtered"))
    return found or entries()


def described(entry: Entry) -> dict[str, str]:
    """Thinking and topics of an exercise as plain text, for a caption."""
    topics = ", ".join(_(topic) for topic in entry.topics)
    return {"thinking": literal(thinking_word(entry.thinking)), "topics": literal(topics)}
