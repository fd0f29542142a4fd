"""Lessons 1 and 2 as pages: what they open on, what they say to nonsense, what a link restores, what a task notices."""

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from specdec_core.lessons import one_block as core
from specdec_core.lessons.table_text import pack, unpack


def page(name: str, **query: str) -> AppTest:
    at = AppTest.from_file("../app.py", default_timeout=30).run()
    for key, value in query.items():
        at.query_params[key] = value
    at.switch_page(f"pages/{name}.py").run()
    assert not at.exception
    return at


def said(at: AppTest) -> str:
    """Everything in words, without the marks that keep them literal."""
    kinds: tuple[Any, ...] = (at.markdown, at.error, at.warning, at.info, at.caption)
    return "\n".join(x.value for kind in kinds for x in kind).replace("\\", "")


# --- One token -------------------------------------------------------------------------------------------------------


def test_one_token_opens_on_the_classic() -> None:
    at = page("one_token")
    assert [at.text_input(key=k).value for k in "qpr"] == ["0.8", "0.6", "0.7"]
    assert "Accepted." in said(at) and "0.7 is not above p/q = 0.75" in said(at)
    assert not at.error and not at.warning


@pytest.mark.parametrize(
    ("field", "text", "word"),
    [
        ("q", "0", "q = 0: a token that the draft gives no chance"),
        ("q", "", "q is blank"),
        ("p", "dog", "p = “dog” is not a number"),
        ("p", "1,2", "p = 1,2 is above 1"),
        ("r", "-1", "rₜ = -1 is below 0"),
        ("r", "NaN", "rₜ = “NaN” is not a number"),
        ("r", "<b>*x*</b> $y$", "rₜ = “<b>*x*</b> $y$” is not a number"),
    ],
)
def test_one_token_has_a_word_for_nonsense_and_no_verdict(field: str, text: str, word: str) -> None:
    at = page("one_token")
    at.text_input(key=field).set_value(text).run()
    assert not at.exception and word in said(at)
    assert "Accepted." not in said(at) and "comes back when" in said(at)
    at.text_input(key=field).set_value("0,5").run()
    assert not at.error and "comes back when" not in said(at)


def test_one_token_restores_a_link() -> None:
    at = page("one_token", q="0.2", p="0,08", r="2/5", draws="40", draw_seed="9")
    assert "a tie accepts" in said(at) and "of 40 draws accepted" in said(at)
    again = page("one_token", q="0.2", p="0,08", r="2/5", draws="40", draw_seed="9")
    assert said(again) == said(at)


def test_one_token_says_when_a_link_is_broken() -> None:
    at = page("one_token", draws="1e9", q="<script>")
    assert "draws = 1e9" in said(at) and "q = “<script>” is not a number" in said(at)


def test_one_token_draws_and_notices_tasks() -> None:
    at = page("one_token")
    assert "0 of 4 done." in said(at)
    at.button(key="draw_many").click().run()
    assert "of 100 draws accepted" in said(at)
    assert at.text_input(key="r").value != "0.7"
    at.text_input(key="r").set_value("0.75").run()
    at.text_input(key="r").set_value("0.76").run()
    assert "Rejected." in said(at)
    at.text_input(key="p").set_value("80 %").run()
    assert "All done." in said(at)
    for _ in range(12):
        if at.button(key="draw_many").disabled:
            break
        at.button(key="draw_many").click().run()
    assert at.button(key="draw_one").disabled and "are enough" in said(at)


def test_one_token_slider_writes_into_its_field() -> None:
    at = page("one_token")
    at.slider(key="p_slider").set_value(0.2).run()
    assert at.text_input(key="p").value == "0.2" and "Rejected." in said(at)


def test_the_notation_changes_the_letters() -> None:
    at = page("one_token")
    at.selectbox(key="notation_choice").set_value("chen").run()
    assert "r = 0.7 is not above q/p = 0.75" in said(at)


# --- One block -------------------------------------------------------------------------------------------------------


def editor(at: AppTest) -> str:
    return f"block_editor_{at.session_state['block_version']}"


def edit(at: AppTest, **changes: Any) -> AppTest:
    at.session_state[editor(at)] = {"edited_rows": {}, "added_rows": [], "deleted_rows": []} | changes
    at.run()
    assert not at.exception
    return at


def test_one_block_opens_on_the_second_that_falls() -> None:
    at = page("one_block")
    assert "n_a = 2 - 1 = 1" in said(at).replace("Large ", "") and "in the set" in said(at)
    assert not at.error and not at.warning


@pytest.mark.parametrize("example", [e.name for e in core.examples()])
def test_one_block_restores_every_example(example: str) -> None:
    at = page("one_block", example=example)
    assert at.selectbox(key="example_choice").value == example
    assert not at.error and not at.warning


def test_two_edits_in_a_row_both_survive() -> None:
    at = page("one_block")
    edit(at, edited_rows={1: {"r": "0,4"}})
    assert "1 of 4 done." in said(at)
    edit(at, edited_rows={1: {"r": "0,4"}, 2: {"q": "50 %"}})
    assert [x.r for x in at.session_state["block_now"].rows] == ["0.7", "0,4", "0.25"]
    assert at.session_state["block_now"].rows[2].q == "50 %"


def test_a_faulty_line_has_a_word_and_no_picture() -> None:
    at = page("one_block")
    edit(at, edited_rows={0: {"p": "1.5"}}, added_rows=[{"token": "x", "q": None}])
    assert "Line 1: p = 1.5 is above 1" in said(at) and "Line 4: q is blank" in said(at)
    assert "in the set" not in said(at)
    edit(at, edited_rows={0: {"p": "0.5"}}, added_rows=[{}])
    assert "Line 4 is empty and left out." in said(at) and "in the set" in said(at)


def test_drawing_takes_the_latest_edit_along() -> None:
    at = page("one_block")
    at.session_state[editor(at)] = {
        "edited_rows": {0: {"token": "under"}},
        "added_rows": [{"token": "new", "q": "1", "p": "1"}],
        "deleted_rows": [2],
    }
    at.button(key="block_draw").click().run()
    now = at.session_state["block_now"]
    assert [x.token for x in now.rows] == ["under", "a", "new"] and all(x.r for x in now.rows)
    assert at.number_input(key="block_seed").value == 2


def test_an_edited_table_travels_in_the_link() -> None:
    table = core.Table((core.TypedRow("<b>", "0,5", "1/4", "50 %"),), ("Once",))
    at = page("one_block", table=pack(table))
    assert at.session_state["block_now"] == table and "in the set" not in said(at).replace("**yes**, in the set", "")
    edit(at, edited_rows={0: {"r": "0.6"}})
    assert unpack(str(at.session_state["table"])).rows[0].r == "0.6"
    at.button(key="block_undo").click().run()
    assert at.session_state["table"] == "" and len(at.session_state["block_now"].rows) == 3


@pytest.mark.parametrize("table", ["nonsense", "%00", "x" * 50_000])
def test_a_hostile_link_gives_the_example_and_a_word(table: str) -> None:
    at = page("one_block", table=table, example="flags", mode="sideways")
    assert "cannot be read" in said(at) and "mode = sideways" in said(at)
    assert at.session_state["block_now"] == core.table_of(core.examples()[6].case)


def test_paste_takes_the_place_of_the_table_or_leaves_a_word() -> None:
    at = page("one_block")
    at.text_area(key="block_paste").set_value("on,0,8,0,6,0,7")
    at.form_submit_button[0].click().run()
    assert "decimal commas" in said(at) and len(at.session_state["block_now"].rows) == 3
    at.text_area(key="block_paste").set_value("on\t0,8\t0,6\t0,7\n" * 300)
    at.form_submit_button[0].click().run()
    assert not at.exception and "300 candidates are too many to step through" in said(at)
    assert "too long for a link" not in said(at)


def test_predict_first_asks_scores_and_ends() -> None:
    at = page("one_block", mode="predict")
    assert "Will t = 1 pass?" in said(at)
    at.button(key="walk_yes").click().run()
    assert "Right." in said(at) and "Will t = 2 pass?" in said(at)
    at.button(key="walk_no").click().run()
    assert "So what is nₐ?" in said(at)
    at.button(key="walk_count_1").click().run()
    assert "3 of 3 answers right." in said(at) and "1 of 4 done." in said(at)
    at.button(key="walk_again").click().run()
    assert "Will t = 1 pass?" in said(at)


def test_a_wrong_prediction_is_told() -> None:
    at = page("one_block", mode="predict", answers="yy")
    assert "Not so." in said(at) and "So what is nₐ?" in said(at)
    at.button(key="walk_count_2").click().run()
    assert "1 of 3 answers right." in said(at)


def test_the_table_is_there_after_another_page() -> None:
    at = page("one_block", example="flags")
    edit(at, edited_rows={1: {"r": "0.1"}})
    at.switch_page("pages/one_token.py").run()
    at.switch_page("pages/one_block.py").run()
    assert at.session_state["block_now"].rows[1].r == "0.1"
    assert at.selectbox(key="example_choice").value == "flags"


# --- In a browser: each lesson's first task, from a deep link ---------------------------------------------------------


@pytest.mark.browser
def test_first_task_of_one_token_in_a_browser(open_app: Any) -> None:
    page = open_app("one_token?q=0.8&p=0.6&r=0.7")
    page.get_by_text("Accepted.").wait_for()
    field = page.locator(".st-key-r input")
    field.fill("0,76")
    field.press("Enter")
    page.get_by_text("Rejected.").wait_for()
    page.get_by_text("1 of 4 done.").wait_for()
    assert "r=0%2C76" in page.url or "r=0,76" in page.url


@pytest.mark.browser
def test_first_task_of_one_block_in_a_browser(open_app: Any) -> None:
    page = open_app("one_block?example=second-falls")
    page.get_by_text("first rejected").first.wait_for()
    box = page.get_by_test_id("stDataFrame").first.bounding_box()
    page.mouse.click(box["x"] + 0.9 * box["width"], box["y"] + 35 * 2 + 18)
    page.keyboard.type("0,4", delay=150)
    page.keyboard.press("Enter")
    page.get_by_text("1 of 4 done.").wait_for()
    assert "table=" in page.url
