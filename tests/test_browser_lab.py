"""The bias lab and the speed page in a real browser: the slider moves the picture, links, files, the race's clock."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browsing import settle

pytestmark = pytest.mark.browser


def test_the_threshold_moves_the_picture_and_the_address(open_app: Callable[..., Any]) -> None:
    page = open_app("bias_lab")
    vanished = page.locator(".js-plotly-plot", has_text="vanished")  # said of a token in the figure of the laws
    vanished.first.wait_for()
    slider = page.get_by_role("slider", name="Fixed threshold c")
    slider.press("Home")
    slider.press("ArrowRight")
    page.wait_for_url("**lab_c=0.01**")
    accepts = page.get_by_text("c = 0.01 accepts 1.000")
    accepts.wait_for()
    vanished.first.wait_for(state="detached")
    page.reload()
    accepts.wait_for()


def test_a_million_trials_grow_and_end(open_app: Callable[..., Any]) -> None:
    page = open_app("bias_lab")
    settle(page)
    page.get_by_role("radio", name="1,000,000").click()
    page.get_by_text("after 1,000,000 trials").first.wait_for(timeout=120_000)
    settle(page)
    assert "lab_n=1000000" in page.url
    assert page.get_by_role("button", name="Stop").count() == 0


def test_everything_can_be_taken_home(open_app: Callable[..., Any]) -> None:
    page = open_app("bias_lab?lab_rules=random.fixed.always")
    settle(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="Everything here (JSON)").click()
    data = json.loads(Path(download.value.path()).read_text(encoding="utf-8"))
    assert [x["rule"]["name"] for x in data["laws"]] == ["random", "fixed", "always"]
    assert data["simulation"]["trials"] == 10_000


def test_the_race_runs_pauses_and_ends(open_app: Callable[..., Any]) -> None:
    page = open_app("speed?speed_race=live&speed_pair=toy&speed_prompt=the+cat")
    settle(page)
    page.get_by_role("button", name="Run both").click()
    page.get_by_role("button", name="Start the race").wait_for(timeout=60_000)
    settle(page)
    page.get_by_role("button", name="Restart").click()
    page.get_by_role("button", name="Start the race").wait_for(timeout=60_000)
    assert page.get_by_text("tokens per second").count() == 2


@pytest.mark.parametrize("name", ["bias_lab", "speed"])
def test_figures_have_words(name: str, open_app: Callable[..., Any]) -> None:
    page = open_app(name)
    settle(page)
    page.wait_for_timeout(1000)
    missing = page.evaluate(
        """() => [...document.querySelectorAll('[data-testid="stPlotlyChart"]')]
             .filter(x => !(x.getAttribute('aria-label') || x.querySelector('[aria-label]'))).length"""
    )
    assert missing == 0


@pytest.mark.parametrize("name", ["bias_lab", "speed"])
def test_present_mode_at_720_lines_shows_a_picture_at_once(name: str, open_app: Callable[..., Any]) -> None:
    page = open_app(f"{name}?present=true", width=1280, height=720)
    settle(page)
    first = page.locator(".js-plotly-plot, .flow").first
    first.wait_for()
    assert first.bounding_box()["y"] < 720
