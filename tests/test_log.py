"""The server's log: lines of JSON, and nothing in them that a visitor wrote."""

import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from specdec_core import log
from specdec_core.classroom import Classroom, ClassroomError, Settings
from specdec_core.models.protocol import Pair
from specdec_core.models.toy import toy_pair
from specdec_core.runner import Job, Runner
from specdec_core.trace import Settings as Text


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """What is logged, with the configured formatter."""
    logger = logging.getLogger("specdec")
    before, level = list(logger.handlers), logger.level
    logger.handlers.clear()
    out = io.StringIO()
    monkeypatch.setattr("sys.stderr", out)
    log.configure()
    yield out
    logger.handlers[:] = before
    logger.setLevel(level)


def read(out: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_a_text_leaves_numbers_only(lines: io.StringIO) -> None:
    runner = Runner(lambda _: toy_pair(), start=False)
    job = Job(Text("the cat", tau=2, max_new_tokens=6, pair="toy"))
    runner.ask(job, None)
    while runner._queue:
        runner.turn(runner._queue.popleft())
    found = read(lines)
    assert [x["event"] for x in found] == ["models_loaded", "text_ended"]
    assert found[1]["blocks"] == len(job.blocks)
    assert "cat" not in lines.getvalue()


def test_a_failure_tells_type_and_place_but_not_its_message(lines: io.StringIO) -> None:
    def broken(_: str) -> Pair:
        raise ZeroDivisionError("Ada wrote: my secret prompt")

    runner = Runner(broken, start=False)
    job = Job(Text("my secret prompt", pair="toy"))
    runner.ask(job, 1)
    runner.turn(runner._queue.popleft())
    (found,) = read(lines)
    assert (found["event"], found["level"], found["error"]) == ("block_failed", "error", "ZeroDivisionError")
    assert str(found["at"]).startswith("test_log.py:") and "runner.py:" in str(found["at"])
    assert "secret" not in lines.getvalue() and "Ada" not in lines.getvalue()


def test_names_and_codes_stay_out(lines: io.StringIO, tmp_path: Path) -> None:
    room = Classroom.open(Settings(data_folder=tmp_path))
    with pytest.raises(ClassroomError):
        room.open_desk("a key that is wrong")
    with pytest.raises(ClassroomError):
        room.join("ABCD-EFGH", "Ada Lovelace")
    room.close()
    assert not any(word in lines.getvalue() for word in ("Ada", "ABCD", "a key that is wrong"))


@pytest.mark.parametrize(("level", "count"), [("info", 2), ("error", 1), ("off", 0), ("nonsense", 2)])
def test_levels(level: str, count: int, monkeypatch: pytest.MonkeyPatch, lines: io.StringIO) -> None:
    logging.getLogger("specdec").handlers.clear()
    monkeypatch.setenv(log.LEVEL, level)
    monkeypatch.setattr("sys.stderr", lines)
    log.configure()
    log.configure()  # a second time changes nothing
    log.event("one", share=0.123456)
    log.failure("two", ValueError("hidden"))
    found = read(lines)
    assert len(found) == count
    if count == 2:
        assert found[0]["share"] == 0.123 and "hidden" not in lines.getvalue()
