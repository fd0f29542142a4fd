"""An editable table of two distributions over a few tokens, with its examples, its problems and its place in the link.

The editor is fed a table that does not change while a person edits it; its output is never fed back. Only an example,
a button or a link puts a new table in, under a new key. What stands in the table is kept for the session, so that it is
there again after a visit to another page.

Does not know: what the two distributions are for.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from specdec_core.lessons.typed_pair import (
    MAX_TOKENS,
    MIN_TOKENS,
    Preset,
    Reading,
    TypedRow,
    from_link,
    read,
    scaled,
    to_link,
)
from specdec_core.ui.links import carry, check_link
from specdec_core.ui.literal import literal
from specdec_core.words import Notation, _

OWN = "own"


def pair_editor(
    key: str, presets: Mapping[str, Preset], title: Callable[[str, Notation], str], notation: Notation
) -> Reading:
    """Examples, the table, and what is wrong with it. ``key`` is also the table's name in the link."""
    _begin(key, next(iter(presets.values())).rows)
    picker = st.container()
    rows = _editor(key, notation)
    st.session_state[f"{key}_rows"] = rows
    with picker:
        _picker(key, presets, title, notation, rows)
    _write_link(key, rows, next(iter(presets.values())).rows)
    reading = read(rows, notation)
    _problems(key, reading, rows, notation)
    return reading


def _begin(key: str, default: tuple[TypedRow, ...]) -> None:
    """On entering the page: the link's table when it brings another one, else the session's, else the default.

    Only then: while a person edits, the address may lag behind the table.
    """
    if st.session_state.pop(f"{key}_fresh", False) or _editor_key(key) in st.session_state:
        return
    check_link(**{key: _is_table})
    asked = st.query_params.get(key, "")
    if asked != st.session_state.get(f"{key}_written", "") and _is_table(asked):
        _put(key, from_link(asked))
    elif f"{key}_rows" not in st.session_state:
        _put(key, default)
    else:
        # The page was left: the editor has forgotten its edits, the session has not.
        st.session_state[f"{key}_base"] = st.session_state[f"{key}_rows"]


def _is_table(text: str) -> bool:
    try:
        return bool(from_link(text))
    except ValueError:
        return False


def _put(key: str, rows: Sequence[TypedRow]) -> None:
    """A new table in the editor."""
    st.session_state[f"{key}_rows"] = tuple(rows)
    st.session_state[f"{key}_base"] = tuple(rows)
    st.session_state[f"{key}_version"] = st.session_state.get(f"{key}_version", 0) + 1


def _replace(key: str, rows: Sequence[TypedRow]) -> None:
    """A new table from a callback: whatever the link says, it is this one."""
    _put(key, rows)
    st.session_state[f"{key}_fresh"] = True


def _editor_key(key: str) -> str:
    return f"{key}_editor_{st.session_state.get(f'{key}_version', 0)}"


def _editor(key: str, notation: Notation) -> tuple[TypedRow, ...]:
    base: tuple[TypedRow, ...] = st.session_state[f"{key}_base"]
    columns: dict[str, list[str]] = {
        "token": [row.token for row in base],
        "q": [row.q for row in base],
        "p": [row.p for row in base],
    }
    edited: dict[str, list[Any]] = st.data_editor(
        columns,
        key=_editor_key(key),
        num_rows="dynamic",
        hide_index=True,
        placeholder="",
        alt=_("Editable table: a token per row, with its {q} and its {p}").format(q=notation.q, p=notation.p),
        column_config={
            "token": st.column_config.TextColumn(_("token"), max_chars=40),
            "q": st.column_config.TextColumn(_("draft {q}").format(q=notation.q), max_chars=40),
            "p": st.column_config.TextColumn(_("target {p}").format(p=notation.p), max_chars=40),
        },
    )
    cells = zip(edited["token"], edited["q"], edited["p"], strict=True)
    return tuple(TypedRow(*(_text(cell) for cell in row)) for row in cells)


def _text(cell: Any) -> str:
    """A cell as typed. A new row holds None, which some versions turn into NaN: both are blank."""
    return cell if isinstance(cell, str) else "" if cell is None or cell != cell else str(cell)


def _picker(
    key: str,
    presets: Mapping[str, Preset],
    title: Callable[[str, Notation], str],
    notation: Notation,
    rows: tuple[TypedRow, ...],
) -> None:
    """The example that stands in the table, or "your own numbers"; choosing one puts it in."""
    choice = f"{key}_preset"
    st.session_state[choice] = next((name for name, x in presets.items() if x.rows == rows), OWN)

    def load() -> None:
        chosen = st.session_state[choice]
        if chosen in presets:
            _replace(key, presets[chosen].rows)

    st.selectbox(
        _("Example"),
        [*presets, OWN],
        key=choice,
        format_func=lambda name: _("Your own numbers") if name == OWN else title(name, notation),
        on_change=load,
    )


def _write_link(key: str, rows: tuple[TypedRow, ...], default: tuple[TypedRow, ...]) -> None:
    """The table in the address; the default table needs no words there, and an endless one finds no place."""
    text = to_link(rows) if rows != default else ""
    st.session_state[f"{key}_written"] = text or ""
    carry(key, text or "")
    if text is None:
        st.caption(_("This table is too long for a link."))


def _problems(key: str, reading: Reading, rows: tuple[TypedRow, ...], notation: Notation) -> None:
    for problem in reading.problems[:4]:
        st.error(literal(problem), icon=":material/edit:")
    if len(reading.problems) > 4:
        st.caption(_("And {n} more.").format(n=len(reading.problems) - 4))
    if reading.numbers is not None:
        for column in reading.off:
            _scale_button(key, column, reading, rows, notation)
    if reading.pair is not None:
        st.caption(
            _("Click a cell and type: 0.25, 1/4 or 25 %. {low} to {high} rows; each column sums to 1.").format(
                low=MIN_TOKENS, high=MAX_TOKENS
            )
        )


def _scale_button(key: str, column: str, reading: Reading, rows: tuple[TypedRow, ...], notation: Notation) -> None:
    assert reading.numbers is not None
    new = scaled(getattr(reading.numbers, column))
    if new is None:
        return

    def scale() -> None:
        changed = [
            TypedRow(row.token, value, row.p) if column == "q" else TypedRow(row.token, row.q, value)
            for row, value in zip(rows, new, strict=True)
        ]
        _replace(key, changed)

    symbol = notation.q if column == "q" else notation.p
    st.button(
        _("Scale {symbol} to one").format(symbol=symbol),
        key=f"{key}_scale_{column}",
        icon=":material/balance:",
        on_click=scale,
    )
