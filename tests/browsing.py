"""What browser tests share: where things are on a page, and when it has come to rest. Does not know: any page."""

from typing import Any

MAIN = '[data-testid="stMain"]'
CARDS = "ol.cards > li"
SETTLED = '[data-testid="stApp"][data-test-script-state="notRunning"]'


def settle(page: Any) -> None:
    """Wait until the page's script has been at rest for a third of a second.

    A press reaches the server after a moment, and until then the page looks as if nothing was to come.
    """
    page.wait_for_function(
        """selector => {
            const now = performance.now()
            if (!document.querySelector(selector) || !window.specdecRest) window.specdecRest = now
            const rested = now - window.specdecRest > 300
            if (rested) window.specdecRest = undefined
            return rested
        }""",
        arg=SETTLED,
        polling=50,
    )


def press_steps(page: Any, *keys: str) -> None:
    """Press keys that step through a block, once its cards are there, and the buttons that the keys belong to."""
    page.locator(CARDS).first.wait_for()
    page.get_by_role("button", name="Start over").first.wait_for()
    page.get_by_role("button", name="Play").first.wait_for()
    settle(page)
    for key in keys:
        page.keyboard.press(key)
        settle(page)
