"""A plain Jupyter kernel as the learner's process: a folder and an environment of its own, over Unix sockets."""

import base64
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import zmq
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.connect import write_connection_file

from graders.injection import ask_expression, checkpoint_code, set_up_code
from graders.learner import ProcessDiedError, ProcessTimeoutError
from graders.outputs import OutputBox
from graders.process import SINGLE_THREADED, CellRun, Limits, Process
from graders.removal import remove_tree

MAX_REPLY = 100 * 2**20  # characters; more than any plain-data message may hold
_POLL_MS = 100
_IDLE_WAIT_S = 1.0


class KernelRunner:
    """Starts one kernel per learner, the next one ahead of time."""

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._spare: KernelProcess | None = None
        self._current: KernelProcess | None = None
        self._stopped = threading.Event()

    def start(self, lang: str, files: Sequence[tuple[Path, Path]] = ()) -> Process:
        if self._stopped.is_set():
            raise ProcessDiedError("grading was interrupted")
        self._current = process = self._spare or KernelProcess(self._limits)
        self._spare = None
        if self._stopped.is_set():  # meanwhile, without seeing this one
            process.kill()
        process.wait_until_ready(lang)
        _copy(files, process.folder)
        self._spare = KernelProcess(self._limits)
        return process

    def stop(self) -> None:
        self._stopped.set()
        if self._current is not None:
            self._current.kill()

    def close(self) -> None:
        if self._spare is not None:
            self._spare.close()
            self._spare = None


class KernelProcess:
    """A Jupyter kernel as a learner's process."""

    backend = "cpu"  # the environment below says so: an accelerator is one user's at a time

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._lang = "es"
        self._closed = False
        self._home = tempfile.TemporaryDirectory(prefix="learner-", ignore_cleanup_errors=True)
        root = Path(self._home.name)
        self.folder = root / "work"
        self.folder.mkdir()
        connection = str(root / "kernel.json")
        write_connection_file(connection, transport="ipc", ip=str(root / "socket"))
        self._process = subprocess.Popen(
            # -P: a numpy.py of theirs, in the working folder, must not stand for numpy
            [sys.executable, "-P", "-m", "ipykernel_launcher", "-f", connection, *_KERNEL_OPTIONS],
            cwd=self.folder,
            env=_environment(root),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._client = BlockingKernelClient(connection_file=connection)
        self._client.load_connection_file()
        self._client.start_channels(hb=False, stdin=False, control=False)

    def wait_until_ready(self, lang: str) -> None:
        """Raises :class:`ProcessDiedError` if the kernel does not come up: nobody's code has run yet."""
        self._lang = lang
        try:
            reply = self._execute(set_up_code(lang), OutputBox(lang), self._limits.start_s)
        except (ProcessDiedError, ProcessTimeoutError) as error:
            self.close()
            raise ProcessDiedError(f"no kernel from {sys.executable} within {self._limits.start_s} s") from error
        if reply["status"] != "ok":
            self.close()
            raise ProcessDiedError(f"the harness did not load in the kernel: {reply}")

    def run_cell(self, source: str) -> CellRun:
        box = OutputBox(self._lang)
        try:
            reply = self._execute(source, box, self._limits.cell_s, as_cell=True)
        except ProcessTimeoutError as stopped:
            return CellRun(str(stopped), box.finished())
        except ProcessDiedError:
            return CellRun("died", box.finished())
        return CellRun("ok" if reply.get("status") == "ok" else "error", box.finished())

    def checkpoint(self, key: str) -> None:
        with contextlib.suppress(ProcessTimeoutError):  # the harness then shows the names as they are when asked
            self._execute(checkpoint_code(key), OutputBox(self._lang), self._limits.cell_s)

    def ask(self, request: str, timeout_s: float) -> str:
        # What the learner's function prints here could quote its inputs: the box is dropped.
        box = OutputBox(self._lang)
        reply = self._execute("", box, timeout_s, expressions={"reply": ask_expression(request)})
        try:
            shown = reply["user_expressions"]["reply"]["data"]["text/plain"]
            return base64.b64decode(shown[:MAX_REPLY].strip("'"), validate=True).decode("ascii")
        except (KeyError, TypeError, ValueError):  # only the learner's code can have made it so
            return ""

    def kill(self) -> None:
        """End it at once, whoever is waiting for it."""
        if not self._closed:  # the number of a group that has ended may become somebody else's
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        if self._closed:
            return
        self.kill()
        self._closed = True
        self._process.wait()
        self._client.stop_channels()
        remove_tree(Path(self._home.name))
        self._home.cleanup()

    def _execute(
        self,
        code: str,
        box: OutputBox,
        timeout_s: float,
        as_cell: bool = False,
        expressions: dict[str, str] | None = None,
    ) -> dict[str, Any]:
        """Send one request and wait for its reply and for the kernel to be idle again."""
        if self._process.poll() is not None:
            raise ProcessDiedError
        message = self._client.execute(
            code,
            silent=not as_cell,
            store_history=as_cell,
            user_expressions=expressions,
            allow_stdin=False,
            stop_on_error=False,
        )
        return _Wait(self._client, self._process, message, box, self._limits).until(time.monotonic() + timeout_s)


class _Wait:
    """The wait for one request: outputs go to the box, over time or over size it interrupts, then kills."""

    def __init__(
        self,
        client: BlockingKernelClient,
        process: "subprocess.Popen[bytes]",
        message: str,
        box: OutputBox,
        limits: Limits,
    ) -> None:
        self._client = client
        self._process = process
        self._message = message
        self._box = box
        self._limits = limits
        self._reply: dict[str, Any] | None = None
        self._idle = False

    def until(self, deadline: float) -> dict[str, Any]:
        if self._pump(deadline, self._limits.output_bytes):
            assert self._reply is not None
            return self._reply
        reason = "timeout" if self._box.received <= self._limits.output_bytes else "flood"
        self._process.send_signal(signal.SIGINT)
        if not self._pump(time.monotonic() + self._limits.grace_s, None):
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            raise ProcessDiedError
        raise ProcessTimeoutError(reason)

    def _pump(self, deadline: float, most_output: int | None) -> bool:
        """Take messages until the reply is there and the kernel idle; false at the deadline or on too much output."""
        poller = zmq.Poller()
        channels = {self._client.shell_channel.socket: self._shell, self._client.iopub_channel.socket: self._iopub}
        for socket in channels:
            poller.register(socket, zmq.POLLIN)
        replied = float("inf")
        while self._reply is None or not self._idle:
            now = time.monotonic()
            if self._reply is not None:
                replied = min(replied, now)
                if now > replied + _IDLE_WAIT_S:  # its outputs are late or lost; its answer is here
                    return True
            elif now > deadline or (most_output is not None and self._box.received > most_output):
                return False
            ready = dict(poller.poll(_POLL_MS))
            if not ready and self._process.poll() is not None:
                raise ProcessDiedError
            for socket, receive in channels.items():
                if socket in ready:
                    receive()
        return True

    def _shell(self) -> None:
        message = _receive(self._client.shell_channel)
        if message.get("parent_header", {}).get("msg_id") == self._message and message["msg_type"] == "execute_reply":
            self._reply = message["content"]

    def _iopub(self) -> None:
        message = _receive(self._client.iopub_channel)
        if message.get("parent_header", {}).get("msg_id") != self._message:
            return
        if message["msg_type"] == "status" and message["content"].get("execution_state") == "idle":
            self._idle = True
        else:
            self._box.add(message["msg_type"], message["content"])


def _receive(channel: Any) -> dict[str, Any]:
    """One message; an empty one for bytes that are no message, which only the learner's code can have sent."""
    try:
        message: dict[str, Any] = channel.get_msg(timeout=0)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return {}
    return message


def _copy(files: Sequence[tuple[Path, Path]], folder: Path) -> None:
    for source, place in files:
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target, follow_symlinks=False)


_KERNEL_OPTIONS = (
    "--HistoryManager.enabled=False",
    "--InteractiveShell.colors=nocolor",
)


def _environment(home: Path) -> dict[str, str]:
    return {
        "HOME": str(home),
        "IPYTHONDIR": str(home / "ipython"),
        "JAX_PLATFORMS": "cpu",
        "JPY_PARENT_PID": str(os.getpid()),  # the kernel ends if the grader is killed
        "JUPYTER_RUNTIME_DIR": str(home),
        "LANG": "C.UTF-8",
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "MPLCONFIGDIR": str(home / "matplotlib"),
        **SINGLE_THREADED,
        "PATH": os.environ.get("PATH", os.defpath),
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        "PYTHONHASHSEED": "0",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "TMPDIR": str(home),
    }
