"""The live part of ``benchmarks.load``: texts asked for at once, one client that stops reading, one that vanishes.

The queue serves one block of every text in turn. So a text may overtake an earlier one only if it needs fewer blocks.

Does not know: how many there are, what is done with the findings.
"""

import argparse
import asyncio
import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from typing import Any
from urllib.parse import urlencode

from benchmarks._streamlit_client import App, Session
from benchmarks._websocket import Gone
from benchmarks.decoding import PROMPTS
from specdec_core.trace import Settings

NARROW = 4096  # bytes that the system may keep for the client that does not read

Text = tuple[str, list[list[str]]]


@dataclass
class Asked:
    """A visitor of the live page: what was asked for, and what was seen of it.

    shown: when the page had come back. blank, open: when the last look was begun that showed no block yet, the text not
    done yet. first, done: when a block was seen, when the text was. All of one clock.
    """

    settings: Settings
    session: Session
    asked: float = 0.0
    shown: float = 0.0
    blank: float = 0.0
    open: float = 0.0
    first: float = 0.0
    done: float = 0.0
    places: list[int] = field(default_factory=list)
    looks: list[float] = field(default_factory=list)
    text: Text | None = None
    errors: list[str] = field(default_factory=list)

    @property
    def blocks(self) -> int:
        return len(self.text[1]) if self.text else 0

    def look(self, begun: float) -> None:
        """Take down what stands on the page: the place in the queue, or the text so far."""
        for alert in self.session.shown("alert"):
            if found := re.match(r"(\d+) texts? (is|are) before yours", alert.element.body):
                self.places.append(int(found[1]))
        for flow in self.session.shown("bidi_component"):
            if flow.name in ("progress_flow", "live_flow"):
                data = json.loads(flow.element.json or flow.element.mixed.json)
                self.text = data["prompt"], [[x["text"] for x in block["tokens"]] for block in data["blocks"]]
        if self.session.repeats:
            self.open = begun
        if not self.text:
            self.blank = begun
        elif not self.first:
            self.first = time.monotonic()


def _settings(i: int, o: argparse.Namespace) -> Settings:
    return Settings(
        PROMPTS[i % len(PROMPTS)],
        tau=2 + i % 3,
        temperature=(1.0, 0.7)[i % 2],
        max_new_tokens=o.tokens,
        seed=1000 * o.seed + i,
    )


async def _arrive(port: int, settings: Settings, window: int = 0) -> Asked:
    session = await Session.connect(port, window)
    s = settings
    link = {"prompt": s.prompt, "seed": s.seed, "tokens": s.max_new_tokens, "tau": s.tau, "temperature": s.temperature}
    await session.open(f"live_models?{urlencode(link)}")
    return Asked(settings, session)


async def _ask(one: Asked) -> None:
    """Press the button. The page that comes back tells the place already."""
    buttons = one.session.pressable(("run_text",))
    if not buttons:
        raise Gone("There is no button that asks for a text.")
    one.asked = time.monotonic()
    await one.session.press(buttons[0])
    one.shown = time.monotonic()
    one.look(one.asked)


async def follow(one: Asked) -> None:
    """Look at the page as often as it asks for it, until the text is there."""
    try:
        while repeats := one.session.repeats:
            fragment, seconds = next(iter(repeats.items()))
            await asyncio.sleep(seconds)
            begun = time.monotonic()
            one.looks.append(await one.session.repeat(fragment))
            one.look(begun)
    except (Gone, OSError, EOFError) as error:
        one.errors.append(str(error))
    one.done = time.monotonic()
    one.errors += one.session.faults
    await one.session.socket.close()


async def _stare(one: Asked) -> None:
    """The slow one: asks as often as its page wants it, and never reads."""
    for fragment, seconds in one.session.repeats.items():
        while not one.session.socket.broken:
            await asyncio.sleep(seconds)
            one.session.repeat_unread(fragment)


async def live(app: App, o: argparse.Namespace) -> tuple[list[Asked], dict[str, Any]]:
    """The readers in the order in which they asked; asked second: one who will not read; third: one who vanishes."""
    readers = [await _arrive(app.port, _settings(i, o)) for i in range(o.live)]
    slow = await _arrive(app.port, _settings(o.live, o), NARROW)
    vanishing = await _arrive(app.port, _settings(o.live + 1, o))
    everybody = [*readers[:1], slow, vanishing, *readers[1:]]
    tasks = []
    for one in everybody:
        try:
            await _ask(one)
        except Gone as error:
            one.errors.append(str(error))
        if one is not vanishing:
            tasks.append(asyncio.create_task(_stare(one) if one is slow else follow(one)))
    vanishing.session.socket.abort()
    stare = tasks.pop(1)
    await asyncio.gather(*tasks)
    stare.cancel()
    unread, cut = await slow.session.socket.unread(2)
    slow.session.socket.abort()
    errors = [f"visitor {i}: {x}" for i, one in enumerate(everybody, start=1) for x in one.errors]
    return readers, {
        "readers": o.live,
        "tokens": o.tokens,
        "errors": errors + app.tracebacks(),
        "slow one, unread, kB": unread / 1000,
        "slow one, cut off": cut,
    }


def judge_live(readers: list[Asked], load: Callable[[], Any]) -> dict[str, Any]:
    """What the readers saw, held against what should have been. load: gives the pair."""
    waiting = [one for one in readers[1:] if one.shown < readers[0].blank]  # when nobody had been served yet
    return {
        "saw their place": sum(bool(one.places) for one in readers),
        "place not as it was": [_number(readers, one) for one in waiting if not _place_right(readers, one)],
        "overtaken": [
            f"{_number(readers, a)} by {_number(readers, b)}"
            for a, b in combinations(readers, 2)
            if a.blocks <= b.blocks and a.open > b.done
        ],
        "text not its own": wrong_texts(readers, load()),
        "until the first block, seconds": [round(one.first - one.asked, 2) if one.first else None for one in readers],
        "until the text was done, seconds": [round(one.done - one.asked, 2) for one in readers],
        "blocks": [one.blocks for one in readers],
        "first place told": [one.places[0] if one.places else 0 for one in readers],
    }


def _number(readers: list[Asked], one: Asked) -> int:
    return readers.index(one) + 1


def _place_right(readers: list[Asked], one: Asked) -> bool:
    """The slow one and the vanishing one asked after the first reader; a place only ever falls."""
    before = readers.index(one) + 2
    return bool(one.places) and one.places[0] == before and all(a >= b > 0 for a, b in pairwise([*one.places, 1]))


def wrong_texts(readers: list[Asked], pair: Any) -> list[int]:
    """Those whose text is not what their settings give in this process, block by block."""
    from specdec_core.decoding import assemble, decode

    wrong = []
    for one in readers:
        trace = assemble(pair, one.settings, list(decode(pair, one.settings)))
        text = "".join(x.text for x in trace.prompt), [[x.text for x in block.emitted] for block in trace.blocks]
        if text != one.text:
            wrong.append(_number(readers, one))
    return wrong
