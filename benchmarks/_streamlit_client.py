"""The app in a process of its own, and its visitors without a browser: sessions as the pinned Streamlit speaks them.

A session keeps of its page what a person could press or has to be told, and drops what a run no longer draws, so that
it presses only what is there. The server sends nothing unasked, so messages are read only while a run is waited for.

Does not know: what is on which page, what is measured. It draws nothing, fetches no scripts, fonts or pictures, and has
no keyboard and no custom component to click on.
"""

import asyncio
import contextlib
import re
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.NumberInput_pb2 import NumberInput
from streamlit.proto.WidgetStates_pb2 import WidgetState

from benchmarks._websocket import Gone, Socket
from scripts import serving

RUN_SECONDS = 30.0
_KINDS = {"button", "selectbox", "button_group", "bidi_component", "alert", "exception"}
_VALUED = {"slider", "number_input", "text_input", "text_area", "checkbox"}
_OVER = (
    ForwardMsg.FINISHED_SUCCESSFULLY,
    ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY,
    ForwardMsg.FINISHED_WITH_COMPILE_ERROR,
)


# --- the app ---------------------------------------------------------------------------------------------------------

CUT_OFF = "Unexpected ASGI message 'websocket.send', after sending 'websocket.close'"


@dataclass
class App:
    """The running app: its port, its process, what it wrote."""

    port: int
    process: psutil.Process
    log: Path

    @property
    def memory(self) -> float:
        """Resident megabytes."""
        return self.process.memory_info().rss / 2**20

    @property
    def files(self) -> int:
        """How many files and connections it holds open. Every session that is kept, connected or not, holds some."""
        return int(self.process.num_fds()) if hasattr(self.process, "num_fds") else 0

    @property
    def seconds(self) -> float:
        """Processor time used so far."""
        return float(sum(self.process.cpu_times()[:2]))

    def ask(self, path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/_stcore/{path}", timeout=10) as answer:
            return str(answer.read().decode())

    def connected(self) -> int:
        """How many sessions the server holds to be connected, by its own count."""
        lines = self.ask("metrics?families=active_sessions").splitlines()
        return int(next(line.split()[-1] for line in lines if line.startswith("active_sessions ")))

    def tracebacks(self) -> list[str]:
        """The last line of every traceback in the log, but for the one that the server writes of itself when it has cut
        off a visitor who does not read.
        """
        found = re.findall(r"Traceback \(most recent call last\):\n(?:\s.*\n|\n)*(.*)", self.log.read_text("utf-8"))
        return [f"traceback in the server's log: {line}" for line in found if CUT_OFF not in line]


@contextlib.contextmanager
def running_app() -> Iterator[App]:
    """The app in a process of its own, on a free port of this machine only, with empty data; ended in any case."""
    with tempfile.TemporaryDirectory(prefix="specdec-load-", ignore_cleanup_errors=True) as folder:
        try:
            running = serving.start(Path(folder) / "app.log", {"SPECDEC_DATA": str(Path(folder) / "data")})
        except serving.NotStarted as error:
            raise SystemExit(str(error)) from None
        try:
            yield App(running.port, psutil.Process(running.process.pid), running.log)
        finally:
            running.stop()


# --- the page --------------------------------------------------------------------------------------------------------


@dataclass
class Shown:
    """One element of the page, with the fragment it belongs to and the run that drew it."""

    kind: str
    element: Any
    fragment: str
    run: str

    @property
    def name(self) -> str:
        """The key its page gave it, else its label."""
        key = self.element.id.split("-", 2)[-1]
        return key if key != "None" else self.element.label

    @property
    def options(self) -> list[str]:
        """What can be chosen: texts of a menu or of buttons in a row; a plain button has none."""
        if self.kind == "selectbox":
            return list(self.element.options)
        return [x.content for x in self.element.options] if self.kind == "button_group" else []

    def pressed(self, option: str = "") -> WidgetState:
        """What the browser would send when it is pressed, or when ``option`` is chosen."""
        state = WidgetState(id=self.element.id)
        if self.kind == "selectbox":
            state.string_value = option
        elif self.kind == "button_group":
            state.string_array_value.data.append(option)
        else:
            state.trigger_value = True
        return state


def _value(kind: str, element: Any) -> WidgetState:
    """The value a widget stands at, which the browser sends with every run."""
    state = WidgetState(id=element.id)
    value = element.value if element.set_value else element.default
    if kind == "slider":
        state.double_array_value.data.extend(value)
    elif kind == "checkbox":
        state.bool_value = value
    elif kind != "number_input":
        state.string_value = value
    elif element.data_type == NumberInput.INT:
        state.int_value = int(value)
    else:
        state.double_value = value
    return state


class Session:
    """A visitor: one connection, one page at a time, one run at a time.

    socket: for what only a load run does to it.
    faults: what no visitor should see, in plain words: exceptions on the page, pages that were not found.
    repeats: fragments that ask to be run again by themselves, and after how many seconds.
    """

    def __init__(self, connection: Socket) -> None:
        self.socket = connection
        self.faults: list[str] = []
        self.repeats: dict[str, float] = {}
        self._page: dict[tuple[int, ...], Shown] = {}
        self._values: dict[str, WidgetState] = {}
        self._query = self._hash = self._run = ""
        self._fragments: frozenset[str] = frozenset()

    @classmethod
    async def connect(cls, port: int, window: int = 0) -> "Session":
        """A new visitor, who sees nothing yet. window: as for a socket."""
        return cls(await Socket.connect(port, "/_stcore/stream", window))

    async def open(self, link: str) -> float:
        """Follow a link such as ``one_token?q=0.5``. Returns the seconds until its script was finished."""
        page, _, self._query = link.partition("?")
        return await self._rerun(BackMsg(), page_name=page)

    async def press(self, what: Shown, option: str = "") -> float:
        """Press a button or choose an option. Returns the seconds until the script was finished."""
        message = BackMsg()
        message.rerun_script.widget_states.widgets.append(what.pressed(option))
        return await self._rerun(message, page_script_hash=self._hash, fragment_id=what.fragment)

    async def repeat(self, fragment: str) -> float:
        """Run a fragment again because its time has come."""
        return await self._rerun(self._repetition(), page_script_hash=self._hash, fragment_id=fragment)

    def repeat_unread(self, fragment: str) -> None:
        """The same, without reading what comes."""
        self._send(self._repetition(), page_script_hash=self._hash, fragment_id=fragment)

    def shown(self, *kinds: str) -> Iterator[Shown]:
        """What is on the page of these kinds, from top to bottom."""
        return (x for _, x in sorted(self._page.items()) if x.kind in kinds)

    def pressable(self, names: tuple[str, ...]) -> list[Shown]:
        """What of these names can be pressed now."""
        found = self.shown("button", "selectbox", "button_group")
        return [x for x in found if x.name in names and not x.element.disabled]

    def _repetition(self) -> BackMsg:
        message = BackMsg()
        message.rerun_script.is_auto_rerun = True
        return message

    async def _rerun(self, message: BackMsg, **fields: str) -> float:
        start = time.perf_counter()
        self._send(message, **fields)
        try:
            async with asyncio.timeout(RUN_SECONDS):
                await self._over()
        except TimeoutError:
            raise Gone(f"A script did not finish within {RUN_SECONDS:g} s.") from None
        except (OSError, EOFError) as error:
            raise Gone(f"The connection broke: {error}") from error
        return time.perf_counter() - start

    def _send(self, message: BackMsg, **fields: str) -> None:
        state = message.rerun_script
        for name, value in fields.items():
            setattr(state, name, value)
        state.query_string = self._query
        state.widget_states.widgets.extend(self._values.values())
        state.context_info.color_scheme = "light"
        self.socket.send(message.SerializeToString())

    async def _over(self) -> None:
        """Read until the run that was asked for is over, and the ones it asks for itself."""
        started = False
        while True:
            message = ForwardMsg.FromString(await self.socket.receive())
            kind = message.WhichOneof("type")
            if kind == "script_finished" and started and message.script_finished in _OVER:
                self._forget_old()
                return
            started = started or kind == "new_session"
            self._take(kind, message)

    def _take(self, kind: str | None, message: ForwardMsg) -> None:
        if kind == "delta":
            self._draw(message)
        elif kind == "new_session":
            self._run = message.metadata.run.script_run_id
            self._fragments = frozenset(message.metadata.run.fragment_ids)
            self._hash = message.new_session.page_script_hash
            if not self._fragments:
                self.repeats.clear()
        elif kind == "navigation":
            self._hash = message.navigation.page_script_hash
        elif kind == "auto_rerun":
            self.repeats[message.auto_rerun.fragment_id] = message.auto_rerun.interval
        elif kind == "stop_auto_rerun":
            for fragment in message.stop_auto_rerun.fragment_ids:
                self.repeats.pop(fragment, None)
        elif kind == "page_info_changed":
            self._query = message.page_info_changed.query_string
        elif kind == "page_not_found":
            self.faults.append(f"page not found: {message.page_not_found.page_name}")
        elif kind == "session_event" and message.session_event.HasField("script_compilation_exception"):
            self.faults.append(message.session_event.script_compilation_exception.message)

    def _draw(self, message: ForwardMsg) -> None:
        path = tuple(message.metadata.delta_path)
        self._page.pop(path, None)
        if message.delta.WhichOneof("type") != "new_element":
            return
        kind = message.delta.new_element.WhichOneof("type")
        if kind not in _KINDS and kind not in _VALUED:
            return
        element = getattr(message.delta.new_element, kind)
        if kind == "exception":
            self.faults.append(f"{element.type}: {element.message}"[:300])
        if kind in _VALUED and (element.set_value or element.id not in self._values):
            self._values[element.id] = _value(kind, element)
        self._page[path] = Shown(kind, element, message.delta.fragment_id, self._run)

    def _forget_old(self) -> None:
        """A finished run owns the page, or its fragments; what it did not draw again is gone."""
        self._page = {
            path: x
            for path, x in self._page.items()
            if x.run == self._run or (self._fragments and x.fragment not in self._fragments)
        }
        ids = {x.element.id for x in self._page.values() if x.kind in _VALUED}
        self._values = {name: value for name, value in self._values.items() if name in ids}
