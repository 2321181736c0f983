"""In the learner's process: the way out for what their code shows.

Descriptors 1 and 2 are files in memory that the judge holds too, so a print costs one call, a C library or a program
that they start counts like a print, and the last words of a process that dies are kept. Every frame says how much stood
in both files when it was sent, and which of them was written to first since the frame before: that is the order of
things.
"""

import base64
import io
import os
import socket
import sys
import threading
from collections.abc import Mapping
from typing import Any

from graders.sandbox.frames import MAX_SHOWN_TEXT, Kind, encode, encode_plain

_MIMES = ("text/plain", "text/html", "image/png", "image/jpeg")  # what feedback can show


class Outlet:
    """Sends frames, whole, whatever interrupts."""

    def __init__(self, judge: socket.socket) -> None:
        self._judge = judge
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._sending = False
        self._interrupted = False
        self._marked = {1: 0, 2: 0}  # sizes at the last frame
        self._first = 1
        sys.stdout, sys.stderr = _Stream(1, self), _Stream(2, self)

    def interrupt(self) -> None:
        """Raise ``KeyboardInterrupt``: at once, or after the frame that the main thread is sending."""
        if self._sending:
            self._interrupted = True
        else:
            raise KeyboardInterrupt

    def show(self, kind: str, content: Mapping[str, Any]) -> None:
        """Send an output, in the form of Jupyter's messages."""
        self.send(encode_plain(Kind.SHOWN, [*self._mark(), kind, dict(content)]))

    def done(self, status: str) -> None:
        """Say that a cell ended."""
        self.send(encode_plain(Kind.DONE, [*self._mark(), status]))
        self._marked = {1: 0, 2: 0}  # the judge has it all, and begins anew

    def reply(self, text: str) -> None:
        """Send the harness's reply."""
        self.send(encode(Kind.REPLY, text.encode("ascii", "replace")))
        self._marked = {1: 0, 2: 0}

    def turn_to(self, descriptor: int) -> None:
        """Mark the place where the learner goes on with one stream, if something was written to the other."""
        other = 3 - descriptor
        if os.fstat(other).st_size != self._marked[other]:
            self.show("stream", {})
        self._first = descriptor

    def send(self, frame: bytes) -> None:
        """Send the bytes of a frame."""
        if os.getpid() != self._pid:  # a child that the learner forked, and that has this object too
            return
        main = threading.current_thread() is threading.main_thread()
        self._sending = self._sending or main
        try:
            with self._lock:
                self._judge.sendall(frame)
        finally:
            self._sending = self._sending and not main
        if main and self._interrupted:
            self._interrupted = False
            raise KeyboardInterrupt

    def _mark(self) -> list[int]:
        first, self._first = self._first, 1
        self._marked = {descriptor: os.fstat(descriptor).st_size for descriptor in (1, 2)}
        return [first, *self._marked.values()]


class _Stream(io.TextIOWrapper):
    """``sys.stdout`` or ``sys.stderr``, without a buffer."""

    def __init__(self, fd: int, outlet: Outlet) -> None:
        super().__init__(
            io.FileIO(fd, "w", closefd=False),  # no buffer between, as with python -u
            encoding="utf-8",
            errors="replace",
            write_through=True,
        )
        self._descriptor = fd
        self._outlet = outlet

    def write(self, text: str) -> int:
        self._outlet.turn_to(self._descriptor)
        return super().write(text)


def representations(data: Mapping[str, Any]) -> dict[str, str]:
    """Those that feedback can show, as text; images in base64."""
    shown: dict[str, str] = {}
    for mime in _MIMES:
        value = data.get(mime)
        if isinstance(value, bytes):
            value = base64.b64encode(value).decode("ascii")
        if isinstance(value, str) and (mime.startswith("text/") or len(value) <= MAX_SHOWN_TEXT):
            shown[mime] = clipped(value)
    return shown


def clipped(text: str) -> str:
    """As much of a text as may travel, as valid Unicode."""
    return text[:MAX_SHOWN_TEXT].encode("utf-8", "replace").decode("utf-8")
