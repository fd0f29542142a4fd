"""Every page in a real browser: deep links on a fresh server, keys, reload, phone width, and axe-core.

The fixtures fail a test whose page logs an error or asks another machine for anything.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [path.stem for path in sorted((ROOT / "pages").glob("*.py"))]
SETTLED = '[data-testid="stApp"][data-test-script-state="notRunning"]'
CARDS = "ol.cards > li"

pytestmark = pytest.mark.browser


def settle(page: Any) -> None:
    page.wait_for_timeout(150)
    page.locator(SETTLED).wait_for()
    page.wait_for_timeout(150)


def test_a_fresh_server_serves_a_deep_link_first(start_app: Callable[..., Any], open_app: Callable[..., Any]) -> None:
    """Streamlit's old multipage mode would show the page without its frame, or a dialog over it (DESIGN, section 3)."""
    server = start_app()
    page = open_app("one_token?q=0.5&p=0.25&r=0.3", url=server.url)
    settle(page)
    assert page.locator('[data-testid="stSidebarNav"]').count() == 1
    assert page.get_by_text("Page not found").count() == 0
    assert "q=0.5" in page.url and "r=0.3" in page.url
    assert page.locator('input[type="text"][aria-label="Draft, q"]').input_value() == "0.5"


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(name: str, scheme: str, open_app: Callable[..., Any]) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = open_app("" if name == "start" else name, color_scheme=scheme)
    settle(page)
    page.wait_for_timeout(600)
    # Left out: the menu, whose sections Streamlit draws as a list in a div in a list. No app can change that.
    outside = {"exclude": [['[data-testid="stSidebarNav"]']]}
    found = Axe().run(page, context=outside, options={"resultTypes": ["violations"]}).response["violations"]
    serious = [
        (v["id"], [node["target"] for node in v["nodes"]][:4], v["nodes"][0].get("failureSummary", "")[:300])
        for v in found
        if v["impact"] in ("serious", "critical")
    ]
    assert not serious, serious


@pytest.mark.parametrize("name", PAGES)
def test_a_phone_shows_every_page_without_sideways_scrolling(name: str, open_app: Callable[..., Any]) -> None:
    page = open_app("" if name == "start" else name, width=390, height=844)
    settle(page)
    wide = page.evaluate(
        "() => { const m = document.querySelector('[data-testid=stMain]'); return m.scrollWidth - m.clientWidth }"
    )
    assert wide <= 1
    assert page.locator('[data-testid="stException"]').count() == 0


def test_arrow_keys_step_and_the_link_and_a_reload_keep_the_step(open_app: Callable[..., Any]) -> None:
    page = open_app()
    settle(page)
    page.keyboard.press("Home")
    settle(page)
    assert page.locator(f"{CARDS} .card.hidden").count() == page.locator(CARDS).count()
    for _ in range(6):
        page.keyboard.press("ArrowRight")
        settle(page)
    assert "step=6" in page.url
    before = page.locator(".strip").inner_text()
    page.reload()
    page.locator(".strip .cards li").first.wait_for()
    settle(page)
    assert page.locator(".strip").inner_text() == before
    page.keyboard.press("ArrowLeft")
    settle(page)
    assert "step=5" in page.url


def test_play_runs_to_the_end_by_itself(open_app: Callable[..., Any]) -> None:
    page = open_app("?step=8")
    settle(page)
    page.keyboard.press("p")
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
    settle(page)
    page.keyboard.press("End")
    settle(page)
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
