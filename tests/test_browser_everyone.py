"""What any person may do: go back and forward, walk by keyboard alone, ask for less motion.

What holds for every page is in test_browser_each_page.py. Does not know: what a page is for.
"""

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.browsing import MAIN, press_steps, settle

pytestmark = pytest.mark.browser


def test_back_and_forward(open_app: Callable[..., Any]) -> None:
    """Streamlit may leave an entry without parameters on the way from page to page, which shows the defaults."""
    page = open_app("one_token?q=0.5&p=0.25&r=0.3")
    draft = 'input[type="text"][aria-label="Draft, q"]'
    page.locator(f'{draft}[value="0.5"]').wait_for()
    settle(page)
    page.get_by_role("link", name="Why random").first.click()
    page.wait_for_url(re.compile("/why_random"))
    page.get_by_role("heading", level=1, name="Why random").wait_for()
    settle(page)
    page.go_back()
    page.get_by_role("heading", level=1, name="One token").wait_for()
    page.locator(draft).wait_for()
    settle(page)
    if "q=0.5" not in page.url:
        assert page.locator(draft).input_value() == "0.8"
        page.go_back()
    page.locator(f'{draft}[value="0.5"]').wait_for()
    assert "q=0.5" in page.url
    page.go_forward()
    settle(page)
    if "why_random" not in page.url:
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
    press_steps(page, "Home")
    page.get_by_text("Step 0 of").first.wait_for()
    press_steps(page, "ArrowRight")
    page.get_by_text("Step 1 of").first.wait_for()
    page.wait_for_url("**step=1**")
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
    press_steps(page, "Home")
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
