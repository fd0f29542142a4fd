"""A whole lesson hour in real browsers: one teacher, two students, from the key to the exported results."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from specdec_core.classroom.keys import make_hash
from specdec_core.exercises import Text, to_json, variant
from tests.browsing import settle

KEY = "the key of this test"
TITLE = "Why <b>random</b>? $5 or $6 :sun:"
NAME = "<img src=x onerror=alert(1)> $x$ *y* :sun:"
HOSTILE = "<script>alert(1)</script> **bold** $a$ [b](c)"

pytestmark = pytest.mark.browser


def press(page: Any, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).first.click()
    settle(page)


def fill(page: Any, key: str, text: str) -> None:
    field = page.locator(f'[class*="st-key-{key}"] input').first
    field.fill(text)
    field.press("Tab")


def question_set(folder: Path) -> Path:
    """A question whose numbers are known, with texts that would love to be markup."""
    question = replace(variant("first_rejected", 2, 17), title=HOSTILE, stem=(Text(HOSTILE),))
    question = replace(question, steps=question.steps[:1])
    file = folder / "set.json"
    file.write_text(to_json([question]), encoding="utf-8")
    return file


def open_desk(page: Any, url: str) -> None:
    page.goto(f"{url}/teachers_desk")
    fill(page, "teacher_key", "not the key, no")
    press(page, "Open the desk")
    page.get_by_text("This is not the teacher key.").wait_for()
    fill(page, "teacher_key", KEY)
    press(page, "Open the desk")
    page.get_by_text("No assignment yet.").wait_for()
    settle(page)


def compose(page: Any, file: Path) -> str:
    """Returns the link for students."""
    page.get_by_role("radio", name="New assignment").click()
    settle(page)
    page.get_by_text("Other questions").click()
    page.locator('[data-testid="stFileUploader"] input[type="file"]').set_input_files(str(file))
    press(page, "Add 1 question from the file")
    page.locator(".st-key-desk_add button").click()
    page.get_by_text("2 questions, ").wait_for()
    fill(page, "desk_title", TITLE)
    press(page, "Create the assignment")
    code = page.locator(".st-key-way_in code")
    code.wait_for()
    return str(code.inner_text()).strip()


def join(page: Any, link: str, name: str, seat: int) -> None:
    page.goto(link)
    page.get_by_text("What is stored", exact=True).wait_for()
    fill(page, "name_field", name)
    press(page, "Take a seat")
    page.get_by_text(f"Seat {seat}:").wait_for()


def hand_in(page: Any, ratio: str) -> None:
    fill(page, "seat_0_1_ratio", ratio)
    press(page, "Hand in")
    page.get_by_text("Stored on the server at").wait_for()


def saved(page: Any, name: str) -> str:
    with page.expect_download() as download:
        page.get_by_role("button", name=name).first.click()
    return Path(download.value.path()).read_text(encoding="utf-8-sig")


def is_literal(page: Any, text: str) -> None:
    """The text stands on the page as it was typed, and made no elements."""
    page.get_by_text(text).first.wait_for()
    assert page.locator("img[src=x]").count() == 0
    main = page.locator('[data-testid="stMain"]')
    assert main.locator("script, .katex").count() == 0 and main.get_by_role("link", name="b", exact=True).count() == 0


def test_a_lesson_hour(start_app: Callable[..., Any], new_page: Callable[..., Any], tmp_path: Path) -> None:
    app = start_app({"SPECDEC_TEACHER_KEY_HASH": make_hash(KEY, cost=1024)})
    teacher, ada, other = new_page(), new_page(), new_page(width=390, height=844)
    for page in (teacher, ada, other):  # three browsers and a server on one machine, which may be a slow one
        page.set_default_timeout(90_000)
    open_desk(teacher, app.url)
    link = compose(teacher, question_set(tmp_path))
    assert link.startswith(f"{app.url}/exercises?code=")

    join(ada, link, "Ada", 1)
    join(other, link, NAME, 2)
    is_literal(other, NAME)
    is_literal(other, HOSTILE)
    assert "code=" not in other.url and "seat=" in other.url

    hand_in(ada, "0,95")
    hand_in(other, "20/19")
    other.get_by_text("Not right: Inverted ratio").wait_for()
    other.reload()
    other.get_by_text("Seat 2:").wait_for()
    other.get_by_text("Question 1").first.click()
    other.get_by_text("Stored on the server at").wait_for()
    assert other.get_by_text("Solution", exact=True).count() == 0
    for student in (ada, other):
        assert student.evaluate("document.documentElement.scrollWidth <= window.innerWidth")

    teacher.get_by_text("2 students have answered.").wait_for()  # its page looks by itself, too
    bars = teacher.locator(".js-plotly-plot")
    bars.get_by_text("Inverted ratio").wait_for()
    assert "Ada" not in teacher.locator('[data-testid="stMain"]').inner_text()

    press(teacher, "Show the solutions")
    press(teacher, "Show them now")
    teacher.get_by_text("The solutions are shown.").wait_for()
    for student in (ada, other):  # their pages look by themselves, every ten seconds
        student.get_by_text("The solutions are shown.").wait_for()
        student.get_by_text("Solution", exact=True).first.wait_for()

    results = saved(teacher, "Results, a row per student")
    assert "Ada" in results and "onerror" in results
    teacher.get_by_text("The questions: sheet").click()
    sheet = saved(teacher, "Printable sheet with answers")
    assert "&lt;script&gt;" in sheet and "<script>" not in sheet and "0.95" in sheet
    assert len(json.loads(saved(teacher, "Question set (JSON)"))["questions"]) == 2


def test_a_variants_link_on_a_fresh_server(start_app: Callable[..., Any], open_app: Callable[..., Any]) -> None:
    path = "exercises?family=first_rejected&level=2&seed=17"
    page = open_app(path, url=start_app().url)
    page.get_by_text("What is p/q at t = 3").first.wait_for()
    fill(page, "answer_first_rejected-2-17_ratio", "0.95")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    page.get_by_text("Right.", exact=False).first.wait_for()
    assert all(part in page.url for part in ("family=first_rejected", "level=2", "seed=17"))


def test_a_recorded_block_becomes_a_question_with_one_click(open_app: Callable[..., Any]) -> None:
    page = open_app("live_models?live_from=recorded")
    page.get_by_text("Make it a question").click()
    page.get_by_text("A draft model proposed").first.wait_for()
    page.wait_for_url(re.compile("family=real_block.*seed=[0-9]+"))
