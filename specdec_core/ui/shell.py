"""The frame around every page: navigation, the shared sidebar, present mode, the glossary, and ``begin_page``.

Does not know: what is on a page.
"""

from pathlib import Path

import streamlit as st

from specdec_core import log
from specdec_core.figures.palette import Theme
from specdec_core.ui import collector, glossary, theme_watch
from specdec_core.ui.links import choice
from specdec_core.ui.pages import sections, spec
from specdec_core.words import LANGUAGES, NOTATIONS, Notation, _, use_language

_MARK = "_came_through_app"
_PER_PAGE = ("step", "block", "candidate", "step_is_playing")
_ROOT = Path(__file__).resolve().parents[2]

_PRESENT_CSS = """
<style>
html { font-size: 125%; }
section[data-testid="stSidebar"], [data-testid="stExpandSidebarButton"], [data-testid="stToolbar"] { display: none; }
</style>
"""
_CSS = """
<style>
.st-key-top_line h1 { padding: 0; }
/* What a page keeps without showing it. The wrapper as well, for it would leave a gap. */
[class*="st-key-theme_watch_"], [class*="st-key-carried_"],
[data-testid="stLayoutWrapper"]:has(> [class*="st-key-carried_"]) { display: none; }
</style>
"""
# Streamlit writes white on the primary colour; one that can be read on a dark page is too light for that.
_DARK_CSS = """
<style>
[data-testid^="stBaseButton-primary"], [data-testid^="stBaseButton-primary"] * { color: #0b0f14; }
</style>
"""


def _pages() -> dict[str, list[st.Page]]:
    return {
        section: [
            st.Page(
                _ROOT / p.file,
                title=p.title,
                icon=p.icon,
                url_path="" if p.name == "start" else p.name,
                default=p.name == "start",
            )
            for p in pages
        ]
        for section, pages in sections().items()
    }


def run_app() -> None:
    """What app.py does: page config, navigation, sidebar, and the page itself."""
    log.configure()
    _configure()
    use_language(str(st.session_state.get("lang", "")))
    page = st.navigation(_pages(), expanded=True)
    _sidebar()
    st.session_state[_MARK] = True
    try:
        page.run()
    finally:  # a page may end by asking for another run
        collector.spare()


def _configure() -> None:
    # A local picture: with a page's symbol as favicon the browser would fetch it from another machine.
    st.set_page_config(page_icon=str(_ROOT / "assets" / "icon.png"), layout="wide")


def begin_page(name: str, heading: str | None = None) -> None:
    """First line of every page: makes sure app.py ran, then draws the top line with the page's title or ``heading``.

    On a fresh server the first visitor of a deep link gets the page without app.py, because Streamlit starts in its
    old multipage mode until ``st.navigation`` was called once. Then the mark is missing: call it with the same pages
    and run again; the link's query parameters are still there.
    """
    if not st.session_state.pop(_MARK, False):
        _configure()
        st.navigation(_pages())
        st.rerun()
    use_language(str(st.session_state.get("lang", "")))
    st.html(_CSS + (_DARK_CSS if theme() == "dark" else ""))
    theme_watch.follow(theme())
    _forget_other_page(name)
    _top_line(heading or spec(name).title)
    if present():  # known only after its toggle was drawn: the address may ask for it
        st.html(_PRESENT_CSS)


def _forget_other_page(name: str) -> None:
    """Cursors are bound to the address and would follow to the next page; each page begins with its own."""
    before = st.session_state.get("_page", name)
    st.session_state["_page"] = name
    if before != name:
        for key in _PER_PAGE:
            st.session_state.pop(key, None)


def _top_line(title: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key="top_line"):
        st.title(title, anchor=False)
        with st.popover(_("Glossary"), icon=":material/menu_book:", type="tertiary"):
            glossary.show(notation())
        st.toggle(
            _("Present"),
            key="present",
            bind="query-params",
            help=_("Large type, no sidebar, for a projector. The arrow keys step."),
        )


def _sidebar() -> None:
    with st.sidebar:
        choice(
            _("Notation"),
            {name: known.title for name, known in NOTATIONS.items()},
            "notation",
            menu=True,
            help=_("Changes the letters everywhere. The calculations stay the same."),
        )
        if len(LANGUAGES) > 1:
            choice(_("Language"), LANGUAGES, "lang", menu=True)


def present() -> bool:
    """Whether present mode is on."""
    return bool(st.session_state.get("present", False))


def notation() -> Notation:
    """The letters in use."""
    return NOTATIONS.get(str(st.session_state.get("notation", "")), NOTATIONS["book"])


def theme() -> Theme:
    """The browser's theme, for figures."""
    return "dark" if st.context.theme.type == "dark" else "light"
