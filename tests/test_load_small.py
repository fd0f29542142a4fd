"""The load run, as small as it gets: so that it still finds its way around the pages when somebody means to run it.

Does not know: whether the app is fast enough; for that a machine must be left alone.
"""

import json
from pathlib import Path

from benchmarks import load


def test_students_find_something_to_press(tmp_path: Path) -> None:
    out = tmp_path / "load.json"
    small = "--parts lessons --sessions 4 --seconds 6 --ramp 1 --pause 0.5 1 --waves 1 --out"
    load.main([*small.split(), str(out)])
    found = json.loads(out.read_text())["lessons"]
    assert not found["errors"], found["first errors"]
    assert found["links"]["count"] == 4 and found["presses"]["count"] >= 4
    assert found["connected at the end"] == 0


def test_every_lesson_and_every_recorded_text_is_visited() -> None:
    pages = {place.page for place in load.places()}
    assert pages == {
        "one_token",
        "one_block",
        "what_the_draft_sees",
        "the_correction",
        "why_random",
        "live_models",
    }
    links = [place.link for place in load.places()]
    assert all(any(f"text={name}&" in link for link in links) for name in load.recorded.names())


def test_a_missed_bar_is_told() -> None:
    good = {"count": 10, f"within {load.WITHIN:g} s": 1.0}
    lessons = {"all": good, "errors": 0, "memory given back": True, "connected at the end": 0}
    live = {"errors": [], "place not as it was": [], "overtaken": [], "text not its own": [], "readers": 2}
    live["saw their place"] = 1
    assert load.missed({"lessons": lessons, "live": live}) == []
    bad = [
        {"lessons": lessons | {"errors": 1}},
        {"lessons": lessons | {"all": {"count": 0}}},
        {"lessons": lessons | {"memory given back": False}},
        {"lessons": lessons | {"connected at the end": 1}},
        {"live": live | {"text not its own": [2]}},
        {"live": live | {"overtaken": ["1 by 2"]}},
        {"live": live | {"saw their place": 0}},
    ]
    assert all(len(load.missed(result)) == 1 for result in bad)
