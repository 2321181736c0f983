"""A process that imports what learners' code needs, once, and forks a learner's process for each request.

It runs none of that code and no operation of JAX, whose threads no fork outlives, and holds nothing that a learner must
not know: every learner's process is a copy of it. Its orders come over a socket, one JSON text a message:
``{"do": "start", …}`` with three descriptors (the learner's socket, the files for what is written) and
``{"do": "end", "pid": …}``; each is answered. When the other side closes, every learner ends, and then it does.
"""

import contextlib
import dataclasses
import gc
import importlib
import json
import os
import shutil
import signal
import socket
import sys
import tempfile
import traceback
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

from graders.sandbox.cgroup import Cgroup
from graders.sandbox.confinement import Confinement, ConfinementError
from graders.sandbox.enter import end, enter, outside, prepare_fork, start_of_zygote
from graders.sandbox.frames import Kind, encode_plain
from tpu_kernels.models import hardware

if TYPE_CHECKING:
    from graders.sandbox.shell import Shell

MAX_ORDER = 2**17  # bytes; a socket takes no longer message at once
_DESCRIPTORS = 3

# Besides what the course asks for: what jaxlib and IPython would import at the first program and magic.
_ALWAYS = (
    "numpy",
    "ml_dtypes",
    "jax",
    "jax.numpy",
    "jaxlib.mlir.dialects.builtin",
    "jaxlib.mlir.dialects.mhlo",
    "IPython.core.magics.execution",
    "asyncio",
    "getpass",
)

# And at the first figure, in a lab that draws: of the others' learners few do, and pay for it themselves.
_DRAWING = "matplotlib"
_TO_DRAW = (
    "matplotlib.pyplot",
    "PIL.BmpImagePlugin",
    "PIL.GifImagePlugin",
    "PIL.JpegImagePlugin",
    "PIL.PpmImagePlugin",
)
_TO_DRAW_AFTER_THE_SHELL = ("matplotlib_inline.backend_inline",)  # it asks for one when imported


class UnforkableError(Exception):
    """A module that, imported, makes this process one that cannot be forked. Its argument is the module's name."""


def main(control: socket.socket) -> NoReturn:
    """The whole life of a zygote whose orders come over ``control``."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the grader's to act on: it hangs up
    try:
        zygote = _Zygote(control, json.loads(control.recv(MAX_ORDER)))
    except UnforkableError as unforkable:
        _say(control, {"unforkable": str(unforkable)})
    except BaseException as error:  # noqa: BLE001 - said to the grader, who reads nothing else of this process
        _say(control, {"fault": "".join(traceback.format_exception(error))[-4000:]})
    else:
        zygote.work()
    os._exit(0)


class _Zygote:
    def __init__(self, control: socket.socket, orders: dict[str, Any]) -> None:
        self._control = control
        self._confinement = Confinement.from_json(orders["confinement"])
        start_of_zygote(self._confinement)
        self._learners: dict[int, tuple[int, Cgroup | None]] = {}  # by the number that the grader knows
        with _folder_of_its_own() as folder:
            os.environ.clear()
            os.environ.update(self._confinement.variables(str(folder), str(folder)))
            os.environ["MPLCONFIGDIR"] = orders["matplotlib"]
            without = orders["without"]
            draws = any(name.partition(".")[0] == _DRAWING for name in orders["modules"])
            _load([*_ALWAYS, *orders["modules"], *(_TO_DRAW if draws else ())], without)
            hardware.chips()  # read from its file for all of them
            self._shell = _shell(folder)
            _load(_TO_DRAW_AFTER_THE_SHELL if draws else (), without)
        gc.collect()
        gc.freeze()  # or the collector would write to pages that all learners share
        _say(control, {"ready": True})

    def work(self) -> None:
        """Do as ordered until nobody orders any more."""
        try:
            while True:
                message, descriptors, _, _ = socket.recv_fds(self._control, MAX_ORDER, _DESCRIPTORS)
                if not message:
                    return
                order = json.loads(message)
                try:
                    answer = self._start(order, descriptors) if order["do"] == "start" else self._end(order["pid"])
                except (ConfinementError, OSError) as error:
                    answer = {"fault": str(error)}
                finally:
                    for descriptor in descriptors:
                        os.close(descriptor)
                _say(self._control, answer)
        finally:
            for pid in list(self._learners):
                self._end(pid)

    def _start(self, order: dict[str, Any], descriptors: list[int]) -> dict[str, Any]:
        confinement = dataclasses.replace(self._confinement, **order["changes"])
        cgroup = Cgroup.create(confinement)
        try:
            prepare_fork(confinement)
            inside = os.fork()
            if inside == 0:
                _become_learner(confinement, cgroup, self._shell, *descriptors)
            pid = outside(inside)
        except BaseException:
            _remove(cgroup)
            raise
        self._learners[pid] = (inside, cgroup)
        return {"pid": pid}

    def _end(self, pid: int) -> dict[str, Any]:
        inside, cgroup = self._learners.pop(pid)
        status = end(self._confinement, inside, [other for other, _ in self._learners.values()])
        memory = cgroup is not None and cgroup.killed_for_memory()
        _remove(cgroup)
        return {"exit": os.waitstatus_to_exitcode(status), "memory": memory}


def _become_learner(
    confinement: Confinement, cgroup: Cgroup | None, shell: "Shell", judge: int, out: int, err: int
) -> NoReturn:
    """What the forked process does, for all its life."""
    try:
        _descriptors(out, err)
        connection = socket.socket(fileno=judge)
        try:
            if cgroup is not None:
                cgroup.join()
            enter(confinement, keep=[judge])
            _use_compiled(confinement)
        except BaseException as error:  # noqa: BLE001 - the judge must hear of it; nothing of the learner's has run
            connection.sendall(encode_plain(Kind.READY, [f"{type(error).__name__}: {error}"[:1000]]))
            os._exit(1)
        sys.argv = [""]
        from graders.sandbox.shell import serve

        serve(shell, connection)
    finally:
        os._exit(1)


def _descriptors(out: int, err: int) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (out, 1), (err, 2)):
        os.dup2(source, target)


def _use_compiled(confinement: Confinement) -> None:
    """Read compiled programs from the confinement's folder; only a writable one gets new ones."""
    jax = sys.modules.get("jax")
    if jax is None or confinement.cache is None:
        return
    jax.config.update("jax_compilation_cache_dir", confinement.cache)
    jax.config.update("jax_persistent_cache_enable_xla_caches", "none")  # their folders would be part of each key
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    least_s = 0.0 if confinement.cache_writable else 1e9
    jax.config.update("jax_persistent_cache_min_compile_time_secs", least_s)


def _load(modules: Iterable[str], without: Sequence[str]) -> None:
    """Import them, as far as they are there, but those ``without`` which we do. Raises :class:`UnforkableError`."""
    threads = _threads()
    for name in modules:
        if name not in without:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
            if _threads() > threads or _backends():
                raise UnforkableError(name)


def _threads() -> int:
    return sum(1 for _ in Path("/proc/self/task").iterdir())


def _backends() -> object:
    bridge: ModuleType | None = sys.modules.get("jax._src.xla_bridge")
    return getattr(bridge, "_backends", None)


def _shell(folder: Path) -> "Shell":
    from graders.sandbox.shell import prepared_shell  # IPython: heavy, so after the namespaces are made

    return prepared_shell(folder)


@contextlib.contextmanager
def _folder_of_its_own() -> Iterator[Path]:
    folder = tempfile.mkdtemp(prefix="zygote-")
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove(cgroup: Cgroup | None) -> None:
    if cgroup is not None:
        cgroup.kill()
        cgroup.remove()


def _say(control: socket.socket, answer: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):  # nobody listens any more: the next order tells
        control.sendall(json.dumps(answer).encode("ascii"))
