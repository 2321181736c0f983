"""A local server for the built site, with the headers that live cells need, that rebuilds when a source changes."""

import functools
import os
import sys
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from watchfiles import watch

from sistolica.languages import LANGUAGES
from sistolica.phrases import phrase
from sistolica.project import Project
from sistolica.site.build import sources

HEADERS = {
    # an isolated page may share memory with its worker, which is how a running cell is interrupted
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    # nothing leaves our origin; eval because Sphinx compiles the plural rule of its translated search page
    "Content-Security-Policy": (
        "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data:; font-src 'self' data:; worker-src 'self' blob:; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",  # a rebuilt page shows at the next reload
}


ERROR_PAGE = "\n".join(
    [
        f'<!doctype html><html lang="{LANGUAGES[0].tag}">',
        '<head><meta charset="utf-8"><title>Sistólica</title></head><body>',
        *(f'<p lang="{lang.tag}">{phrase("serve.missing", lang=lang.code)}</p>' for lang in LANGUAGES),
        '<p><a href="/">Sistólica</a></p></body></html>',
    ]
)


class CourseHandler(SimpleHTTPRequestHandler):
    """Serves files with :data:`HEADERS`; quiet about what goes well."""

    extensions_map = {  # noqa: RUF012  the base class has it so
        **SimpleHTTPRequestHandler.extensions_map,
        ".ipynb": "application/x-ipynb+json",
        ".js": "text/javascript",
        ".mjs": "text/javascript",
        ".svg": "image/svg+xml",
        ".wasm": "application/wasm",
        ".webmanifest": "application/manifest+json",
        ".woff2": "font/woff2",
    }

    error_message_format = ERROR_PAGE.replace("%", "%%")
    error_content_type = "text/html;charset=utf-8"

    def send_head(self) -> BytesIO | BinaryIO | None:
        try:
            return super().send_head()
        except ValueError:  # a name that no file can have
            self.send_error(HTTPStatus.NOT_FOUND)
            return None

    def list_directory(self, path: str | os.PathLike[str]) -> None:
        """What is not a page is nothing."""
        self.send_error(HTTPStatus.NOT_FOUND)

    def end_headers(self) -> None:
        for name, value in HEADERS.items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the base class names it so
        pass


class CourseServer(ThreadingHTTPServer):
    """Says nothing of a browser that left before its page was there."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def start_server(site: Path, host: str = "127.0.0.1", port: int = 0) -> ThreadingHTTPServer:
    """A server of ``site`` in a thread of its own; ``port`` 0 takes a free one. The caller shuts it down.

    Raises ``OSError`` when the port is taken, ``OverflowError`` when there is no such port.
    """
    server = CourseServer((host, port), functools.partial(CourseHandler, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def rebuild_on_change(project: Project, rebuild: Callable[[], object], stop: threading.Event | None = None) -> None:
    """Call ``rebuild`` after each change of a source, until ``stop`` is set."""
    for _ in watch(*sources(project), stop_event=stop):
        rebuild()
