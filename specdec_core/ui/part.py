"""Parts of a page that are drawn anew by themselves: a press inside one leaves the rest of the page alone.

That is what lets a whole class press at once (benchmarks/README.md, "Many visitors at once"). Does not know: any page.
"""

from collections.abc import Callable

import streamlit as st

from specdec_core.ui import collector
from specdec_core.words import language, use_language


def part(body: Callable[[], None], key: str, every: float | None = None) -> None:
    """Draw ``body`` as a part of its own; it may hold further parts.

    key: names the part. every: seconds after which it is drawn again unasked; None: only when something in it is
    pressed. What ``body`` read when the whole page was drawn (notation, recorded data) it still has then.
    """
    spoken = language()

    def run() -> None:
        use_language(spoken)  # each run has a thread and a context of its own
        body()
        collector.spare()

    st.fragment(run, run_every=every, key=key)()
