"""A real Chromium over the real site, and over the small course for words that no chapter has yet."""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from sistolica.project import Project
from sistolica.site.build import build
from sistolica.site.serve import start_server

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
)
WIDE, PHONE = {"width": 1440, "height": 900}, {"width": 360, "height": 740}


@dataclass
class Watched:
    """A page that records what must not happen on it."""

    page: Page
    origin: str
    faults: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("pageerror", lambda error: self.faults.append(f"page error: {error}"))
        self.page.on("console", self._hear)
        self.page.on("response", self._see)
        self.page.on("requestfailed", self._miss)
        self.page.on("request", lambda request: self.requests.append(request.url))

    def _miss(self, request) -> None:
        # the root page sends its reader on while it is still arriving, which cuts its own request short
        sent_on = request.is_navigation_request() and request.failure == "net::ERR_ABORTED"
        if not sent_on:
            self.faults.append(f"failed: {request.url} ({request.failure})")

    def _hear(self, message) -> None:
        if message.type in {"error", "warning"}:
            self.faults.append(f"console {message.type}: {message.text}")

    def _see(self, response) -> None:
        if response.status >= 400:
            self.faults.append(f"{response.status} {response.url}")

    @property
    def foreign(self) -> list[str]:
        """Requests that left our origin."""
        return [url for url in self.requests if not url.startswith((self.origin, "data:", "blob:"))]

    def goto(self, path: str, until: str = "load") -> Page:
        self.page.goto(self.origin + path, wait_until=until)
        return self.page

    @property
    def path(self) -> str:
        """Where the page is now, inside the site."""
        return re.sub(r"\?[^#]*", "", self.page.url).removeprefix(self.origin)


@pytest.fixture(scope="package")  # playwright occupies the thread's event loop: give it back before other tests run
def chromium() -> Iterator[Browser]:
    program = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if program is None:
        pytest.skip("no Chromium on PATH; install it with: apt-get install -y chromium")
    as_root = ("--no-sandbox",) if os.geteuid() == 0 else ()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=[*FLAGS, *as_root])
        yield browser
        browser.close()


@contextmanager
def served(folder: Path) -> Iterator[str]:
    server = start_server(folder)
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="package")
def project(pytestconfig) -> Project:
    return Project(pytestconfig.rootpath)


@pytest.fixture(scope="package")
def origin(project) -> Iterator[str]:
    """The address of the course's own site."""
    with served(build(project).site) as address:
        yield address


@pytest.fixture(scope="package")
def small_origin(small_course) -> Iterator[str]:
    """The address of the small course."""
    with served(small_course.build / "site") as address:
        yield address


@pytest.fixture(scope="module")
def open_context(chromium) -> Iterator[Callable[..., BrowserContext]]:
    """Contexts by their options, shared by the tests of a module."""
    opened: dict[str, BrowserContext] = {}

    def get(**options) -> BrowserContext:
        key = repr(sorted(options.items()))
        if key not in opened:
            opened[key] = chromium.new_context(**{"viewport": WIDE, "locale": "es", **options})
            opened[key].set_default_timeout(15_000)
        return opened[key]

    yield get
    for context in opened.values():
        context.close()


@pytest.fixture
def watch(open_context, origin) -> Iterator[Callable[..., Watched]]:
    """Opens a watched page of the course's site, or of ``at``, in a context with these options."""
    opened: list[Page] = []

    def open_page(at: str = origin, **options) -> Watched:
        opened.append(open_context(**options).new_page())
        return Watched(opened[-1], at)

    yield open_page
    for page in opened:
        page.close()


@pytest.fixture
def fresh(chromium, origin) -> Iterator[Callable[..., Watched]]:
    """Like ``watch``, for a reader who has never been here: nothing is stored."""
    opened: list[BrowserContext] = []

    def open_page(**options) -> Watched:
        opened.append(chromium.new_context(**{"viewport": WIDE, **options}))
        opened[-1].set_default_timeout(15_000)
        return Watched(opened[-1].new_page(), origin)

    yield open_page
    for context in opened:
        context.close()
