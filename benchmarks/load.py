"""Many visitors at once, on this machine and without a browser: ``python -m benchmarks.load``.

Starts the app, lets sessions over websockets use it, stops it, prints a table and writes it as JSON. Exit status 1 when
a bar is missed. benchmarks/README.md says what the figures mean.

lessons: students follow deep links into lessons and recorded texts and press what is there, with pauses as people make
them. For every link and every press the time until the script was finished is taken, and the server's memory. A second
wave shows whether the memory of the first was given back, once Streamlit's time for a return (2 minutes) is over.

live: visitors ask for texts of real models at once, one of them stops reading and one vanishes. Everybody must see how
many are before them, be served in turn, and get the very text that ``decode`` gives for the same settings here.

Does not know: how long a browser takes to draw, what a network adds, how a real class shares its time. The visitors run
on the same machine as the server; what they take of it is in the result.
"""

import argparse
import asyncio
import importlib.metadata
import json
import os
import random
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._load_live import judge_live, live
from benchmarks._streamlit_client import App, Session, running_app
from benchmarks._websocket import Gone
from benchmarks.decoding import _processor, show
from specdec_core.models import recorded

OUT = Path(__file__).parent / "load.json"
KEPT_SECONDS = 120.0  # Streamlit keeps what a visitor left for so long, and lets go of it when the next one leaves

# The bars. Memory: how far the second wave may grow, as a multiple of the first's growth and in MB on top of it; how
# many files may be open more than before once the first wave's time is over. A session that is kept holds three.
WITHIN, SHARE = 1.0, 0.95
GROWTH, SLACK = 1.25, 5.0
FILES = 9


# --- lessons ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """Where a student goes, and what is pressed there: keys of buttons and menus, or labels where there is no key."""

    link: str
    names: tuple[str, ...]

    @property
    def page(self) -> str:
        return self.link.partition("?")[0]


def _steps(key: str) -> tuple[str, ...]:
    return tuple(f"{key}_{name}" for name in ("back", "next", "reset", "all"))


def places() -> list[Place]:
    """All lessons, some of them twice, and all recorded texts."""
    walk = ("walk_yes", "walk_no", "walk_again", *(f"walk_count_{k}" for k in range(9)))
    blocks = ("Previous block", "Next block")
    lessons = [
        Place("one_token?q=0.8&p=0.6&r=0.7", ("draw_one", "draw_many", "draw_clear")),
        Place("one_block?block_step=1", _steps("block_step")),
        Place("one_block?mode=predict", walk),
        Place("one_block?source=recorded&real_block=2&block_step=1", _steps("block_step")),
        Place("what_the_draft_sees?ctx_t=2", ("ctx_back", "ctx_next", "ctx_example_choice")),
        Place("the_correction?corr_instead=argmax", ("corr_instead_choice", "corr_preset")),
        Place("why_random?why_c=0.4", ("redraw", "why_preset")),
    ]
    texts = [
        Place(f"live_models?live_from=recorded&text={name}&block=2&step=1", (*_steps("step"), *blocks))
        for name in recorded.names()
    ]
    return [*lessons, *texts]


@dataclass
class Tally:
    """What the students of one wave came upon: (page, whether by a link, seconds), and what went wrong."""

    times: list[tuple[str, bool, float]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    memory: float = 0.0
    files: int = 0

    async def watch(self, app: App) -> None:
        """Keep the peaks, until cancelled."""
        while True:
            self.memory, self.files = max(self.memory, app.memory), max(self.files, app.files)
            await asyncio.sleep(0.25)


async def student(port: int, place: Place, chance: random.Random, o: argparse.Namespace, tally: Tally) -> None:
    """Comes within the first seconds, follows the link, presses something after every pause, and stays to the end."""
    end = time.monotonic() + o.seconds
    session = None
    try:
        await asyncio.sleep(chance.uniform(0, o.ramp))
        session = await Session.connect(port)
        tally.times.append((place.page, True, await session.open(place.link)))
        while (pause := chance.uniform(*o.pause)) < end - time.monotonic():
            await asyncio.sleep(pause)
            tally.times.append((place.page, False, await press_something(session, place, chance)))
        await asyncio.sleep(max(0.0, end - time.monotonic()))
    except (Gone, OSError, EOFError) as error:
        tally.errors.append(f"{place.link}: {error}")
    finally:
        if session is not None:
            tally.errors += [f"{place.link}: {fault}" for fault in session.faults]
            await session.socket.close()


async def press_something(session: Session, place: Place, chance: random.Random) -> float:
    found = session.pressable(place.names)
    if not found:
        raise Gone("Nothing on the page can be pressed.")
    what = chance.choice(found)
    return await session.press(what, chance.choice(what.options) if what.options else "")


async def wave(app: App, o: argparse.Namespace, tally: Tally) -> None:
    """All students at once. Every wave has the same students."""
    where = places()
    watch = asyncio.create_task(tally.watch(app))
    chances = [random.Random(1000 * o.seed + i) for i in range(o.sessions)]
    await asyncio.gather(*(student(app.port, where[i % len(where)], x, o, tally) for i, x in enumerate(chances)))
    watch.cancel()


async def visit(app: App, links: Sequence[str]) -> None:
    """One visitor who opens these pages one after the other and leaves."""
    session = await Session.connect(app.port)
    for link in links:
        await session.open(link)
    await session.socket.close()
    await asyncio.sleep(1)


async def lessons(app: App, o: argparse.Namespace) -> dict[str, Any]:
    """The waves, with the time between them that Streamlit needs to let go of what was left."""
    await visit(app, list({place.page: place.link for place in places()}.values()))  # what is loaded once, for all
    before, files = app.memory, app.files
    memory, opened = {"before": before}, {"before": files}
    later = files
    waves: list[Tally] = []
    server, own, wall = app.seconds, time.process_time(), 0.0
    for i in range(1, o.waves + 1):
        waves.append(Tally())
        start = time.monotonic()
        await wave(app, o, waves[-1])
        wall += time.monotonic() - start
        await asyncio.sleep(1)
        memory |= {f"wave {i}, peak": waves[-1].memory, f"wave {i}, all gone": app.memory}
        opened |= {f"wave {i}, peak": waves[-1].files, f"wave {i}, all gone": app.files}
        if i < o.waves:
            await asyncio.sleep(o.rest)
            await visit(app, [""])
            memory[f"wave {i}, {o.rest:g} s later"] = app.memory
            opened[f"wave {i}, {o.rest:g} s later"] = later = app.files
    growth = [x.memory - before for x in waves]
    count = sum(len(x.times) for x in waves)
    judged = o.waves > 1 and o.rest > KEPT_SECONDS
    errors = [error for x in waves for error in x.errors] + app.tracebacks()
    return {
        "sessions": o.sessions,
        "seconds": o.seconds,
        "waves": o.waves,
        **times([one for x in waves for one in x.times]),
        "errors": len(errors),
        "first errors": errors[:20],
        "memory, MB": memory | {"per session": growth[0] / o.sessions},
        "open files": opened,
        "memory given back": growth[1] <= GROWTH * growth[0] + SLACK and later <= files + FILES if judged else None,
        "connected at the end": app.connected(),
        "server, processor seconds per interaction": (app.seconds - server) / max(1, count),
        "server, cores": (app.seconds - server) / wall,
        "visitors, cores": (time.process_time() - own) / wall,
    }


def times(all_of_them: list[tuple[str, bool, float]]) -> dict[str, Any]:
    """Figures of all interactions, of links and of presses, and the median press of every page."""
    pages = sorted({page for page, link, _ in all_of_them if not link})
    return {
        "all": figures([x for _, _, x in all_of_them]),
        "links": figures([x for _, link, x in all_of_them if link]),
        "presses": figures([x for _, link, x in all_of_them if not link]),
        "presses by page, median seconds": {
            page: float(np.median([x for name, link, x in all_of_them if name == page and not link])) for page in pages
        },
    }


def figures(seconds: list[float]) -> dict[str, float]:
    """What is said of a list of times."""
    if not seconds:
        return {"count": 0}
    middle, most = np.quantile(seconds, [0.5, 0.95])
    return {
        "count": len(seconds),
        "median, seconds": float(middle),
        "95 %, seconds": float(most),
        "longest, seconds": max(seconds),
        f"within {WITHIN:g} s": sum(x <= WITHIN for x in seconds) / len(seconds),
    }


# --- the result ------------------------------------------------------------------------------------------------------


def missed(result: dict[str, Any]) -> list[str]:
    """The bars that were not reached, in plain words."""
    found = []
    if part := result.get("lessons"):
        share = part["all"].get(f"within {WITHIN:g} s", 0.0)
        checks = {
            f"lessons: {part['errors']} errors": part["errors"],
            f"lessons: {100 * share:.1f} % within {WITHIN:g} s": share < SHARE,
            "lessons: memory not given back": part["memory given back"] is False,
            "lessons: sessions left open": part["connected at the end"],
        }
        found += [text for text, bad in checks.items() if bad]
    if part := result.get("live"):
        for name in ("errors", "place not as it was", "overtaken", "text not its own"):
            found += [f"live: {name}: {part[name]}"] if part[name] else []
        found += ["live: nobody saw a place"] if part["readers"] > 1 and not part["saw their place"] else []
    return found


def about() -> dict[str, Any]:
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load before": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "python": sys.version.split()[0],
        "streamlit": importlib.metadata.version("streamlit"),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the parts, each with an app of its own. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default="lessons,live", help="which to run")
    parser.add_argument("--sessions", type=int, default=80, help="students at once")
    parser.add_argument("--seconds", type=float, default=120, help="how long a wave of students lasts")
    parser.add_argument("--ramp", type=float, default=20, help="seconds within which all of them come")
    parser.add_argument("--pause", type=float, nargs=2, default=(2, 5), help="seconds between presses, from and to")
    parser.add_argument("--waves", type=int, default=2)
    parser.add_argument("--rest", type=float, default=KEPT_SECONDS + 5, help="seconds between waves")
    parser.add_argument("--live", type=int, default=8, help="readers who ask for live texts at once")
    parser.add_argument("--tokens", type=int, default=32, help="length of a live text")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=OUT)
    o = parser.parse_args(arguments)
    result: dict[str, Any] = {"about": about()}
    if "lessons" in o.parts.split(","):
        with running_app() as app:
            result["lessons"] = asyncio.run(lessons(app, o))
    if "live" in o.parts.split(","):
        from specdec_core.models.pairs import load_pair

        with running_app() as app:
            readers, found = asyncio.run(live(app, o))
        looks = figures([x for one in readers for x in one.looks])
        result["live"] = found | judge_live(readers, load_pair) | {"looks": looks}
    result["missed"] = missed(result)
    show(result)
    o.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 1 if result["missed"] else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the app is ended too
    sys.exit(main())
