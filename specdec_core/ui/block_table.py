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
from specdec_core.ui.lesson import carry
from specdec_core.ui.links import check_link, one_of, whole
from specdec_core.ui.literal import literal
from specdec_core.words import Notation, _

BASE, NOW, VERSION, LOADED = "block_base", "block_now", "block_version", "block_loaded"
MAX_SEED = 2**32 - 1


def choose_example() -> Example:
    """The example the table starts from, bound to the address."""
    known = {e.name: e for e in core.examples()}
    check_link(example=one_of(known))
    if "example" not in st.session_state:
        asked = st.query_params.get("example", st.session_state.get(LOADED, ""))
        st.session_state["example"] = asked if asked in known else next(iter(known))
    name = st.selectbox(
        _("Example"),
        list(known),
        key="example",
        bind="query-params",
        format_func=lambda x: _(known[x].title),
        width=300,
    )
    return known.get(str(name), core.examples()[0])


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
                "token": st.column_config.TextColumn(_("token"), width="medium"),
                "q": st.column_config.TextColumn(_("draft {q}").format(q=n.q)),
                "p": st.column_config.TextColumn(_("target {p}").format(p=n.p)),
                "r": st.column_config.TextColumn(_("draw {r}").format(r=n.r)),
            },
            alt=_("The candidates: one line each, with token, draft probability, target probability and draw."),
        )
    now = Table(_rows(edited), st.session_state[BASE].context)
    st.session_state[NOW] = now
    with right:
        st.markdown(literal(_(example.why)))
        _tools(now, example, n)
    _link(now, example)
    return now


def _frame(table: Table) -> pd.DataFrame:
    columns = {name: [getattr(x, name) for x in table.rows] for name in ("token", "q", "p", "r")}
    return pd.DataFrame(columns, dtype="object")


def _rows(edited: pd.DataFrame) -> tuple[TypedRow, ...]:
    """The editor's lines as texts. New lines hold None or NaN where nothing was typed."""
    lines = edited[["token", "q", "p", "r"]].itertuples(index=False)
    return tuple(TypedRow(*("" if pd.isna(cell) else str(cell) for cell in line)) for line in lines)


def _link(now: Table, example: Example) -> None:
    """An edited table travels in the address; an untouched example by its name alone."""
    packed = "" if now == core.table_of(example.case) else pack(now)
    carry("table", packed)
    if not packed and now != core.table_of(example.case):
        st.caption(_("This table is too long for a link. Download it to keep it."))


# --- Tools beside the table -----------------------------------------------------------------------------------------


def _tools(now: Table, example: Example, n: Notation) -> None:
    check_link(block_seed=whole(0, MAX_SEED))
    if st.session_state.pop("block_seed_used", False):
        st.session_state["block_seed"] = (int(st.session_state.get("block_seed") or 0) + 1) % MAX_SEED
    if "block_seed" not in st.session_state:
        asked = st.query_params.get("block_seed", "")
        st.session_state["block_seed"] = int(asked) if whole(0, MAX_SEED)(asked) else 1
    with st.container(horizontal=True, vertical_alignment="bottom"):
        draw = st.button(_("Draw all {r}").format(r=n.r), icon=":material/casino:", key="block_draw", shortcut="D")
        seed = st.number_input(
            _("Seed of the next draw"),
            0,
            MAX_SEED,
            step=1,
            key="block_seed",
            bind="query-params",
            width=170,
            help=_("The same seed draws the same numbers. It moves on by one with every draw."),
        )
    with st.container(horizontal=True):
        with st.popover(_("Paste or load"), icon=":material/content_paste:"):
            _read_in()
        if now != core.table_of(example.case) and st.button(
            _("Back to the example"), icon=":material/undo:", key="block_undo", type="tertiary"
        ):
            replace(core.table_of(example.case))
            st.rerun()
    # After the editor, so that an edit that arrives with this very click is in ``now`` already.
    if draw:
        replace(core.with_draws(now, int(seed or 0)))
        st.session_state["block_seed_used"] = True
        st.rerun()
    st.caption(
        _(
            "Click a cell to edit it, the last line to add one; tick lines to delete them."
            " 0.75, 0,75, 3/4 and 75 % all work."
        )
    )


def _read_in() -> None:
    """Text from a spreadsheet, a CSV or a JSON case takes the table's place."""
    with st.form("block_read", border=False, clear_on_submit=False):
        text = st.text_area(
            _("Lines from a spreadsheet, CSV or JSON"),
            key="block_paste",
            height=120,
            placeholder="token\tq\tp\tr\non\t0,8\t0,6\t0,7",
        )
        file = st.file_uploader(_("or a file"), type=["csv", "tsv", "txt", "json"], key="block_file")
        if not st.form_submit_button(_("Replace the table"), type="primary"):
            return
    try:
        raw = file.getvalue().decode("utf-8-sig") if file is not None else str(text or "")
        table = read_table(raw)
    except UnicodeDecodeError:
        st.error(_("The file is not text in UTF-8."), icon=":material/edit:")
    except (Unreadable, InvalidCase) as error:
        st.error(literal(str(error)), icon=":material/edit:")
    else:
        replace(Table(table.rows, table.context or st.session_state[NOW].context))
        st.rerun()


def messages(checked: core.Checked) -> None:
    """What is wrong with which line; the first ones when there are many."""
    for note in checked.notes[:3]:
        st.caption(literal(note))
    if checked.faults:
        shown = [literal(x) for x in checked.faults[:6]]
        if len(checked.faults) > 6:
            shown.append(_("And {n} more.").format(n=len(checked.faults) - 6))
        st.error("\n".join(f"- {x}" for x in shown), icon=":material/edit:")


def keep_copy(table: Table) -> None:
    """Show ``table``, a copy of a recorded block, in the editor from the next run on."""
    st.session_state[LOADED] = st.session_state.get(LOADED) or core.examples()[0].name
    replace(table)
    st.session_state["block_show_typed"] = True
