"""The pictures of the README: ``make screenshots``, or ``python -m scripts.screenshots``.

Starts the app on a free port, opens the pages below in a headless Chromium, and writes docs/images/NAME.png. What they
show comes from recorded texts and fixed seeds, so that they change only when the app does. Does not know: what is good
to look at; whoever runs it opens the pictures.
"""

import argparse
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "docs" / "images"
SETTLED = '[data-testid="stApp"][data-test-script-state="notRunning"]'
START_SECONDS = 60
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@dataclass(frozen=True)
class Shot:
    """One picture: a link of the app, and how large the window is."""

    name: str
    link: str
    width: int = 1280
    height: int = 720
    dark: bool = False
    press: str = ""


SHOTS = (
    Shot("start", "", press="End"),
    Shot("one_token", "one_token?q=0.5&p=0.3&r=0.42"),
    Shot("why_random", "why_random"),
    Shot("bias_lab", "bias_lab", dark=True),
    Shot("exercises", "exercises?family=first_rejected&level=2&seed=17"),
    Shot("phone", "", width=390, height=844, press="End"),
)


@contextlib.contextmanager
def app() -> Iterator[str]:
    """The app on a free port of this machine, with a data folder that is thrown away."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    flags = ["--server.headless=true", "--server.address=127.0.0.1", f"--server.port={port}"]
    with tempfile.TemporaryDirectory() as data:
        process = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", "app.py", *flags],
            cwd=ROOT,
            env={**os.environ, "SPECDEC_DATA": data},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            yield _wait(f"http://127.0.0.1:{port}", process)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()


def _wait(url: str, process: "subprocess.Popen[bytes]") -> str:
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{url}/_stcore/health", timeout=2):
            return url
        time.sleep(0.2)
    raise SystemExit("The app did not start.")


def launch(playwright: Any) -> Any:
    """A headless Chromium: the one that CHROMIUM names, the system's, or Playwright's own."""
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    return playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])


def take(browser: Any, url: str, shot: Shot, out: Path) -> None:
    """Open the link, let it come to rest, press the key, and save what a person sees first."""
    context = browser.new_context(
        viewport={"width": shot.width, "height": shot.height},
        color_scheme="dark" if shot.dark else "light",
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.goto(f"{url}/{shot.link}")
    page.locator(SETTLED).wait_for()
    page.wait_for_timeout(1500)
    if shot.press:
        page.keyboard.press(shot.press)
        page.wait_for_timeout(800)
        page.locator(SETTLED).wait_for()
    page.screenshot(path=str(out / f"{shot.name}.png"))
    context.close()
    print(f"{shot.name}.png", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--only", choices=[shot.name for shot in SHOTS], nargs="+")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    from playwright.sync_api import sync_playwright

    with app() as url, sync_playwright() as playwright:
        browser = launch(playwright)
        for shot in SHOTS:
            if not options.only or shot.name in options.only:
                take(browser, url, shot, options.out)
        browser.close()


if __name__ == "__main__":
    main()
