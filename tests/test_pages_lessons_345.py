"""The pages of lessons 3 to 5 through the app: links, edits, slips, tasks, notation."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pytest
from streamlit.testing.v1 import AppTest

from specdec_core.lessons import context_examples, recorded_positions
from specdec_core.lessons.correction import presets
from specdec_core.lessons.typed_pair import TypedRow, table, to_link
from specdec_core.ui import pair_editor

PAGES = ("what_the_draft_sees", "the_correction", "why_random")


def open_page(name: str, **link: str) -> AppTest:
    """The page as someone sees who opens that link."""
    at = AppTest.from_file("../app.py", default_timeout=60)
    for key, value in link.items():
        at.query_params[key] = value
    at.run()
    at.switch_page(f"pages/{name}.py")
    for key, value in link.items():
        at.query_params[key] = value
    at.run()
    assert not at.exception
    return at


def text_of(at: AppTest) -> str:
    """All words on the page."""
    found = "\n".join(str(x.value) for kind in (at.markdown, at.caption, at.info, at.success, at.error) for x in kind)
    return found.replace("\\", "")  # without the escapes that keep texts literal


@contextmanager
def typed(rows: tuple[TypedRow, ...]) -> Iterator[None]:
    """As if the editor held ``rows``: AppTest cannot type into one."""
    columns: dict[str, list[Any]] = {
        "token": [x.token for x in rows],
        "q": [x.q for x in rows],
        "p": [x.p for x in rows],
    }
    with patch.object(pair_editor.st, "data_editor", lambda *args, **more: columns):
        yield


@pytest.mark.parametrize("name", PAGES)
def test_every_page_opens_and_has_its_parts(name: str) -> None:
    at = open_page(name)
    words = text_of(at)
    assert "?" in words
    assert at.header[-1].value == "Try this"
    assert "0 of 3 done." in words
    assert "Sources:" in words
    assert not at.warning


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("notation", ["leviathan", "chen"])
def test_every_page_speaks_every_notation(name: str, notation: str) -> None:
    before = text_of(open_page(name))
    after = text_of(open_page(name, notation=notation))
    if notation == "chen":
        assert before != after
    if name == "why_random" and notation == "chen":
        assert "q/p ≥ 0.5" in after


# --- lesson 3 -------------------------------------------------------------------------------------------------------


def test_the_position_moves_and_stops_at_the_ends() -> None:
    at = open_page("what_the_draft_sees")
    assert at.session_state["ctx_t"] == 1
    assert at.button(key="ctx_back").disabled
    for _ in range(3):
        at.button(key="ctx_next").click().run()
    assert at.session_state["ctx_t"] == 4
    assert at.button(key="ctx_next").disabled
    at.text_input(key="ctx_c").set_value("on the").run()
    assert at.session_state["ctx_t"] == 2
    at.text_input(key="ctx_c").set_value("on").run()
    assert not at.exception


def test_the_guess_is_checked() -> None:
    at = open_page("what_the_draft_sees")
    at.toggle(key="ctx_check").set_value(True).run()
    assert "Choose everything" in text_of(at)
    pills = at.button_group(key="ctx_sees_choice")
    pills.set_value(["x", "y1", "y2", "y3"]).run()
    assert "on its own" in text_of(at)
    at.button_group(key="ctx_sees_choice").set_value(["x", "y1", "y2", "y3", "c1", "c2"]).run()
    assert "Right:" in text_of(at)
    assert "1 of 3 done." in text_of(at)


def test_a_link_brings_position_texts_and_guess() -> None:
    at = open_page("what_the_draft_sees", ctx_t="3", ctx_c="under a bed", ctx_sees="c4.x", ctx_check="true")
    assert at.session_state["ctx_t"] == 3
    assert "does not exist yet" in text_of(at)
    assert at.text_input(key="ctx_c").value == "under a bed"
    assert "Done." in text_of(at)  # another first word, and a position that sees it


@pytest.mark.parametrize("bad", [{"ctx_t": "99"}, {"ctx_t": "x"}, {"ctx_sees": "nonsense"}])
def test_a_bad_link_is_said(bad: dict[str, str]) -> None:
    at = open_page("what_the_draft_sees", **bad)
    assert "cannot be used" in at.warning[0].value


@pytest.mark.parametrize("text", ["", " ", "a " * 9, "x" * 200, "<b> $x$ *y* :sun: `z`"])
def test_any_candidates_can_be_typed(text: str) -> None:
    at = open_page("what_the_draft_sees")
    at.text_input(key="ctx_c").set_value(text).run()
    assert not at.exception
    fine = 0 < len(text.split()) <= 8
    assert bool(at.error) != fine


def test_recorded_examples_appear_when_there_are_any() -> None:
    likely = (context_examples.Likely(" mat", 0.4, 0.01, 0.5), context_examples.Likely(" <b>", 0.1, 0.5, 0.0))
    example = context_examples.Example("Story", "A story.", "The cat sat", (" on", " the"), 0.6, 0.1, likely)
    found = context_examples.Examples("a draft", "a target", (example,))
    with patch.object(context_examples, "load", lambda: found):
        assert "nearer to the target" in text_of(open_page("what_the_draft_sees"))
    with patch.object(context_examples, "load", lambda: context_examples.NONE):
        assert "nearer to the target" not in text_of(open_page("what_the_draft_sees"))


# --- lessons 4 and 5: the table -------------------------------------------------------------------------------------

TABLES: tuple[tuple[str, str], ...] = (("the_correction", "corr"), ("why_random", "why"))


@pytest.mark.parametrize(("name", "key"), TABLES)
def test_a_link_brings_the_very_table(name: str, key: str) -> None:
    rows = table(["<b>", " a_*", "-"], ["1/2", "50 %", "0"], ["0,25", ".25", "0.5"])
    link = to_link(rows)
    assert link is not None
    at = open_page(name, **{key: link})
    assert not at.error
    assert at.session_state[f"{key}_rows"] == rows
    assert at.session_state[f"{key}_preset"] == pair_editor.OWN
    assert at.session_state[key] == link


@pytest.mark.parametrize(("name", "key"), TABLES)
def test_a_broken_table_link_is_said(name: str, key: str) -> None:
    at = open_page(name, **{key: "zzz"})
    assert "cannot be used" in at.warning[0].value
    assert at.session_state[f"{key}_rows"] != ()


@pytest.mark.parametrize(("name", "key"), TABLES)
def test_examples_fill_the_table(name: str, key: str) -> None:
    at = open_page(name)
    for choice in at.selectbox(key=f"{key}_preset").options:
        if choice == "Your own numbers":
            continue
        at.selectbox(key=f"{key}_preset").select(choice).run()
        assert not at.exception and not at.error, choice


@pytest.mark.parametrize(("name", "key"), TABLES)
@pytest.mark.parametrize(
    ("rows", "word"),
    [
        (table("abc", ["0.5", "0.3", ""], ["1", "0", "0"]), "is blank"),
        (table("abc", ["0.5", "0.3", "x"], ["1", "0", "0"]), "is not a number"),
        (table("abc", ["0.5", "0.3", "nan"], ["1", "0", "0"]), "is not a number"),
        (table("abc", ["0.5", "0.3", "-1"], ["1", "0", "0"]), "is below 0"),
        (table("abc", ["0.5", "0.3", "7"], ["1", "0", "0"]), "is above 1"),
        (table("abc", ["0,5", "0,3", "0,1"], ["1", "0", "0"]), "0\\.1 is missing"),
        (table(["a"] * 3, ["1", "0", "0"], ["1", "0", "0"]), "Two rows"),
        (table(map(str, range(400)), ["0"] * 400, ["0"] * 400), "400 rows"),
        ((), "0 rows"),
        (table(["a", "b", "c", ""], ["1", "0", "0", ""], ["1", "0", "0", ""]), "has no token"),
    ],
)
def test_slips_get_a_word_and_nothing_is_mended(name: str, key: str, rows: tuple[TypedRow, ...], word: str) -> None:
    with typed(rows):
        at = open_page(name)
    assert word in " ".join(x.value for x in at.error)
    assert at.session_state[f"{key}_rows"] == rows


def test_new_rows_hold_none_or_nan() -> None:
    columns = {"token": ["a", "b", "c", None], "q": ["1", "0", "0", float("nan")], "p": ["1", "0", "0", None]}
    with patch.object(pair_editor.st, "data_editor", lambda *args, **more: columns):
        at = open_page("the_correction")
    assert "Row 4 has no token" in at.error[0].value


def test_scaling_is_the_persons_own_wish() -> None:
    rows = table("abc", ["0.5", "0.3", "0.1"], ["1", "0", "0"])
    link = to_link(rows)
    assert link is not None
    at = open_page("the_correction", corr=link)
    assert at.session_state["corr_rows"] == rows
    at.button(key="corr_scale_q").click().run()
    assert not at.error
    assert [x.q for x in at.session_state["corr_rows"]] == ["0.5556", "0.3333", "0.1111"]


def test_a_visit_elsewhere_loses_nothing() -> None:
    rows = presets()["timid"].rows
    at = open_page("the_correction", corr=str(to_link(rows)))
    at.switch_page("pages/what_the_draft_sees.py").run()
    at.switch_page("pages/the_correction.py").run()
    assert not at.exception
    assert at.session_state["corr_rows"] == rows


def test_lesson_4s_tasks_notice() -> None:
    at = open_page("the_correction")
    for name, count in (("equal", 1), ("timid", 2), ("disjoint", 3)):
        at.selectbox(key="corr_preset").set_value(name).run()
        words = text_of(at)
        assert ("All done." in words) if count == 3 else (f"{count} of 3 done." in words)


def test_lesson_4s_ways_to_go_wrong() -> None:
    at = open_page("the_correction")
    assert "too rarely" in text_of(at)
    at.button_group(key="corr_instead_choice").set_value("argmax").run()
    assert "too often" in text_of(at)
    at.button_group(key="corr_instead_choice").set_value("residual").run()
    assert "Distance: 0" in text_of(at)


def test_recorded_positions_appear_when_there_are_any(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded_positions.recorded, "names", lambda: [])
    recorded_positions.positions.cache_clear()
    try:
        at = open_page("the_correction", corr_from="own")
        assert not [x for x in at.button_group if x.key == "corr_from_choice"]
    finally:
        recorded_positions.positions.cache_clear()


def test_every_recorded_position_can_be_shown() -> None:
    found = recorded_positions.positions()
    if not found:
        pytest.skip("no recorded blocks")
    at = open_page("the_correction", corr_from="real")
    for name in list(found)[:6]:
        at.selectbox(key="corr_at_choice").set_value(name).run()
        assert not at.exception and not at.error


def test_lesson_5s_tasks_notice() -> None:
    at = open_page("why_random")
    at.slider(key="why_c").set_value(0.0).run()
    assert "1 of 3 done." in text_of(at)
    at.selectbox(key="why_preset").set_value("between").run()
    at.slider(key="why_c").set_value(0.9).run()
    assert "2 of 3 done." in text_of(at)
    at.selectbox(key="why_preset").set_value("certain").run()
    assert "All done." in text_of(at)


def test_lesson_5s_seed_and_threshold_come_from_the_link() -> None:
    at = open_page("why_random", why_c="0.25", why_seed="17")
    assert at.slider(key="why_c").value == 0.25
    assert at.number_input(key="why_seed").value == 17
    first = text_of(at)
    at.button(key="redraw").click().run()
    assert at.number_input(key="why_seed").value == 18
    assert text_of(at) != first


@pytest.mark.browser
def test_lesson_3s_first_task_from_a_deep_link(open_app: Callable[..., Any]) -> None:
    page = open_app("what_the_draft_sees?ctx_check=true")
    for label in ("the input “Tell me a story.”", "The", "cat", "sat", "on", "the"):
        page.get_by_role("checkbox", name=label, exact=True).or_(
            page.get_by_role("button", name=label, exact=True)
        ).first.click()
        page.wait_for_timeout(600)
    page.get_by_text("Right:").wait_for()
    page.get_by_text("1 of 3 done.").wait_for()


def type_into(page: Any, grid: Any, row: int, value: str) -> None:
    """Type ``value`` as p of ``row``. On a busy machine the grid takes its time to be ready for keys."""
    field = page.locator("textarea.gdg-input")
    at = grid.bounding_box()
    for _ in range(8):
        page.mouse.click(at["x"] + 0.85 * at["width"], at["y"] + 35 * (row + 1) + 18)
        page.wait_for_timeout(500)
        page.keyboard.press("Enter")
        page.wait_for_timeout(1000)
        if field.count():
            break
    field.fill(value)
    field.press("Enter")
    grid.locator("td", has_text=value).first.wait_for(state="attached")


@pytest.mark.browser
def test_lesson_4s_first_task_by_typing(open_app: Callable[..., Any]) -> None:
    """Two edits in a row both survive: p becomes q cell by cell."""
    page = open_app("the_correction?corr=a_0.5_0.5*b_0.3_0.1*c_0.2_0.4")
    grid = page.locator('[data-testid="stDataFrame"]').first
    for row, value in ((1, "0,3"), (2, "1/5")):
        type_into(page, grid, row, value)
    page.get_by_text("Nothing left to correct.", exact=True).wait_for()
    page.get_by_text("2 of 3 done.").wait_for()


@pytest.mark.browser
def test_lesson_5s_first_task_from_a_deep_link(open_app: Callable[..., Any]) -> None:
    page = open_app("why_random?why_c=0.05")
    page.get_by_role("slider", name="Fixed threshold c").press("Home")
    page.get_by_text("1 of 3 done.").wait_for()
    page.get_by_text("A fixed threshold, c = 0:").wait_for()
