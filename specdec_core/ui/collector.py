"""Keeps Streamlit's collection of garbage cheap.

Streamlit collects all garbage after every run of every visitor. With a few hundred thousand objects of libraries, and
what eighty visitors have on their screens, that takes longer than drawing a page (benchmarks/README.md). So what is
there is taken out of the collector's sight: whenever modules were loaded, and once a minute everything anew, when what
became garbage meanwhile is found.

Does not know: pages, visitors.
"""

import gc
import sys
import threading
import time

SECONDS = 60.0

_lock = threading.Lock()
_modules = 0
_last = -SECONDS


def spare() -> None:
    """To be called after every run; mostly it does nothing."""
    global _modules, _last
    if not _lock.acquire(blocking=False):
        return
    try:
        overdue = time.monotonic() - _last >= SECONDS
        if overdue or len(sys.modules) > _modules:
            if overdue:
                gc.unfreeze()
                _last = time.monotonic()
            _modules = len(sys.modules)
            gc.collect()
            gc.freeze()
    finally:
        _lock.release()
