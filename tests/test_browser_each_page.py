"""Each page in a real browser, once: it is the first that a fresh server shows, and while it is open everything that
holds for any page is looked at. One visit for all of it, because a visit costs more than the looking.

The fixtures fail a test whose page logs an error or asks another machine for anything. Does not know: what a page is
for.
"""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.browsing import MAIN, settle

PAGES = [path.stem for path in sorted((Path(__file__).resolve().parents[1] / "pages").glob("*.py"))]
WIDE, PHONE = {"width": 1280, "height": 720}, {"width": 390, "height": 844}
# A window of 1280 x 720 at 200 % (WCAG 1.4.4, 1.4.10).
ZOOMED = {"width": 640, "height": 360}

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("name", PAGES)
def test_each_page(name: str, start_app: Callable[..., Any], open_app: Callable[..., Any]) -> None:
    """All that is wrong with the page is told at once."""
    page = open_app(f"{'' if name == 'start' else name}?notation=chen", url=start_app().url)
    settle(page)
    problems = shown_first(page) + headings(page) + serious(page)
    for size in (PHONE, ZOOMED):
        page.set_viewport_size(size)
        settle(page)
        problems += cut_off(page, size)
    page.set_viewport_size(WIDE)
    page.emulate_media(color_scheme="dark")
    page.locator(".st-key-theme_watch_dark").wait_for(state="attached")  # drawn again, figures too
    settle(page)
    assert lightness(page) < 0.3, "the page did not turn dark"
    problems += serious(page)
    assert not problems, "\n".join(problems)


def shown_first(page: Any) -> list[str]:
    """Until the first visitor Streamlit is in its old multipage mode (DESIGN, section 3); no page depends on luck."""
    wrong = {
        "no menu": page.locator('[data-testid="stSidebarNav"]').count() != 1,
        "an exception": page.locator('[data-testid="stException"]').count() != 0,
        "page not found": page.get_by_text("Page not found").count() != 0,
        "the address lost its parameter": "notation=chen" not in page.url,
        "the parameter had no effect": _notation(page) != "Chen et al.",
    }
    return [what for what, is_so in wrong.items() if is_so]


def _notation(page: Any) -> str:
    return str(page.locator('[data-testid="stSidebar"]').get_by_role("combobox").first.input_value())


def headings(page: Any) -> list[str]:
    """One h1 and no level left out below it: what a screen reader lists. A title and a language."""
    found = page.locator(f"{MAIN} :is(h1, h2, h3, h4, h5, h6):visible")
    levels = [int(tag[1]) for tag in found.evaluate_all("all => all.map(h => h.tagName)")]
    problems = []
    if levels[0] != 1 or levels.count(1) != 1 or any(below - above > 1 for above, below in pairwise(levels)):
        problems.append(f"levels of headings: {levels}")
    if not page.title() or not page.evaluate("document.documentElement.lang").startswith("en"):
        problems.append("no title or no language")
    return problems


def serious(page: Any) -> list[str]:
    """What axe-core calls serious or critical."""
    from axe_playwright_python.sync_playwright import Axe

    # Left out: the menu, whose sections Streamlit draws as a list in a div in a list. No app can change that.
    outside = {"exclude": [['[data-testid="stSidebarNav"]']]}
    found = Axe().run(page, context=outside, options={"resultTypes": ["violations"]}).response["violations"]
    grave = [v for v in found if v["impact"] in ("serious", "critical")]
    return [
        f"axe: {v['id']}, {[x['target'] for x in v['nodes']][:4]}, {v['nodes'][0].get('failureSummary', '')[:300]}"
        for v in grave
    ]


def cut_off(page: Any, size: dict[str, int]) -> list[str]:
    """What scrolls sideways, and buttons whose words do not fit."""
    problems = []
    if page.locator(MAIN).evaluate("m => m.scrollWidth - m.clientWidth") > 1:
        problems.append(f"scrolls sideways at {size}")
    cut = page.locator(f"{MAIN} button:visible").evaluate_all(
        "all => all.filter(b => b.scrollWidth > b.clientWidth + 1 && getComputedStyle(b).overflowX === 'hidden')"
        ".map(b => b.innerText)"
    )
    return problems + [f"cut off at {size}: {words}" for words in cut]


def lightness(page: Any) -> float:
    """Of the page's ground, 0 black to 1 white."""
    colour = page.locator('[data-testid="stApp"]').evaluate("e => getComputedStyle(e).backgroundColor")
    red, green, blue = (int(part) for part in colour[colour.index("(") + 1 : -1].split(",")[:3])
    return (red + green + blue) / 765
