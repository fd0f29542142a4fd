"""The app as a server of its own on this machine, and a browser to look at it with.

For whatever drives the running app: tests, the load run, the pictures of the README. Does not know: what they ask.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
START_SECONDS = 60
OPTIONS = {
    "server.headless": "true",
    "server.address": "127.0.0.1",
    "server.fileWatcherType": "none",
    "browser.gatherUsageStats": "false",
    "logger.enableRich": "false",
}
BROWSER_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
BROWSER_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Nothing leaves this machine, whatever a page asks for.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
]


class NotStarted(Exception):
    """The app did not start. ``str(error)`` holds its log's end."""


@dataclass
class RunningApp:
    """An app server that was started here."""

    port: int
    log: Path
    process: "subprocess.Popen[bytes]"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def log_text(self) -> str:
        """What the server wrote so far."""
        return self.log.read_text("utf-8", errors="replace")

    def is_up(self) -> bool:
        """Whether it says that it is well."""
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=2) as answer:
            return bool(answer.status == 200)
        return False

    def stop(self, how: int = signal.SIGTERM) -> None:
        """End it and whatever it started; ``signal.SIGKILL`` for a crash."""
        with contextlib.suppress(ProcessLookupError):
            if sys.platform == "win32":
                self.process.terminate()
            else:
                os.killpg(self.process.pid, how)
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(timeout=10)


def start(log: Path, environment: Mapping[str, str], port: int | None = None) -> RunningApp:
    """Start a server and wait until it is well; it writes to ``log``. Raises NotStarted.

    environment: added to this process's own, whose settings of the app are left out, all but where the models lie.
    """
    port = port or _free_port()
    options = [f"--{name}={value}" for name, value in OPTIONS.items()]
    kept = {name: x for name, x in os.environ.items() if not name.startswith("SPECDEC_") or name == "SPECDEC_CACHE"}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", "app.py", f"--server.port={port}", *options],
            cwd=ROOT,
            env={**kept, **environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    app = RunningApp(port, log, process)
    deadline = time.monotonic() + START_SECONDS
    while not app.is_up():
        if process.poll() is not None or time.monotonic() > deadline:
            app.stop()
            raise NotStarted(f"The app did not start within {START_SECONDS} s. Its log:\n{app.log_text()[-4000:]}")
        time.sleep(0.1)
    return app


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def find_browser(own: str) -> str | None:
    """A Chromium: the one CHROMIUM names, else the system's, else Playwright's own at the path ``own``."""
    named = os.environ.get("CHROMIUM")
    if named:
        return named
    found = next(filter(None, map(shutil.which, BROWSER_NAMES)), None)
    return found or (own if Path(own).exists() else None)
