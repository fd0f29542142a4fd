"""What the tests share: a running app, a real browser that watches its own console, and when a test may be skipped.

    app_url      the address of one app server that all tests share
    start_app    starts further servers with an environment of their own: start_app({"SPECDEC_DATA": ...}).url
    new_page     a page of a real browser: new_page(), new_page(width=390, color_scheme="dark")
    open_app     a page that shows the app, settled: open_app("one_block?tau=3", width=390)
    watch        what the pages of this test complained about; watch.allow(r"pattern") where a complaint is the point

A page that logs an error, or asks any machine but this one for anything, fails the test that opened it.

Does not know: what is on a page.
"""

import os
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import settings

from scripts import serving

CI = os.environ.get("CI", "").lower() in ("1", "true", "yes")
SETTLE_MILLISECONDS = 30_000
NEEDY = ("browser", "real_pair", "postgres")
LOG_TAIL = 4000

settings.register_profile("dev", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if CI else "dev")


# --- which tests run -------------------------------------------------------------------------------------------------


def pytest_configure(config: pytest.Config) -> None:
    """Keep this machine's own settings and data out of the tests, and the tests off the network."""
    for name in [name for name in os.environ if name.startswith("SPECDEC_") and name != "SPECDEC_CACHE"]:
        del os.environ[name]
    folder = tempfile.TemporaryDirectory(prefix="specdec-tests-", ignore_cleanup_errors=True)
    config.add_cleanup(folder.cleanup)
    os.environ["SPECDEC_DATA"] = folder.name
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    if workers := getattr(config, "workerinput", {}).get("workercount"):
        # Threads of one worker that wait for those of another cost far more than they bring.
        os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // workers)))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests come last: what fails fast is told first, and Playwright's event loop disturbs nobody."""
    for item in items:
        parameters = getattr(getattr(item, "callspec", None), "params", {}).values()
        if any(isinstance(value, str) and value == "postgresql" for value in parameters):
            item.add_marker("postgres")
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tests of the real pair need it on this machine."""
    if item.get_closest_marker("real_pair"):
        from specdec_core.models import embedded

        problem = embedded.target_problem() or embedded.draft_problem()
        if problem:
            pytest.skip(problem)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """In CI everything is there, so a test that finds its needs missing fails; a failed one shows the servers' logs."""
    report = yield
    if CI and call.when == "setup" and report.skipped and any(map(item.get_closest_marker, NEEDY)):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome, report.longrepr = "failed", f"In CI this must not be skipped. {reason}"
    if report.failed:
        for app in RUNNING:
            report.sections.append((f"log of the app at {app.url}", app.log_text()[-LOG_TAIL:]))
    return report


# --- the app ---------------------------------------------------------------------------------------------------------


RUNNING: list[serving.RunningApp] = []


def _start(log: Path, environment: dict[str, str], port: int | None = None) -> serving.RunningApp:
    """Start a server whose log is shown when a test fails meanwhile."""
    try:
        app = serving.start(log, environment, port)
    except serving.NotStarted as error:
        pytest.fail(str(error))
    RUNNING.append(app)
    return app


def _stop(app: serving.RunningApp) -> None:
    app.stop()
    RUNNING.remove(app)


StartApp = Callable[..., serving.RunningApp]


@pytest.fixture(scope="session")
def app_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an app server that is shared by all tests."""
    folder = tmp_path_factory.mktemp("app")
    app = _start(folder / "app.log", {"SPECDEC_DATA": str(folder / "data")})
    yield app.url
    _stop(app)


@pytest.fixture
def start_app(tmp_path: Path) -> Iterator[StartApp]:
    """A function ``(environment={}, port=None)`` that starts a fresh server; all of them end with the test."""
    apps: list[serving.RunningApp] = []

    def start(environment: dict[str, str] | None = None, port: int | None = None) -> serving.RunningApp:
        data = {"SPECDEC_DATA": str(tmp_path / "data")}
        apps.append(_start(tmp_path / f"app-{len(apps)}.log", data | (environment or {}), port))
        return apps[-1]

    yield start
    for app in apps:
        _stop(app)


# --- the browser -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A headless Chromium for the whole run."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = serving.find_browser(playwright.chromium.executable_path)
        if path is None:
            pytest.skip(
                "No Chromium on this machine: install the system's, or run `python -m playwright install chromium`, "
                "or name one in the environment variable CHROMIUM."
            )
        instance = playwright.chromium.launch(executable_path=path, headless=True, args=serving.BROWSER_FLAGS)
        yield instance
        instance.close()


# On a deep link Streamlit's page asks the folder of the link first, then the one above it.
BASE_PATH_PROBE = r"status of 404 .*/\w+/_stcore/(health|host-config)\)$"


@dataclass
class Watch:
    """Collects what pages complain about and what they ask of other machines."""

    problems: list[str] = field(default_factory=list)
    allowed: list[str] = field(default_factory=lambda: [BASE_PATH_PROBE])

    def allow(self, pattern: str) -> None:
        """Complaints that match are expected in this test."""
        self.allowed.append(pattern)

    def unexpected(self) -> list[str]:
        """The complaints nobody allowed."""
        return [text for text in self.problems if not any(re.search(pattern, text) for pattern in self.allowed)]

    def context(self, context: Any) -> None:
        """Begin to watch every page of a browser context."""
        context.on("console", self._console)
        context.on("weberror", lambda error: self.problems.append(f"error in the page: {error.error}"))
        context.on("request", lambda request: self._address(request.url))
        context.on("page", lambda page: page.on("websocket", lambda sock: self._address(sock.url)))

    def _console(self, message: Any) -> None:
        if message.type == "error":
            self.problems.append(f"console: {message.text} ({message.location.get('url', '')})")

    def _address(self, url: str) -> None:
        parts = urlsplit(url)
        inside = parts.scheme in ("data", "blob", "about") or parts.hostname in ("127.0.0.1", "localhost", "::1")
        if not inside:
            self.problems.append(f"request to another machine: {url[:200]}")


@pytest.fixture
def watch() -> Iterator[Watch]:
    """What this test's pages complained about. The test fails when anything is left that was not allowed."""
    watcher = Watch()
    yield watcher
    if watcher.unexpected():
        pytest.fail("The pages of this test complained:\n" + "\n".join(dict.fromkeys(watcher.unexpected())))


@pytest.fixture
def new_page(browser: Any, watch: Watch) -> Iterator[Callable[..., Any]]:
    """A function ``(width=1280, height=720, **context_options)`` that opens an empty page with fresh storage."""
    contexts = []

    def make(width: int = 1280, height: int = 720, **options: Any) -> Any:
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        context.set_default_timeout(SETTLE_MILLISECONDS)
        watch.context(context)
        contexts.append(context)
        return context.new_page()

    yield make
    for context in contexts:
        context.close()


@pytest.fixture
def open_app(app_url: str, new_page: Callable[..., Any]) -> Callable[..., Any]:
    """A function ``(path="", url=app_url, **options of new_page)``: a page that shows the app and has come to rest."""

    def show(path: str = "", url: str = app_url, **options: Any) -> Any:
        page = new_page(**options)
        page.goto(f"{url}/{path}")
        page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]').wait_for()
        page.locator('[data-testid="stMain"] h1').first.wait_for()
        return page

    return show
