"""In the learner's process: IPython runs the cells, the harness answers the calls, one request after the other.

The shell is made before the fork, for all learners, and knows of none of them; :func:`serve` is what the learner's
process does. It behaves as a Jupyter kernel does: an event loop runs while a cell does, nobody answers ``input()``, a
pager shows nothing.
"""

import asyncio
import builtins
import contextlib
import os
import signal
import socket
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, NoReturn

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.error import StdinNotImplementedError
from IPython.core.interactiveshell import InteractiveShell
from traitlets import Type
from traitlets.config import Config

from graders import harness, plain, surroundings
from graders.sandbox.frames import HEADER, Kind, encode_plain
from graders.sandbox.outlet import Outlet, clipped, representations


class _Publisher(DisplayPublisher):
    shell: "Shell"

    def publish(self, data: Any, *ignored: Any, update: bool = False, **others: Any) -> None:
        if not update:
            self.shell.outlet.show("display_data", {"data": representations(data)})

    def clear_output(self, wait: bool = False) -> None:
        """Nothing is taken back."""


class _DisplayHook(DisplayHook):
    shell: "Shell"

    def write_output_prompt(self) -> None:
        """No prompt: an output stands beneath its cell."""

    def write_format_data(self, format_dict: Any, md_dict: Any = None) -> None:
        self.shell.outlet.show("execute_result", {"data": representations(format_dict)})

    def finish_displayhook(self) -> None:
        self._is_active = False


class Shell(InteractiveShell):
    """IPython whose outputs become frames once it has an :class:`Outlet`."""

    display_pub_class = Type(_Publisher)
    displayhook_class = Type(_DisplayHook)
    outlet: Outlet

    def init_hooks(self) -> None:
        super().init_hooks()
        self.set_hook("show_in_pager", lambda *ignored, **ignored_too: None, 0)

    def init_virtualenv(self) -> None:
        """This is the environment."""

    def enable_gui(self, gui: object = None) -> None:
        """There are no windows."""

    def _showtraceback(self, etype: Any, evalue: Any, stb: Any) -> None:
        try:
            said = str(evalue)
        except Exception:  # noqa: BLE001 - the learner's own __str__
            said = ""
        name, lines = str(etype.__name__), [clipped(str(line)) for line in stb]
        self.outlet.show("error", {"ename": clipped(name), "evalue": clipped(said), "traceback": lines})


def prepared_shell(folder: Path) -> Shell:
    """The shell, warm, with ``folder`` as its own for as long as this takes."""
    config = Config()
    config.HistoryManager.enabled = False
    shell: Shell = Shell.instance(config=config, colors="nocolor", ipython_dir=str(folder))
    try:
        exec(compile("1 / 0", "warm", "exec"))  # the first traceback imports what shows tracebacks
    except ZeroDivisionError:
        shell.InteractiveTB.structured_traceback(*sys.exc_info())
    shell.transform_cell("%magic\nfirst = 1")
    return shell


def serve(shell: Shell, judge: socket.socket) -> NoReturn:
    """Answer requests until the judge hangs up; never return."""
    _Service(shell, judge).run()


class _Service:
    def __init__(self, shell: Shell, judge: socket.socket) -> None:
        self._shell = shell
        self._judge = judge
        self._outlet = shell.outlet = Outlet(judge)
        self._harness = harness.Harness(shell.user_ns)
        self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def run(self) -> NoReturn:
        answers: dict[int, Callable[[bytes], None]] = {
            Kind.FILE: self._file,
            Kind.SET_UP: lambda body: self._set_up(body.decode("utf-8")),
            Kind.CELL: lambda body: self._cell(body.decode("utf-8")),
            Kind.CHECKPOINT: lambda body: self._checkpoint(body.decode("utf-8")),
            Kind.ASK: lambda body: self._ask(body.decode("ascii")),
        }
        while True:
            length, kind = HEADER.unpack(self._exactly(HEADER.size))
            answers[kind](self._exactly(length))

    def _file(self, body: bytes) -> None:
        place, _, content = body.partition(b"\0")
        target = Path(os.fsdecode(place))
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)

    def _set_up(self, skipped: str) -> None:
        reason = ""
        try:
            _wait_for_nobody()
            surroundings.stand_in({"plain": plain, "harness": harness, "surroundings": surroundings})
            surroundings.arrange(self._shell, skipped)
        except Exception as error:  # noqa: BLE001 - ours, not theirs: the judge must hear of it
            reason = f"{type(error).__name__}: {error}"[:1000]
        self._outlet.send(encode_plain(Kind.READY, [reason]))

    def _cell(self, source: str) -> None:
        result = self._attempt(lambda: self._run_cell(source))
        self._outlet.done("ok" if getattr(result, "success", False) else "error")

    def _checkpoint(self, key: str) -> None:
        self._attempt(lambda: _within(self._harness.checkpoint, key))
        self._outlet.done("ok")

    def _ask(self, request: str) -> None:
        reply = self._attempt(lambda: _within(self._harness.call, request))
        self._outlet.reply(reply if isinstance(reply, str) else "")

    def _attempt(self, work: Callable[[], Coroutine[Any, Any, object]]) -> object:
        """The result of ``work``, which may be interrupted; ``None`` if it was, or if the learner broke our part."""
        task = None
        try:
            try:
                signal.signal(signal.SIGINT, lambda number, frame: self._outlet.interrupt())
                task = self._loop.create_task(work())
                return self._loop.run_until_complete(task)
            finally:
                signal.signal(signal.SIGINT, signal.SIG_IGN)
        except BaseException:  # noqa: BLE001 - whatever it was, the next request is to be answered
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            if task is not None and not task.done():  # interrupted while it waited
                task.cancel()
                with contextlib.suppress(BaseException):
                    self._loop.run_until_complete(task)
            return None

    async def _run_cell(self, source: str) -> object:
        shell = self._shell
        try:
            code, trouble = shell.transform_cell(source), None
        except Exception:  # noqa: BLE001 - a magic that is none: run_cell shows it
            code, trouble = source, sys.exc_info()
        result = None
        try:
            result = await shell.run_cell_async(
                source, store_history=True, transformed_cell=code, preprocessing_exc_tuple=trouble
            )
        finally:
            shell.events.trigger("post_execute")
            shell.events.trigger("post_run_cell", result)
        return result

    def _exactly(self, size: int) -> bytes:
        """So many bytes. Ends the process if the judge hung up."""
        parts = bytearray()
        while len(parts) < size:
            part = self._judge.recv(min(size - len(parts), 2**20))
            if not part:
                os._exit(0)
            parts += part
        return bytes(parts)


async def _within(function: Callable[[str], object], argument: str) -> object:
    return function(argument)


def _wait_for_nobody() -> None:
    """Questions to the terminal are refused, as in a kernel whose frontend takes none."""

    def refuse(prompt: object = "", stream: object = None) -> str:
        __tracebackhide__ = True  # our files are no news for the learner
        raise StdinNotImplementedError("raw_input was called, but this frontend does not support input requests.")

    import getpass

    builtins.input = getpass.getpass = refuse
