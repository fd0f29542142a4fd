"""Start and live page in a real browser: keys, play, reload, present mode, texts, downloads, two browsers at once.

What holds for every page is in test_browser_each_page.py and test_browser_everyone.py. The fixtures fail a test whose
page logs an error or asks another machine for anything.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browsing import CARDS, press_steps, settle

pytestmark = pytest.mark.browser


def test_arrow_keys_step_and_the_link_and_a_reload_keep_the_step(open_app: Callable[..., Any]) -> None:
    page = open_app()
    press_steps(page, "Home")
    shown = f"{CARDS}:not(:has(.card.hidden))"
    page.wait_for_function("shown => !document.querySelector(shown)", arg=shown)
    for step in range(1, 7):  # a second press while the first is on its way would be one press to Streamlit
        press_steps(page, "ArrowRight")
        page.get_by_text(f"Step {step} of").first.wait_for()
    page.wait_for_url("**step=6**")
    before = page.locator(".strip").inner_text()
    page.reload()
    page.locator(".strip .cards li").first.wait_for()
    settle(page)
    assert page.locator(".strip").inner_text() == before
    press_steps(page, "ArrowLeft")
    page.wait_for_url("**step=5**")


def test_play_runs_to_the_end_by_itself(open_app: Callable[..., Any]) -> None:
    page = open_app("?step=4")
    press_steps(page, "p")
    page.get_by_role("button", name="Pause").wait_for()
    page.get_by_role("button", name="Play").wait_for(timeout=60_000)
    settle(page)
    assert page.get_by_role("button", name="Next", exact=False).first.is_disabled()


def test_present_mode_hides_the_sidebar_and_enlarges(open_app: Callable[..., Any]) -> None:
    plain, big = open_app(), open_app("?present=true")
    for page in (plain, big):
        page.locator(".strip .cards li").first.wait_for()
        settle(page)
    size = "strip => parseFloat(getComputedStyle(strip).fontSize)"
    assert big.locator(".strip").evaluate(size) > 1.1 * plain.locator(".strip").evaluate(size)
    assert not big.locator('section[data-testid="stSidebar"]').is_visible()


def test_live_page_runs_steps_and_opens_a_candidate(open_app: Callable[..., Any]) -> None:
    page = open_app("live_models?pair=toy&prompt=the+cat&tokens=16&seed=5")
    settle(page)
    page.get_by_role("button", name="Run text").click()
    page.get_by_text("Tokens per block").wait_for()
    press_steps(page, "End")
    page.locator("button.card").first.click()
    page.get_by_text("Position 1:").first.wait_for()
    page.locator(".js-plotly-plot").first.wait_for()
    with page.expect_download() as download:
        page.get_by_role("button", name="Trace (JSON)").click()
    assert '"schema": 1' in Path(download.value.path()).read_text(encoding="utf-8")


def test_two_browsers_do_not_share_a_text(open_app: Callable[..., Any]) -> None:
    one = open_app("live_models?pair=toy&prompt=the+cat&tokens=16&seed=5")
    two = open_app("live_models?pair=toy&prompt=the+dog&tokens=16&seed=6")
    for page in (one, two):
        page.get_by_role("button", name="Run text").click()
    for page, word in ((one, "cat"), (two, "dog")):
        page.get_by_text("Tokens per block").wait_for()
        assert page.locator(".flow .prompt").inner_text().strip() == f"the {word}"


def test_hostile_prompts_stay_literal(open_app: Callable[..., Any]) -> None:
    page = open_app("live_models?pair=toy&prompt=%3Cimg+src%3Dx+onerror%3D%22document.title%3D'owned'%22%3E")
    settle(page)
    page.get_by_role("button", name="Run block").click()
    page.locator('[data-testid="stAlert"]').first.wait_for()
    assert page.title() != "owned" and page.locator("img[src=x]").count() == 0
