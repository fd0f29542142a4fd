"""Stepping through a block: one cursor, Back and Next, play, and the strip.

The cursor is a slider whose value lives in the address, so that a link shows the very step. Next and Back move the
cursor only; nothing is computed anew.

Does not know: where the block comes from.
"""

import time
from collections.abc import Callable, Sequence

import streamlit as st

from specdec_core.acceptance import Rule
from specdec_core.steps import step_label, steps
from specdec_core.strip import strip_data
from specdec_core.trace import Block, Token
from specdec_core.ui.part import part
from specdec_core.ui.strip import token_strip
from specdec_core.words import Notation, _

PLAY_SECONDS = 1.4


def _move(key: str, by: int, last: int) -> None:
    st.session_state[key] = max(0, min(last, int(st.session_state.get(key, 0)) + by))


def _set(key: str, value: int) -> None:
    st.session_state[key] = value


def stepper(
    verified: Sequence[Token],
    block: Block,
    rule: Rule,
    notation: Notation,
    key: str = "step",
    default: int | None = None,
    picked: str | None = None,
) -> int:
    """Draw the strip at the cursor and the controls under it. Returns the cursor.

    key: of the cursor, and its name in the address. default: the step shown first, -1 for the last.
    picked: session key that receives the t of a clicked card.
    Call it inside ``step_fragment``, so that a step redraws the fragment only and Play has its clock.
    """
    plan = steps(block)
    last = len(plan) - 1
    _begin(key, last, default)
    _tick(key, last)
    cursor = int(st.session_state.get(key, 0))
    selected = st.session_state.get(picked) if picked else None
    strip_key = f"{key}_strip"

    def pick() -> None:
        t = st.session_state[strip_key].picked
        if picked and t is not None:
            st.session_state[picked] = None if st.session_state.get(picked) == int(t) else int(t)

    data = strip_data(verified, block, cursor, rule, notation, selected, clickable=picked is not None)
    token_strip(data, strip_key, pick)
    _controls(key, cursor, last, [step_label(s, block) for s in plan])
    return cursor


def _begin(key: str, last: int, default: int | None) -> None:
    """The first cursor: the link's, or ``default``. An earlier, longer block may have left a step this one lacks."""
    if key not in st.session_state:
        asked = st.query_params.get(key, "")
        start = last if default == -1 else (default or 0)
        st.session_state[key] = int(asked) if asked.isdecimal() and len(asked) < 6 else start
    st.session_state[key] = max(0, min(last, int(st.session_state[key])))


def _controls(key: str, cursor: int, last: int, labels: list[str]) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key=f"{key}_controls"):
        st.button(
            _("Back"),
            key=f"{key}_back",
            icon=":material/arrow_back:",
            shortcut="Left",
            on_click=_move,
            args=(key, -1, last),
            disabled=cursor == 0,
        )
        st.button(
            _("Next"),
            key=f"{key}_next",
            icon=":material/arrow_forward:",
            shortcut="Right",
            type="primary",
            on_click=_move,
            args=(key, 1, last),
            disabled=cursor == last,
        )
        st.button(
            _("Start over"),
            key=f"{key}_reset",
            icon=":material/first_page:",
            shortcut="Home",
            on_click=_set,
            args=(key, 0),
            disabled=cursor == 0,
        )
        st.button(
            _("Show all"),
            key=f"{key}_all",
            icon=":material/last_page:",
            shortcut="End",
            on_click=_set,
            args=(key, last),
            disabled=cursor == last,
        )
        _play(key, cursor, last)
    if last > 0:
        st.slider(
            _("Step {now} of {last}: {label}").format(now=cursor, last=last, label=labels[cursor]),
            0,
            last,
            key=key,
            bind="query-params",
        )


def _play(key: str, cursor: int, last: int) -> None:
    playing = bool(st.session_state.get(_playing(key)))
    st.button(
        _("Pause") if playing else _("Play"),
        key=f"{key}_play",
        icon=":material/pause:" if playing else ":material/play_arrow:",
        shortcut="P",
        on_click=_toggle_play,
        args=(key, cursor, last),
    )


def _playing(key: str) -> str:
    return f"{key}_is_playing"


def _toggle_play(key: str, cursor: int, last: int) -> None:
    now = not st.session_state.get(_playing(key), False)
    st.session_state[_playing(key)] = now
    st.session_state[f"{key}_moved"] = time.monotonic()
    if now and cursor == last:
        st.session_state[key] = 0


def _tick(key: str, last: int) -> None:
    """While playing, move on when the step has been shown long enough; any other rerun leaves the cursor alone."""
    if not st.session_state.get(_playing(key)):
        return
    now = time.monotonic()
    if now - float(st.session_state.get(f"{key}_moved", 0.0)) >= 0.8 * PLAY_SECONDS:
        _move(key, 1, last)
        st.session_state[f"{key}_moved"] = now
    if int(st.session_state.get(key, 0)) >= last:
        st.session_state[_playing(key)] = False


def step_fragment(body: Callable[[], None], key: str = "step") -> None:
    """Run ``body`` as a part of the page with one ``stepper`` of that key; unasked it is drawn only while playing."""
    playing = bool(st.session_state.get(_playing(key)))

    def run() -> None:
        body()
        # The timer belongs to the part as it was made; starting or ending it takes a run of the whole page.
        if bool(st.session_state.get(_playing(key))) != playing:
            st.rerun()

    part(run, f"{key}_fragment", PLAY_SECONDS if playing else None)
