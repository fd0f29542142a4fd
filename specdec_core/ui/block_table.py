"""Lesson 2's table on the screen: examples, the editor, draws of r, paste, upload and download.

The editor is given ``base`` and never its own output, which would undo every second edit. A new base (another example,
an upload, fresh draws) comes with a new version, and so with a new editor. What the editor holds now is remembered
apart from both, because a widget's edits are lost when the page is left.

Does not know: what a block does with its rows.
"""

import pandas as pd
import streamlit as st

from specdec_core.cases import InvalidCase
from specdec_core.lessons import one_block as core
from specdec_core.lessons.one_block import Example, Table, TypedRow
from specdec_core.lessons.table_text import Unreadable, pack, read_table, unpack
from specdec_core.ui.lesson import begin_number
from specdec_core.ui.links import carry, check_link, choice, whole, whole_field
from specdec_core.ui.literal import literal
from specdec_core.words import Notation, _

BASE, NOW, VERSION, LOADED = "block_base", "block_now", "block_version", "block_loaded"
MAX_SEED = 2**32 - 1
_COLUMNS = ("token", "q", "p", "r")


def choose_example() -> Example:
    """The example the table starts from; its name stands in the address."""
    known = {e.name: e for e in core.examples()}
    titles = {name: _(e.title) for name, e in known.items()}
    return known[choice(_("Example"), titles, "example", menu=True, width=300)]


def replace(table: Table) -> None:
    """Make ``table`` the base, in a fresh editor."""
    st.session_state[BASE] = table
    st.session_state[NOW] = table
    st.session_state[VERSION] = int(st.session_state.get(VERSION, 0)) + 1


def _begin(example: Example) -> None:
    """The base for this run: the link's table, the example just chosen, or what there was."""
    loaded = st.session_state.get(LOADED)
    if loaded is None and "table" in st.query_params:
        try:
            replace(unpack(st.query_params["table"]))
            st.session_state[LOADED] = example.name
        except Unreadable as error:
            st.warning(f"{literal(str(error))} {_('The example stands in for it.')}", icon=":material/link_off:")
    if st.session_state.get(LOADED) != example.name:
        replace(core.table_of(example.case))
        st.session_state[LOADED] = example.name
    if _key() not in st.session_state and st.session_state[NOW] != st.session_state[BASE]:
        replace(st.session_state[NOW])


def _key() -> str:
    return f"block_editor_{st.session_state[VERSION]}"


def edit(example: Example, n: Notation) -> Table:
    """The editor and what belongs to it. Returns the table as it stands, and puts it into the address."""
    check_link(block_seed=whole(0, MAX_SEED))
    _begin(example)
    left, right = st.columns([3, 2])
    with left:
        edited = st.data_editor(
            _frame(st.session_state[BASE]),
            key=_key(),
            num_rows="dynamic",
            hide_index=True,
            height="content" if len(st.session_state[BASE].rows) <= 8 else 330,
            column_config={
                "token": st.column_config.TextColumn(_("token"), width=96),
                "q": st.column_config.TextColumn(_("{q}, draft").format(q=n.q), width=76),
                "p": st.column_config.TextColumn(_("{p}, target").format(p=n.p), width=76),
                "r": st.column_config.TextColumn(_("{r}, draw").format(r=n.r), width=76),
            },
            alt=_("The candidates: one line each, with token, draft probability, target probability and draw."),
        )
        st.caption(
            _(
                "Click a cell to edit it, the last line to add one; tick lines to delete them."
                " 0.75, 0,75, 3/4 and 75 % all work."
            )
        )
    now = Table(_rows(edited), st.session_state[BASE].context)
    st.session_state[NOW] = now
    with right:
        st.markdown(literal(_(example.why)))
        _tools(now, example, n)
    _link(now, example)
    return now


def _frame(table: Table) -> pd.DataFrame:
    columns = {name: [getattr(x, name) for x in table.rows] for name in _COLUMNS}
    return pd.DataFrame(columns, dtype="object")


def _rows(edited: pd.DataFrame) -> tuple[TypedRow, ...]:
    """The editor's lines as texts. New lines hold None or NaN where nothing was typed."""
    lines = edited[list(_COLUMNS)].itertuples(index=False)
    return tuple(TypedRow(*(_cell(x) for x in line)) for line in lines)


def _cell(value: object) -> str:
    return "" if value is None or value != value else str(value)


def _link(now: Table, example: Example) -> None:
    """An edited table travels in the address; an untouched example by its name alone."""
    packed = "" if now == core.table_of(example.case) else pack(now)
    carry("table", packed)
    if not packed and now != core.table_of(example.case):
        st.caption(_("This table is too long for a link. Download it to keep it."))


# --- Tools beside the table: all of them work in callbacks ----------------------------------------------------------
# A rerun in the middle of a run would drop the bound widgets below it, and with them their values in the address.


def _current() -> Table:
    """The table as the editor holds it in a callback, before it is drawn again: its edits on top of the base."""
    base: Table = st.session_state[BASE]
    changes = st.session_state.get(_key())
    if not changes:
        return st.session_state[NOW]
    lines = [{name: getattr(x, name) for name in _COLUMNS} for x in base.rows]
    for i, cells in changes["edited_rows"].items():
        lines[int(i)] |= cells
    kept = [line for i, line in enumerate(lines) if i not in set(changes["deleted_rows"])]
    kept += changes["added_rows"]
    return Table(tuple(TypedRow(*(_cell(line.get(name)) for name in _COLUMNS)) for line in kept), base.context)


def _draw() -> None:
    seed = int(st.session_state.get("block_seed") or 0)
    replace(core.with_draws(_current(), seed))
    st.session_state["block_seed"] = (seed + 1) % MAX_SEED


def _undo() -> None:
    name = st.session_state[LOADED]
    replace(core.table_of(next(e for e in core.examples() if e.name == name).case))


def _tools(now: Table, example: Example, n: Notation) -> None:
    begin_number("block_seed", 1, 0, MAX_SEED)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.button(
            _("Draw all {r}").format(r=n.r), icon=":material/casino:", key="block_draw", shortcut="D", on_click=_draw
        )
        whole_field(
            _("Seed of the next draw"),
            0,
            MAX_SEED,
            key="block_seed",
            width=170,
            help=_("The same seed draws the same numbers. It moves on by one with every draw."),
        )
    with st.container(horizontal=True):
        with st.popover(_("Paste or load"), icon=":material/content_paste:"):
            _read_in()
        if now != core.table_of(example.case):
            st.button(
                _("Back to the example"), icon=":material/undo:", key="block_undo", type="tertiary", on_click=_undo
            )


def _take() -> None:
    """What was pasted or uploaded takes the table's place, or leaves a word behind."""
    file = st.session_state.get("block_file")
    problem = ""
    try:
        text = file.getvalue().decode("utf-8-sig") if file else str(st.session_state.get("block_paste") or "")
        table = read_table(text)
    except UnicodeDecodeError:
        problem = _("The file is not text in UTF-8.")
    except (Unreadable, InvalidCase) as error:
        problem = str(error)
    else:
        replace(Table(table.rows, table.context or st.session_state[NOW].context))
    st.session_state["block_problem"] = problem


def _read_in() -> None:
    with st.form("block_read", border=False):
        st.text_area(
            _("Lines from a spreadsheet, CSV or JSON"),
            key="block_paste",
            height=120,
            placeholder="token\tq\tp\tr\non\t0,8\t0,6\t0,7",
        )
        st.file_uploader(_("or a file"), type=["csv", "tsv", "txt", "json"], key="block_file")
        st.form_submit_button(_("Replace the table"), type="primary", on_click=_take)
    if st.session_state.get("block_problem"):
        st.error(literal(st.session_state["block_problem"]), icon=":material/edit:")


def messages(checked: core.Checked) -> None:
    """What is wrong with which line; the first ones when there are many."""
    for note in checked.notes[:3]:
        st.caption(literal(note))
    if checked.faults:
        shown = [literal(x) for x in checked.faults[:6]]
        if len(checked.faults) > 6:
            shown.append(_("And {n} more.").format(n=len(checked.faults) - 6))
        st.error("  \n".join(shown), icon=":material/edit:")


def keep_copy(table: Table) -> None:
    """For a callback: show ``table``, a copy of a recorded block, in the editor from the next run on."""
    st.session_state[LOADED] = st.session_state.get(LOADED) or core.examples()[0].name
    replace(table)
