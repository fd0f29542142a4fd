"""What any browser and any person may do on any page: come first by a deep link, go back and forward, zoom to 200 %,
walk by keyboard alone, ask for less motion. Does not know: what a page is for.
"""

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from tests.test_browser_pages import CARDS, PAGES, settle

pytestmark = pytest.mark.browser

MAIN = '[data-testid="stMain"]'


def address(name: str) -> str:
    return "" if name == "start" else name


@pytest.mark.parametrize("name", PAGES)
def test_every_page_can_be_the_first_that_a_server_shows(
    name: str, start_app: Callable[..., Any], open_app: Callable[..., Any]
) -> None:
    """Until the first visitor Streamlit is in its old multipage mode (DESIGN, section 3); no page depends on luck."""
    page = open_app(f"{address(name)}?notation=chen", url=start_app().url)
    settle(page)
    assert page.locator('[data-testid="stSidebarNav"]').count() == 1
    assert page.locator('[data-testid="stException"]').count() == 0
    assert page.get_by_text("Page not found").count() == 0
    assert "notation=chen" in page.url
    menu = page.locator('[data-testid="stSidebar"]').get_by_role("combobox")
    assert menu.first.input_value() == "Chen et al."


@pytest.mark.parametrize("name", PAGES)
def test_title_and_headings(name: str, open_app: Callable[..., Any]) -> None:
    """One h1, which the tab's title repeats, and no level left out below it: what a screen reader lists."""
    page = open_app(address(name))
    settle(page)
    headings = page.locator(f"{MAIN} :is(h1, h2, h3, h4, h5, h6):visible")
    levels = [int(tag[1]) for tag in headings.evaluate_all("all => all.map(h => h.tagName)")]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(below - above <= 1 for above, below in pairwise(levels)), levels
    assert page.title() and page.evaluate("document.documentElement.lang").startswith("en")


@pytest.mark.parametrize("name", PAGES)
def test_zoomed_to_200_percent(name: str, open_app: Callable[..., Any]) -> None:
    """A window of 1280 x 720 at 200 % is one of 640 x 360 with pixels twice as large (WCAG 1.4.4, 1.4.10)."""
    page = open_app(address(name), width=640, height=360, device_scale_factor=2)
    settle(page)
    wide = page.locator(MAIN).evaluate("m => m.scrollWidth - m.clientWidth")
    assert wide <= 1
    cut = page.locator(f"{MAIN} button:visible").evaluate_all(
        "all => all.filter(b => b.scrollWidth > b.clientWidth + 1 && getComputedStyle(b).overflowX === 'hidden')"
        ".map(b => b.innerText)"
    )
    assert not cut


def test_back_and_forward(open_app: Callable[..., Any]) -> None:
    page = open_app("one_token?q=0.5&p=0.25&r=0.3")
    settle(page)
    page.get_by_role("link", name="Why random").first.click()
    page.wait_for_url(re.compile("/why_random"))
    page.get_by_role("heading", level=1, name="Why random").wait_for()
    settle(page)
    page.go_back()
    page.get_by_role("heading", level=1, name="One token").wait_for()
    settle(page)
    draft = 'input[type="text"][aria-label="Draft, q"]'
    assert page.locator(draft).input_value()  # Streamlit left an entry without parameters on the way: defaults
    page.go_back()
    page.locator(f'{draft}[value="0.5"]').wait_for()
    assert "q=0.5" in page.url
    page.go_forward()
    page.go_forward()
    page.get_by_role("heading", level=1, name="Why random").wait_for()
    settle(page)
    assert page.locator('[data-testid="stException"]').count() == 0


def focus_by_tab(page: Any, wanted: str, most: int = 120) -> None:
    """Press Tab until the element that has the focus matches the selector ``wanted``."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate("s => !!document.activeElement && document.activeElement.matches(s)", wanted):
            return
    pytest.fail(f"{most} times Tab did not reach {wanted}")


def test_a_lesson_by_keyboard_alone(open_app: Callable[..., Any]) -> None:
    """Type the three numbers of lesson 1 and read the verdict, without a mouse."""
    page = open_app("one_token")
    settle(page)
    for label, text in (("Draft", "0.5"), ("Target", "0.2"), ("Draw", "0.9")):
        focus_by_tab(page, f'input[type="text"][aria-label^="{label},"]')
        page.keyboard.press("Control+A")
        page.keyboard.type(text)
        page.keyboard.press("Enter")
        settle(page)
    assert "q=0.5" in page.url and "p=0.2" in page.url and "r=0.9" in page.url
    page.locator(MAIN).get_by_text(re.compile("reject", re.IGNORECASE)).filter(visible=True).first.wait_for()


def test_the_stepper_by_keyboard_alone(open_app: Callable[..., Any]) -> None:
    page = open_app()
    page.locator(CARDS).first.wait_for()
    settle(page)
    page.keyboard.press("Home")
    settle(page)
    page.keyboard.press("ArrowRight")
    settle(page)
    assert "step=1" in page.url
    focus_by_tab(page, "button:not([disabled])")
    ring = "e => getComputedStyle(e).outlineStyle !== 'none' || getComputedStyle(e).boxShadow !== 'none'"
    assert page.locator("*:focus").first.evaluate(ring)


def test_an_exercise_by_keyboard_alone(open_app: Callable[..., Any]) -> None:
    """Answer every number of a question, hand it in, and be told something."""
    page = open_app("exercises?family=accept_or_reject&level=1&seed=3")
    settle(page)
    focus_by_tab(page, f"{MAIN} input[type=text]")
    page.keyboard.type("1/2")
    page.keyboard.press("Enter")
    settle(page)
    assert page.locator('[data-testid="stException"]').count() == 0
    focus_by_tab(page, f'{MAIN} [data-testid^="stBaseButton"]')


def test_less_motion_is_respected(open_app: Callable[..., Any]) -> None:
    """Nothing of ours moves for longer than an instant where the reader asked for less motion."""
    page = open_app(reduced_motion="reduce")
    settle(page)
    page.locator(".strip .cards li").first.wait_for()
    page.keyboard.press("Home")
    settle(page)
    page.keyboard.press("ArrowRight")
    moving = page.locator(".strip, .strip *").evaluate_all(
        """all => all.filter(e => {
            const s = getComputedStyle(e);
            const longest = text => Math.max(...text.split(',').map(parseFloat));
            const plays = s.animationName !== 'none' && longest(s.animationDuration) > 0.05;
            return plays || longest(s.transitionDuration) > 0.05;
        }).map(e => e.className)"""
    )
    assert not moving
