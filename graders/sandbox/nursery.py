"""The judge's side of the zygote: learners' processes at the price of a fork, for as many workers as there are.

A zygote that is lost takes its learners with it; another is started, and their notebooks run again.
"""

import contextlib
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from graders.learner import ProcessDiedError
from graders.process import SINGLE_THREADED, Limits, Process, Runner, RunnerLostError
from graders.sandbox.accelerators import Turn
from graders.sandbox.confinement import Confinement, ConfinementError
from graders.sandbox.contained import ContainedProcess
from graders.sandbox.zygote import MAX_ORDER
from tpu_kernels.user_cache import cache_folder

MAX_LOST = 5  # zygotes one after the other, with no learner's process that ended as it should between them
_START_S = 300  # imports, on a busy machine
_END_S = 30

# -P and -s, and an environment of ours: nothing of the working folder, of the user's or of PYTHON… variables counts.
# Not -I: it would take away the hash seed too, and with it the order of a set's items in what learners print.
_COMMAND = (sys.executable, "-P", "-s", "-c")
_START = """\
import json, socket, sys
control = socket.socket(fileno=int(sys.argv[1]))
sys.path[:] = json.loads(control.recv(2**17))
from graders.sandbox.zygote import main
main(control)
"""


class Nursery:
    """Starts learners' processes that are confined as ``confinement`` says.

    ``modules``: what the lab's own cells import. ``backend``: the accelerator that ``confinement`` passes through.
    ``say`` is told what the instructor should know: a key of messages.toml and what fills it.
    """

    def __init__(
        self,
        confinement: Confinement,
        modules: Sequence[str] = (),
        limits: Limits | None = None,
        backend: str = "cpu",
        say: Callable[[str, Mapping[str, object]], None] = lambda key, values: None,
    ) -> None:
        self._confinement = confinement
        self._modules = modules
        self._without: list[str] = []
        self._limits = limits or Limits()
        self._backend = backend
        self._say = say
        self._turn = None if backend == "cpu" else Turn(backend)
        self._lock = threading.Lock()
        self._zygote: Zygote | None = None
        self._lost = 0

    def runner(self, limits: Limits | None = None, /, **changes: Any) -> Runner:
        """For one worker. ``changes``: fields of the confinement that are different for its learners."""

        def start(lang: str, files: Sequence[tuple[Path, Path]]) -> ContainedProcess:
            keeper = _Keeper(self, self._living(), changes, self._turn)
            return ContainedProcess(keeper, limits or self._limits, lang, files, self._backend)

        return NurseryRunner(start)

    def close(self) -> None:
        """End the zygote, and every learner's process with it."""
        with self._lock:
            zygote, self._zygote = self._zygote, None
        if zygote is not None:
            zygote.close()

    def __enter__(self) -> "Nursery":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def kept(self) -> None:
        """A learner's process ended as it should: the zygote is sound."""
        self._lost = 0

    def _living(self) -> "Zygote":
        with self._lock:
            if self._zygote is not None and self._zygote.lost:
                self._zygote.close()
                self._zygote = None
                self._lost += 1
                if self._lost <= MAX_LOST:
                    self._say("nursery.lost", {"count": self._lost, "most": MAX_LOST})
            if self._lost > MAX_LOST:
                raise RunnerLostError(f"{self._lost} zygotes ended one after the other")
            while self._zygote is None:
                try:
                    self._zygote = Zygote(self._confinement, self._modules, self._without)
                except UnforkableError as unforkable:
                    self._without.append(unforkable.module)
                    self._say("nursery.left-out", {"module": unforkable.module})
            return self._zygote


class NurseryRunner:
    """Starts learners' processes one after the other, for one worker, each by ``start(lang, files)``."""

    def __init__(self, start: Callable[[str, Sequence[tuple[Path, Path]]], ContainedProcess]) -> None:
        self._start = start
        self._current: ContainedProcess | None = None
        self._stopped = threading.Event()

    def start(self, lang: str, files: Sequence[tuple[Path, Path]] = ()) -> Process:
        if self._stopped.is_set():
            raise ProcessDiedError("grading was interrupted")
        self._current = process = self._start(lang, files)
        if self._stopped.is_set():  # meanwhile, without seeing this one
            process.kill()
        return process

    def stop(self) -> None:
        self._stopped.set()
        if self._current is not None:
            self._current.kill()

    def close(self) -> None:
        """The zygote is the nursery's to end."""


class _Keeper:
    """What one learner's process has of the nursery: a zygote, and a turn at the accelerator if there is one."""

    def __init__(self, nursery: Nursery, zygote: "Zygote", changes: Mapping[str, Any], turn: Turn | None) -> None:
        self._nursery = nursery
        self._zygote = zygote
        self._changes = changes
        self._turn = turn

    def fork(self, descriptors: Sequence[int]) -> int:
        with contextlib.ExitStack() as turn:
            if self._turn is not None:
                self._turn.take()
                turn.callback(self._turn.give_back)
            pid = self._zygote.fork(descriptors, self._changes)
            turn.pop_all()
        return pid

    def end(self, pid: int) -> bool:
        try:
            memory = self._zygote.end(pid)
        finally:
            if self._turn is not None:
                self._turn.give_back()
        self._nursery.kept()
        return memory


class UnforkableError(Exception):
    """A module that no zygote can import. Attribute: ``module``."""

    def __init__(self, module: str) -> None:
        super().__init__(f"after importing {module} this process cannot be forked: it starts threads or a backend")
        self.module = module


class Zygote:
    """The process itself, and orders to it, one at a time whoever gives them.

    Raises :class:`ConfinementError` where it cannot be made, :class:`UnforkableError`, and
    :class:`~graders.process.RunnerLostError` once it is gone.
    """

    def __init__(self, confinement: Confinement, modules: Sequence[str], without: Sequence[str]) -> None:
        self.lost = False
        self._lock = threading.Lock()
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [*_COMMAND, _START, str(theirs.fileno())],
                env={"PYTHONHASHSEED": "0", **SINGLE_THREADED},
                cwd="/",
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        try:
            self._control.settimeout(_START_S)
            self._send([entry for entry in sys.path if Path(entry).is_absolute()])
            orders = {
                "confinement": confinement.to_json(),
                "modules": list(modules),
                "without": list(without),
                "matplotlib": str(cache_folder("matplotlib")),
            }
            answer = self._ask(orders)
            if "unforkable" in answer:
                raise UnforkableError(answer["unforkable"])
            if "fault" in answer:
                raise ConfinementError("zygote", answer["fault"])
        except BaseException:
            self.close()
            raise

    def fork(self, descriptors: Sequence[int], changes: Mapping[str, Any]) -> int:
        """The number of a new learner's process, which holds ``descriptors``."""
        with self._lock:
            answer = self._ask({"do": "start", "changes": dict(changes)}, descriptors)
        if "fault" in answer:
            raise ConfinementError("fork", answer["fault"])
        return int(answer["pid"])

    def end(self, pid: int) -> bool:
        """Kill a learner's process with all that it started; whether it had been killed for memory."""
        with self._lock:
            answer = self._ask({"do": "end", "pid": pid})
        if "fault" in answer:
            raise ConfinementError("end", answer["fault"])
        return bool(answer["memory"])

    def close(self) -> None:
        """Hang up: it ends its learners, then itself."""
        self.lost = True
        self._control.close()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _ask(self, order: Mapping[str, Any], descriptors: Sequence[int] = ()) -> dict[str, Any]:
        self._send(order, descriptors)
        try:
            message = self._control.recv(MAX_ORDER)
        except OSError as error:
            self.lost = True
            raise RunnerLostError(f"the zygote does not answer: {error}") from error
        if not message:
            self.lost = True
            raise RunnerLostError("the zygote ended")
        answer: dict[str, Any] = json.loads(message)
        return answer

    def _send(self, order: object, descriptors: Sequence[int] = ()) -> None:
        if self.lost:
            raise RunnerLostError("the zygote ended")
        try:
            socket.send_fds(self._control, [json.dumps(order).encode("ascii")], list(descriptors))
        except OSError as error:
            self.lost = True
            raise RunnerLostError(f"the zygote ended: {error}") from error
