"""The judge's side of a learner's process that a zygote forked. Nothing here waits for it longer than it says."""

import contextlib
import os
import select
import signal
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from graders.learner import ProcessDiedError, ProcessTimeoutError
from graders.outputs import OutputBox
from graders.phrases import phrase
from graders.process import CellRun, Limits, RunnerLostError
from graders.sandbox import frames
from graders.sandbox.frames import Decoder, FrameError, Kind, Mark, Shown
from graders.sandbox.written import Written

_TICK_S = 0.1  # between two looks at how much was written
_PIECE = 2**18  # bytes


class Keeper(Protocol):
    """Who forks learners' processes and ends them. Raises :class:`~graders.process.RunnerLostError` when it is gone."""

    def fork(self, descriptors: Sequence[int]) -> int:
        """The number of a new learner's process, which gets these descriptors."""

    def end(self, pid: int) -> bool:
        """Kill and bury it with all that it started; whether it had been killed for memory."""


class ContainedProcess:
    """A learner's process: starts in the constructor, is ready when that returns.

    Raises :class:`~graders.learner.ProcessDiedError` if it does not come up, as every method does once it is gone.
    """

    def __init__(
        self, keeper: Keeper, limits: Limits, lang: str, files: Sequence[tuple[Path, Path]], backend: str
    ) -> None:
        self.backend = backend
        self._keeper = keeper
        self._limits = limits
        self._lang = lang
        self._gone = threading.Lock()
        self._ended = False
        self._memory = False
        self._dead = False
        self._death: int | None = None
        self._decoder = Decoder()
        self._unsent = memoryview(b"")
        self._written = Written()
        self._socket, theirs = socket.socketpair()
        self._socket.setblocking(False)
        with theirs:
            try:
                self._pid = keeper.fork([theirs.fileno(), *self._written.descriptors])
            except BaseException:
                self._release()
                raise
        self._death = _death_of(self._pid)
        try:
            self._prepare(lang, files)
        except BaseException:
            self.close()
            raise

    def run_cell(self, source: str) -> CellRun:
        box = OutputBox(self._lang)
        frame = frames.encode_text(Kind.CELL, source)
        try:
            status = self._until_done(frame, box, self._limits.cell_s)
        except ProcessTimeoutError as stopped:
            status = str(stopped)
        except ProcessDiedError:
            status = "memory" if self._memory else "died"
        return CellRun(status, box.finished())

    def checkpoint(self, key: str) -> None:
        frame = frames.encode_text(Kind.CHECKPOINT, key)
        with contextlib.suppress(ProcessTimeoutError):  # the harness then shows the names as they are when asked
            self._until_done(frame, OutputBox(self._lang), self._limits.cell_s)

    def ask(self, request: str, timeout_s: float) -> str:
        # What the learner's function prints here could quote its inputs: the box is dropped.
        box = OutputBox(self._lang)
        frame = frames.encode(Kind.ASK, request.encode("ascii"))
        return self._exchange(frame, frames.WHILE_ASKED, Kind.REPLY, box, timeout_s).decode("ascii", "replace")

    def kill(self) -> None:
        """End it at once, whoever is waiting for it."""
        with self._gone:
            if not self._ended:  # a number is its own only until it is buried
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self._pid, signal.SIGKILL)

    def close(self) -> None:
        with contextlib.suppress(RunnerLostError):  # then it is dead too
            self._end()
        self._release()

    def _prepare(self, lang: str, files: Sequence[tuple[Path, Path]]) -> None:
        request = [frames.encode(Kind.FILE, os.fsencode(place) + b"\0" + _content(file)) for file, place in files]
        request.append(frames.encode_text(Kind.SET_UP, phrase("output.skipped", lang=lang, command="{command}")))
        box = OutputBox(lang)
        try:
            body = self._exchange(b"".join(request), frames.WHILE_STARTING, Kind.READY, box, self._limits.start_s)
        except (ProcessDiedError, ProcessTimeoutError) as error:
            said = "".join(output.text for output in box.finished())  # by our own code: no other has run
            raise ProcessDiedError(f"no learner's process within {self._limits.start_s} s: {said}") from error
        reason = frames.read_ready(body)
        if reason:
            raise ProcessDiedError(f"the learner's process could not be made ready: {reason}")

    def _until_done(self, frame: bytes, box: OutputBox, timeout_s: float) -> str:
        body = self._exchange(frame, frames.WHILE_RUNNING, Kind.DONE, box, timeout_s)
        return frames.read_done(body)[1]

    def _exchange(
        self, frame: bytes, caps: Mapping[Kind, int], answer: Kind, box: OutputBox, timeout_s: float
    ) -> bytes:
        """The body of the answer; what is shown meanwhile goes to the box.

        Over time or over size it interrupts, then kills.
        """
        if self._ended:
            raise ProcessDiedError
        self._unsent = memoryview(frame)
        reason = ""
        try:
            body = self._pump(time.monotonic() + timeout_s, caps, answer, box, self._limits.output_bytes)
            if body is None:
                reason = "timeout" if self._shown(box) <= self._limits.output_bytes else "flood"
                os.kill(self._pid, signal.SIGINT)
                body = self._pump(time.monotonic() + self._limits.grace_s, caps, answer, box, None)
            if body is None:
                raise ProcessDiedError
            self._take_written(box, frames.read_done(body)[0] if answer is Kind.DONE else None)
        except (ProcessDiedError, FrameError, ProcessLookupError) as error:
            self._take_written(box, None)  # the last words
            self._end()
            raise ProcessDiedError(str(error)) from error
        self._written.forget()
        if reason:
            raise ProcessTimeoutError(reason)
        return body

    def _pump(
        self, deadline: float, caps: Mapping[Kind, int], answer: Kind, box: OutputBox, most: int | None
    ) -> bytes | None:
        """Send and receive until the answer is there; ``None`` at the deadline or when more than ``most`` was shown."""
        while True:
            self._transmit()
            open_still = self._receive()
            while (frame := self._decoder.take(caps)) is not None:
                if frame[0] is answer:
                    return frame[1]
                self._show(frames.read_shown(frame[1]), box)
            if most is not None and self._shown(box) > most:
                return None
            if not open_still:
                raise ProcessDiedError
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            self._wait(min(left, _TICK_S))

    def _show(self, shown: Shown, box: OutputBox) -> None:
        self._take_written(box, shown.mark)
        if shown.kind != "stream":
            box.add(shown.kind, shown.content)

    def _take_written(self, box: OutputBox, up_to: Mark | None) -> None:
        def take(name: str, text: str) -> None:
            box.add("stream", {"name": name, "text": text})

        self._written.read(take, up_to, self._limits.output_bytes)

    def _shown(self, box: OutputBox) -> int:
        return box.received + self._written.waiting

    def _transmit(self) -> None:
        with contextlib.suppress(BlockingIOError, ConnectionError):  # a broken one is seen when receiving
            while self._unsent:
                self._unsent = self._unsent[self._socket.send(self._unsent) :]

    def _receive(self) -> bool:
        """Take what has arrived; false once nothing more can."""
        try:
            data = self._socket.recv(_PIECE)
        except BlockingIOError:
            return not self._dead
        except ConnectionError:
            return False
        self._decoder.feed(data)
        return bool(data)

    def _wait(self, seconds: float) -> None:
        poll = select.poll()
        poll.register(self._socket, select.POLLIN | (select.POLLOUT if self._unsent else 0))
        if self._death is not None:
            poll.register(self._death, select.POLLIN)
        self._dead = any(descriptor == self._death for descriptor, _ in poll.poll(seconds * 1000))

    def _end(self) -> None:
        with self._gone:
            if self._ended:
                return
            self._ended = True
        self._memory = self._keeper.end(self._pid)

    def _release(self) -> None:
        if self._death is not None:
            os.close(self._death)
            self._death = None
        self._socket.close()
        self._written.close()


def _death_of(pid: int) -> int | None:
    """A descriptor that can be read once the process has ended, whoever holds its socket; ``None`` on old kernels."""
    with contextlib.suppress(OSError):
        return os.pidfd_open(pid)
    return None


def _content(file: Path) -> bytes:
    """What is in a learner's data file, unless it has become a link since it was found."""
    with open(file, "rb", opener=lambda path, flags: os.open(path, flags | os.O_NOFOLLOW)) as opened:
        return opened.read()
