"""The pictures of the README: ``make screenshots``, or ``python -m scripts.screenshots``.

Starts the app on a free port, opens the pages below in a headless Chromium, and writes docs/images/NAME.png. What they
show comes from recorded texts and fixed seeds, so that they change only when the app does. Does not know: what is good
to look at; whoever runs it opens the pictures.
"""

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from scripts import serving

OUT = serving.ROOT / "docs" / "images"
SETTLED = '[data-testid="stApp"][data-test-script-state="notRunning"]'


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
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        app = serving.start(Path(folder) / "app.log", {"SPECDEC_DATA": folder})
        own = playwright.chromium
        browser = own.launch(executable_path=serving.find_browser(own.executable_path), args=serving.BROWSER_FLAGS)
        try:
            for shot in SHOTS:
                if not options.only or shot.name in options.only:
                    take(browser, app.url, shot, options.out)
        finally:
            browser.close()
            app.stop()


if __name__ == "__main__":
    main()
