"""Start and live page through the app: what they open on, what they say to nonsense, what a link restores."""

import gc
import time
import weakref
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from specdec_core.decoding import assemble, decode
from specdec_core.models.toy import toy_pair
from specdec_core.trace import Settings, Trace, trace_to_json
from specdec_core.ui import collector


def page(name: str, **query: str) -> AppTest:
    at = AppTest.from_file("../app.py", default_timeout=60)
    for key, value in query.items():
        at.query_params[key] = value
    at.run()
    for key, value in query.items():
        at.query_params[key] = value
    at.switch_page(f"pages/{name}.py").run()
    assert not at.exception
    return at


def said(at: AppTest) -> str:
    kinds: tuple[Any, ...] = (at.markdown, at.error, at.warning, at.info, at.caption)
    return "\n".join(x.value for kind in kinds for x in kind).replace("\\", "")


def metric(at: AppTest) -> str:
    first: Any = at.get("metric")[0]
    return str(first.value)


def finished(at: AppTest) -> AppTest:
    """Poll as the browser does, until the text is there."""
    end = time.monotonic() + 20
    while not at.get("metric") and not at.error and time.monotonic() < end:
        time.sleep(0.05)
        at.run()
    assert not at.exception
    return at


@pytest.fixture
def trace() -> Trace:
    pair = toy_pair()
    settings = Settings("the cat", pair="toy", tau=4, max_new_tokens=16, seed=5)
    return assemble(pair, settings, list(decode(pair, settings)))


def test_start_shows_a_recorded_block_whole_and_steps_back() -> None:
    at = AppTest.from_file("../app.py", default_timeout=60).run()
    assert not at.exception and not at.warning
    assert "target's distribution exactly" in said(at)
    last: Any = at.slider(key="step").value
    assert last == at.slider(key="step").max
    at.button(key="step_back").click().run()
    assert at.slider(key="step").value == last - 1
    at.button(key="step_reset").click().run()
    assert at.slider(key="step").value == 0 and at.button(key="step_back").disabled


def test_a_link_that_asks_for_too_much_is_told() -> None:
    at = page("live_models", tau="99", temperature="cold", rule="coin", pair="../../etc/passwd")
    text = said(at)
    assert "cannot be used" in text and "tau = 99" in text and "rule = coin" in text and "etc/passwd" in text
    assert at.slider(key="tau").value == 4 and at.selectbox(key="rule_choice").value == "random"


def test_live_runs_a_block_then_the_rest_as_decoding_alone_would() -> None:
    at = page("live_models", pair="toy", prompt="the cat", tau="3", seed="7", tokens="20")
    at.button(key="run_block").click().run()
    finished(at)
    assert metric(at) == "1"
    at.button(key="run_text").click().run()
    end = time.monotonic() + 20
    while at.session_state["live_job"].active and time.monotonic() < end:
        time.sleep(0.05)
    at.run()
    job = at.session_state["live_job"]
    settings = Settings("the cat", pair="toy", tau=3, seed=7, max_new_tokens=20)
    alone = [[t.id for t in b.emitted] for b in decode(toy_pair(), settings)]
    assert [[t.id for t in b.emitted] for b in job.blocks] == alone


def test_changed_settings_mark_the_result_as_outdated() -> None:
    at = page("live_models", pair="toy", prompt="the cat", tokens="12")
    at.button(key="run_text").click().run()
    finished(at)
    assert "settings have changed" not in said(at)
    at.slider(key="tau").set_value(7).run()
    assert "settings have changed" in said(at) and "τ = 4" in said(at)


@pytest.mark.parametrize(
    ("prompt", "word"),
    [("   ", "prompt is empty"), ("the zebra", "no word 'zebra'"), ("<script>alert(1)</script>", "no word")],
)
def test_a_prompt_that_cannot_be_read_gives_one_sentence(prompt: str, word: str) -> None:
    at = page("live_models", pair="toy", prompt=prompt)
    at.button(key="run_block").click().run()
    finished(at)
    assert word in said(at) and "Traceback" not in said(at)


def test_an_upload_is_replayed_and_a_bad_one_leaves_it_there(trace: Trace) -> None:
    at = page("live_models", live_from="upload")
    at.file_uploader(key="trace_file").upload("trace.json", trace_to_json(trace).encode()).run()
    assert not at.exception and metric(at) == str(len(trace.blocks))
    at.file_uploader(key="trace_file").clear() if hasattr(at.file_uploader(key="trace_file"), "clear") else None
    at.file_uploader(key="trace_file").upload("bad.json", b'{"blocks": "<script>"}').run()
    assert not at.exception
    assert at.error and metric(at) == str(len(trace.blocks))


def test_recorded_texts_need_no_model() -> None:
    if not list(Path(__file__).parents[1].joinpath("assets/recorded").glob("*.json")):
        pytest.skip("No recorded texts yet.")
    at = page("live_models", live_from="recorded", block="2")
    assert at.number_input(key="block").value == 2 and at.get("metric")


def test_notation_changes_the_letters_everywhere() -> None:
    at = page("live_models", pair="toy", prompt="the cat", notation="chen", tokens="8")
    at.button(key="run_text").click().run()
    finished(at)
    assert "Candidates per block, K" in at.slider(key="tau").label
    assert "K = 4" in said(at)


def test_what_stays_is_out_of_the_collectors_sight(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streamlit collects garbage after every run of every visitor: with all modules in sight that is 0.1 s a press."""
    gc.unfreeze()
    monkeypatch.setattr(collector, "_modules", 0)
    monkeypatch.setattr(collector, "_last", time.monotonic())
    collector.spare()
    first = gc.get_freeze_count()
    assert first > 50_000
    extra = [[] for _ in range(1000)]  # type: ignore[var-annotated]
    collector.spare()  # no module more, and no minute over: nothing to do
    assert gc.get_freeze_count() <= first and len(extra) == 1000
    gc.unfreeze()


def test_garbage_among_what_was_out_of_sight_is_found_within_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    class Visitor:
        pass

    visitor: Any = Visitor()
    visitor.itself = visitor
    gone = weakref.ref(visitor)
    gc.collect()
    gc.freeze()
    del visitor
    gc.collect()
    assert gone() is not None
    monkeypatch.setattr(collector, "_last", time.monotonic() - collector.SECONDS)
    collector.spare()
    assert gone() is None
    gc.unfreeze()
