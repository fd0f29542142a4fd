"""The bias lab and the speed page through the app: places, rules, slips, links, sliders, sentences, files, races."""

import csv
import io
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from specdec_core import contexts
from specdec_core.acceptance import RULES, Rule, output_law
from specdec_core.figures.rules import ZERO
from specdec_core.lessons.typed_pair import TypedRow, read
from specdec_core.lessons.why_random import presets
from specdec_core.models.toy import toy_pair
from specdec_core.runner import Busy, Runner
from specdec_core.simulation import collect, simulate
from specdec_core.trace import Settings
from specdec_core.ui import bias_jobs, bias_live, bias_place, bias_trials, bias_worth, pair_editor, speed_race
from specdec_core.ui.bias_jobs import Asked, PlaceJob, TextsJob, exact_first
from specdec_core.ui.bias_place import Place, typed_place
from specdec_core.ui.bias_rules import in_letters
from specdec_core.ui.speed_numbers import TABLE_1, advice
from specdec_core.ui.speed_race import RaceJob
from specdec_core.words import NOTATIONS

SECONDS = 240  # a busy machine is slow, and this test is not about time


def open_page(name: str, **link: str) -> AppTest:
    """The page as someone sees who opens that link."""
    at = AppTest.from_file("../app.py", default_timeout=SECONDS)
    at.switch_page(f"pages/{name}.py")
    for key, value in link.items():
        at.query_params[key] = value
    at.run()
    assert not at.exception
    return at


def text_of(at: AppTest) -> str:
    """All words on the page, without the escapes that keep texts literal."""
    kinds = (at.markdown, at.caption, at.info, at.success, at.error, at.warning)
    return "\n".join(str(x.value) for kind in kinds for x in kind).replace("\\", "")


@contextmanager
def typed(rows: tuple[TypedRow, ...]) -> Iterator[None]:
    """As if the editor held ``rows``: AppTest cannot type into one."""
    columns: dict[str, list[Any]] = {k: [getattr(x, k) for x in rows] for k in ("token", "q", "p")}
    with patch.object(pair_editor.st, "data_editor", lambda *args, **more: columns):
        yield


def preset_place(name: str) -> Place:
    pair = read(presets()[name].rows).pair
    assert pair is not None
    return typed_place(pair, name)


# --- the lab's page -------------------------------------------------------------------------------------------------


def test_the_lab_opens_with_the_whole_argument() -> None:
    at = open_page("bias_lab")
    words = text_of(at)
    headings = [x.value for x in at.header]
    assert headings == [
        "The rules",
        "Would another threshold do?",
        "Draw it and see",
        "On whole texts",
        "What it is worth",
    ]
    assert "replace the random threshold" in words
    assert "Random threshold: Consistent with p" in words.replace("*", "")
    assert "Fixed threshold, c = 0.5: Not p" in words.replace("*", "")
    assert "bias of 0.100" in words and "1 token that p allows can no longer appear" in words
    assert not at.warning and not at.error


@pytest.mark.parametrize("name", presets())
def test_every_preset_is_shown(name: str) -> None:
    at = open_page("bias_lab")
    at.selectbox(key="lab_preset").set_value(name).run()
    assert not at.exception and not at.error
    place = preset_place(name)
    fixed = bias_place.law(place, Rule("fixed", 0.5))
    assert (f"bias of {fixed.tv:.3f}" in text_of(at)) == (fixed.tv >= ZERO)


def test_the_threshold_slider_changes_the_sentence_and_the_sweep() -> None:
    at = open_page("bias_lab")
    at.slider(key="lab_c").set_value(0.1).run()
    assert not at.exception
    assert "c = 0.1 accepts 1.000" in text_of(at)
    assert "bias of 0.400" in text_of(at)


@pytest.mark.parametrize("fixes", ["residual", "residual.target.argmax"])
def test_all_rules_at_once(fixes: str) -> None:
    at = open_page("bias_lab", lab_rules=".".join(RULES), lab_fix=fixes)
    words = text_of(at)
    assert ("The first 6 of these are shown" in words) == (fixes != "residual")
    assert "SGLang" in words or fixes != "residual"
    assert at.session_state["lab_rules_choice"] == list(RULES)


def test_a_link_brings_everything_back() -> None:
    link = {"lab_rules": "random.lenient", "lab_fix": "target", "lab_l": "0.3", "lab_seed": "7", "lab_n": "1000"}
    at = open_page("bias_lab", lab_tau="6", **link)
    assert not at.warning
    words = text_of(at)
    assert "Lenient, l = 0.3; Again from p" in words and "τ = 6" in words
    assert "after 1,000 trials" in words
    assert at.session_state["lab_seed"] == 7


@pytest.mark.parametrize(
    "bad",
    [{"lab_c": "2"}, {"lab_rules": "random.lucky"}, {"lab_seed": "-1"}, {"lab_n": "12"}, {"lab_place": "moon"}],
)
def test_a_bad_link_is_said(bad: dict[str, str]) -> None:
    at = open_page("bias_lab", **bad)
    assert "cannot be used" in at.warning[0].value


@pytest.mark.parametrize(
    ("q", "p", "word"),
    [
        (("0.5", "0.3", "0.3"), ("0.1", "0.6", "0.3"), "q sums to 1.1"),
        (("0.5", "-0.3", "0.8"), ("0.1", "0.6", "0.3"), "-0.3"),
        (("0.5", "nan", "0.2"), ("0.1", "0.6", "0.3"), "nan"),
        (("0.5", "", "0.5"), ("0.1", "0.6", "0.3"), "blank"),
    ],
)
def test_bad_distributions_get_a_word_and_are_not_mended(q: tuple[str, ...], p: tuple[str, ...], word: str) -> None:
    with typed(tuple(TypedRow(t, a, b) for t, a, b in zip("abc", q, p, strict=True))):
        at = open_page("bias_lab")
    assert word in text_of(at).replace("−", "-") and at.error
    assert "picture comes as soon as" in text_of(at)
    assert "Draw it and see" not in [x.value for x in at.header]


def test_too_few_rows_are_said() -> None:
    with typed(()):
        at = open_page("bias_lab")
    assert "0 rows" in text_of(at)


@pytest.mark.parametrize("notation", ["leviathan", "chen"])
def test_the_lab_speaks_every_notation(notation: str) -> None:
    at = open_page("bias_lab", notation=notation)
    letters = NOTATIONS[notation]
    assert f"replace the random threshold {letters.r}" in text_of(at)
    assert f"Not {letters.p}: p-value" in text_of(at)
    if notation == "chen":
        assert "r > q/p" in text_of(at) or "rejects when r > q/p" in text_of(at)


def test_a_rule_s_sentence_in_other_letters() -> None:
    assert in_letters("rejects when r > p/q, whatever p says", NOTATIONS["chen"]) == (
        "rejects when r > q/p, whatever q says"
    )


@pytest.mark.skipif(not contexts.contexts(), reason="no recorded places")
def test_a_recorded_place() -> None:
    at = open_page("bias_lab", lab_place="text")
    words = text_of(at)
    assert f"{len(contexts.vocabulary()):,} tokens; α" in words
    assert not at.error
    at.slider(key="lab_heat").set_value(0.0).run()
    assert not at.exception


# --- what the lab computes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", presets())
@pytest.mark.parametrize("c", [0.0, 0.2, 0.25, 0.4, 0.5, 0.6, 0.75, 1.0])
def test_typed_ties_fall_as_on_paper_in_law_sweep_and_simulation(name: str, c: float) -> None:
    place = preset_place(name)
    rule = Rule("fixed", c)
    law = bias_place.law(place, rule)
    floats = output_law(place.p, place.q, place.in_floats(rule))
    assert np.allclose(floats.output, law.output, atol=1e-12)
    line = bias_place.swept(place, "fixed", "residual")
    at = int(np.abs(line.values - c).argmin())
    assert line.tv[at] == pytest.approx(law.tv, abs=1e-9)
    assert bias_place.trades(place, [rule], 4)[0].tv == pytest.approx(law.tv, abs=1e-9)


@pytest.mark.parametrize("name", presets())
@pytest.mark.parametrize("rule", [*RULES])
@pytest.mark.parametrize("fix", ["residual", "target", "argmax"])
def test_the_closing_sentence_is_true_everywhere(name: str, rule: str, fix: str) -> None:
    place = preset_place(name)
    for number in (None, 1.0):
        rules = (Rule(), Rule(rule, number if RULES[rule].parameter else None, fix))
        words = " ".join(bias_worth.conclusion(place, rules, 4))
        told = bias_worth._telling(place, rules)
        law = bias_place.law(place, told)
        assert "{" not in words and "nan" not in words
        assert ("follows p exactly" in words) == (law.tv < 1e-9)
        assert ("is even faster" in words) <= (law.acceptance < place.alpha)
        assert ("What the other one buys is speed" in words) <= (law.acceptance > place.alpha)


def test_a_run_in_slices_is_the_run_at_once() -> None:
    place, rules = preset_place("vanishes"), (Rule(), Rule("fixed", 0.5))
    run = bias_trials.Run.begin(place, rules, 3)
    while run.n < 1000:
        run.advance(1000, 0.0)
    whole = collect(simulate(place.p, place.q, rules, 1000, 3))
    assert all((a == b).all() for a, b in zip(run.result(1000).counts, whole.counts, strict=True))


def test_files_can_be_read_back() -> None:
    place, rules = preset_place("vanishes"), (Rule(), Rule("fixed", 0.5))
    rows = list(csv.DictReader(io.StringIO(bias_worth.laws_csv(place, rules))))
    assert [row["token"] for row in rows][:3] == ["sofa", "mat", "moon"]
    swept = list(csv.DictReader(io.StringIO(bias_worth.sweep_csv(place, rules))))
    assert len(swept) == 101 and float(swept[50]["tv"]) == pytest.approx(0.1)
    data = json.loads(bias_worth.as_json(place, rules, 4))
    assert data["laws"][1]["kl_target_output"] == "inf" and data["laws"][0]["tv"] == pytest.approx(0, abs=1e-12)


# --- with models ----------------------------------------------------------------------------------------------------


def wait(job: Any) -> None:
    end = time.monotonic() + SECONDS
    while job.active and time.monotonic() < end:
        time.sleep(0.01)
    assert not job.active


def test_a_place_from_models() -> None:
    runner = Runner(lambda name: toy_pair())
    job = PlaceJob(Asked("the cat", "toy", 1, 1.0))
    runner.ask(job, None)
    wait(job)
    assert job.place is not None and not job.error
    assert job.place.p.sum() == pytest.approx(1) and job.tokens == [" the", " cat"]
    whole = PlaceJob(Asked("the cat", "toy", 0, 1.0))
    runner.ask(whole, None)
    wait(whole)
    assert whole.place is not None and whole.place != job.place


def test_texts_grow_and_can_be_stopped() -> None:
    runner = Runner(lambda name: toy_pair(), start=False)
    job = TextsJob(Settings("the cat", "toy", max_new_tokens=4), [Rule("fixed", 0.5)], 8)
    assert job.rules[0] == Rule()
    job.enter()
    runner.ask(job, None)
    for _ in range(7):
        runner.turn(job)
        if job in runner._queue:
            runner._queue.remove(job)
    runner.stop(job)
    job.state = bias_live.State.IDLE
    study = job.study()
    assert study is not None and len(study.rules) == 2
    assert min(len(x.texts) for x in study.rules) == 3
    bias_jobs._running.clear()


def test_no_more_than_a_few_text_runs_at_once() -> None:
    jobs = [TextsJob(Settings("the cat", "toy"), [], 2) for _ in range(bias_jobs.MOST_RUNS + 1)]
    try:
        for job in jobs[:-1]:
            job.enter()
        with pytest.raises(Busy):
            jobs[-1].enter()
    finally:
        bias_jobs._running.clear()


def test_the_exact_rule_comes_first_and_once() -> None:
    rules = exact_first([Rule("fixed", 0.5), Rule(), Rule("always")])
    assert rules == (Rule(), Rule("fixed", 0.5), Rule("always"))


def test_the_page_makes_texts_with_models() -> None:
    at = open_page(
        "bias_lab", lab_texts="live", lab_texts_pair="toy", lab_many="4", lab_long="4", lab_texts_prompt="the cat"
    )
    at.button(key="lab_make").click().run()
    job = at.session_state[bias_live.TEXTS_JOB]
    wait(job)
    at.run()
    assert not at.exception and not at.error
    assert "continued 4 times under each rule" in text_of(at)
    assert "part ways" in text_of(at) or "the same, token for token" in text_of(at)


def test_the_page_asks_models_for_a_place() -> None:
    at = open_page("bias_lab", lab_place="live", lab_pair="toy", lab_prompt="the cat")
    assert "picture comes as soon as" in text_of(at)
    at.button(key="lab_ask").click().run()
    wait(at.session_state[bias_live.PLACE_JOB])
    at.run()
    assert not at.exception and not at.error
    assert "Draft: toy draft" in text_of(at)
    at.text_area(key="lab_prompt").set_value("the dog").run()
    assert "settings have changed" in text_of(at)


# --- the speed page -------------------------------------------------------------------------------------------------


def test_the_speed_page_opens_with_all_its_parts() -> None:
    at = open_page("speed")
    words = text_of(at)
    headings = [x.value for x in at.header]
    assert headings[0] == "Measured, and by the formula" and "When it pays" in headings
    assert "Accepted of what?" in headings
    tables = " ".join(x.value.to_string() for x in at.table).replace("\\", "")
    for number in ("2.3616", "3.3616", "0.5904", "6.86", "1.63"):
        assert number in tables
    assert "not reached" in words
    assert not at.warning and not at.error


def test_published_points_are_reproduced() -> None:
    at = open_page("speed")
    table = next(x.value for x in at.table if "operations, published" in x.value.columns)
    assert len(table) == len(TABLE_1)
    assert list(table["operations, published"]) == list(table["here"])
    assert list(table["speed-up, published"]) == list(table["here, c = 0"])


def test_the_calculator_follows_its_sliders_and_its_link() -> None:
    at = open_page("speed", speed_alpha="0.8", speed_n="4", speed_c="0")
    tables = " ".join(x.value.to_string() for x in at.table).replace("\\", "")
    assert "3.3616" in tables
    at.slider(key="speed_c").set_value(0.9).run()
    assert "Plain decoding is fastest here" in text_of(at)
    assert not at.exception


@pytest.mark.parametrize("bad", [{"speed_alpha": "3"}, {"speed_n": "x"}, {"speed_race": "horse"}])
def test_a_bad_link_to_the_speed_page_is_said(bad: dict[str, str]) -> None:
    assert "cannot be used" in open_page("speed", **bad).warning[0].value


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.99, 1.0])
@pytest.mark.parametrize("tau", [1, 4, 16])
@pytest.mark.parametrize("cost", [0.0, 0.2, 1.0])
def test_advice_can_be_said_of_everything(alpha: float, tau: int, cost: float) -> None:
    words = advice(alpha, tau, cost)
    assert words.endswith(".") and "{" not in words


def test_a_race_is_both_texts_and_survives_its_file() -> None:
    race = speed_race.run(toy_pair(), Settings("the cat", "toy", max_new_tokens=20, seed=3), "here", "Toy")
    assert len(race.plain_seconds) == len(race.plain_tokens) and len(race.block_seconds) == len(race.trace.blocks)
    again = speed_race.from_json(speed_race.to_json(race))
    assert again.trace == race.trace and again.plain_tokens == race.plain_tokens
    assert again.gain == pytest.approx(race.gain, rel=0.05) and race.cost > 0


@pytest.mark.parametrize("change", [lambda d: d["plain_seconds"].pop(), lambda d: d["block_seconds"].clear()])
def test_a_race_that_contradicts_itself_is_refused(change: Callable[[Any], None]) -> None:
    race = speed_race.run(toy_pair(), Settings("the cat", "toy", max_new_tokens=8), "here")
    data = json.loads(speed_race.to_json(race))
    change(data)
    with pytest.raises(ValueError, match="times do not fit"):
        speed_race.from_json(json.dumps(data))


def test_a_race_in_the_queue() -> None:
    runner = Runner(lambda name: toy_pair())
    job = RaceJob(Settings("the cat", "toy", max_new_tokens=20), "toy")
    runner.ask(job, None)
    wait(job)
    assert job.race is not None and job.done == (len(job.race.plain_tokens), len(job.race.trace.emitted))


def test_the_page_runs_a_race_and_replays_it() -> None:
    at = open_page("speed", speed_race="live", speed_pair="toy", speed_prompt="the cat")
    at.button(key="race_run").click().run()
    wait(at.session_state["speed_race_job"])
    at.run()
    assert not at.exception
    assert "Per token" in text_of(at)
    at.button(key="race_restart").click().run()
    assert not at.exception
