"""A real Chromium over the real site."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from sistolica.project import find_project
from sistolica.site.build import build
from sistolica.site.serve import start_server

INSTALL = "apt-get install chromium"
FLAGS = (
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


@pytest.fixture(scope="session")
def site():
    """The address of the site in both languages, built (or found unchanged) and served."""
    server = start_server(build(find_project()).site)
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="session")
def browser():
    """The system's Chromium."""
    from playwright.sync_api import sync_playwright

    names = ("chromium", "chromium-browser", "google-chrome")
    chromium = next((path for path in map(shutil.which, names) if path), None)
    if chromium is None:
        pytest.skip(f"no Chromium on PATH; install it with: {INSTALL}")
    flags = [*FLAGS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=flags)
        yield opened
        opened.close()


@dataclass
class Visit:
    """An open page and what went wrong on it."""

    page: object
    faults: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)


@pytest.fixture
def visit(site, browser) -> Iterator[object]:
    """``visit("es/index.html", dark=True, width=360)`` opens a page in a context of its own and waits until it is quiet."""
    contexts = []

    def open_page(address: str, *, dark: bool = False, width: int = 1440, base: str = site, **options) -> Visit:
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
            **options,
        )
        contexts.append(context)
        visited = Visit(context.new_page())
        watch(visited, base)
        visited.page.goto(f"{base}/{address}", wait_until="networkidle")
        return visited

    yield open_page
    for context in contexts:
        context.close()


def watch(visited: Visit, base: str) -> None:
    """Note page errors, complaints on the console, failed requests, and requests to anybody else."""
    page = visited.page
    page.on("pageerror", lambda error: visited.faults.append(f"page error: {error}"))
    page.on("console", lambda said: visited.faults.append(said.text) if said.type in {"error", "warning"} else None)
    page.on("response", lambda got: visited.faults.append(f"{got.status} {got.url}") if got.status >= 400 else None)
    page.on("requestfailed", lambda request: visited.faults.append(f"failed: {request.url}"))
    page.on(
        "request",
        lambda request: (
            None if request.url.startswith((base, "data:", "blob:")) else visited.foreign.append(request.url)
        ),
    )
