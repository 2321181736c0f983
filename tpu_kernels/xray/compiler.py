"""The TPU's compiler from outside: a process of its own with limits, and the folder of what it dumps."""

import dataclasses
import json
import math
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from tpu_kernels.xray.compile_process import ANSWER, DUMPS, HLO, PROFILES, PROGRAM, REQUEST
from tpu_kernels.xray.libtpu import Libtpu
from tpu_kernels.xray.mesh_axes import ONE_DEVICE, Axes
from tpu_kernels.xray.work_folder import work_folder, writing

ROOT = Path(__file__).parents[2]  # where ``tpu_kernels`` is imported from
OUTPUT = "output"
PATIENCE = 10
MOST_SECONDS = 10**6
FROM_OUTSIDE = {-signal.SIGHUP, -signal.SIGINT, -signal.SIGTERM}

DUMP_FLAGS = (
    f"--xla_jf_dump_to={DUMPS}",
    "--xla_jf_dump_llo_text=true",
    "--xla_jf_dump_llo_pass_label_regex=.*final.*",  # four files for each kernel, not seventy
)
SIMULATION_FLAG = f"--xla_jf_dump_static_llo_profile_to={PROFILES}"

# What would tell the compiler of a TPU that is here, or change what it does behind the cache's back.
NOT_PASSED_ON = ("ALLOW_MULTIPLE_LIBTPU", "JAX_", "LIBTPU_", "MEGASCALE_", "PJRT_", "TPU_", "XLA_")
OFF_DEVICE = {
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",  # else a second process, or a killed one, leaves a lock that stops the next
    "JAX_PLATFORMS": "cpu",
    "PYTHONSAFEPATH": "1",
    "TPU_ACCELERATOR_TYPE": "v5litepod-4",  # any: the program's own topology counts
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_WORKER_HOSTNAMES": "localhost",
}
LEAST_ROOM = 2**16  # bytes; with less, it had no room to write what it died of
NO_ROOM = ("No space left on device", "Disk quota exceeded")
OUT_OF_MEMORY = ("mmap error: 12", "bad_alloc", "MemoryError", "Cannot allocate memory")


class Ending(Enum):
    """How a compilation ended: ``STOPPED`` by a signal from outside, ``DIED`` by the compiler's own fault.

    ``KILLED``: by a signal that nothing outlives, most often the system's when memory is short.
    """

    COMPILED = "compiled"
    REFUSED = "refused"
    OUT_OF_TIME = "time"
    OUT_OF_MEMORY = "memory"
    NO_ROOM = "room"
    KILLED = "killed"
    STOPPED = "stopped"
    DIED = "died"


@dataclass(frozen=True)
class Compilation:
    """One run of the compiler. ``answer`` is empty unless it compiled or refused; ``output`` is what it printed."""

    folder: Path
    ending: Ending
    answer: dict[str, Any]
    output: str

    @property
    def hlo(self) -> str:
        return (self.folder / HLO).read_text(encoding="utf-8")

    @property
    def dumps(self) -> Path:
        return self.folder / DUMPS

    @property
    def profiles(self) -> Path:
        return self.folder / PROFILES


@contextmanager
def compilation(
    program: bytes,
    topology: str,
    libtpu: Libtpu,
    *,
    simulate: bool,
    axes: Axes = ONE_DEVICE,
    donated: Sequence[int] = (),
    flags: Sequence[str] = (),
    seconds: float,
    memory_bytes: int,
) -> Iterator[Compilation]:
    """Compile in a process of its own, stopped with all that it started after ``seconds`` of processor time.

    ``axes`` are those of the mesh that the program is for, ``donated`` the numbers of the arguments that it may reuse.
    Not by the clock, so that a busy machine gives the same report; though ``PATIENCE`` times as long by the clock stops
    it too. The folder goes at the end.

    Raises :class:`~tpu_kernels.xray.errors.LimitError` when the folder cannot be made or written.
    """
    with work_folder() as folder:
        request = {
            "topology": topology,
            "axes": dataclasses.asdict(axes),
            "donated": list(donated),
            "memory_bytes": memory_bytes,
            "seconds": math.ceil(min(seconds, MOST_SECONDS)),
            "parent": os.getpid(),
        }
        asked = [*DUMP_FLAGS, *([SIMULATION_FLAG] if simulate else []), *flags]
        with writing():
            for wanted in (DUMPS, PROFILES):
                (folder / wanted).mkdir()
            (folder / PROGRAM).write_bytes(program)
            (folder / REQUEST).write_text(json.dumps(request), encoding="utf-8")
            status = _run(folder, _environment(folder, libtpu, asked), min(seconds, MOST_SECONDS) * PATIENCE)
        yield _read(folder, status)


def _run(folder: Path, environment: dict[str, str], seconds: float) -> int | None:
    """How the process ended, as :mod:`subprocess` has it; ``None`` when it had to be stopped for lack of time."""
    command = [sys.executable, "-m", "tpu_kernels.xray.compile_process", str(folder)]
    with (folder / OUTPUT).open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _environment(folder: Path, libtpu: Libtpu, flags: Sequence[str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(NOT_PASSED_ON)}
    path = os.pathsep.join(filter(None, (str(ROOT), kept.get("PYTHONPATH"))))
    return {
        **kept,
        **OFF_DEVICE,
        "LIBTPU_INIT_ARGS": " ".join(flags),
        "PYTHONPATH": path,
        "TMPDIR": str(folder),
        "TPU_LIBRARY_PATH": str(libtpu.library),
        "TPU_LOG_DIR": str(folder),
    }


def _read(folder: Path, status: int | None) -> Compilation:
    output = (folder / OUTPUT).read_text(encoding="utf-8", errors="replace")
    answer: dict[str, Any] = {}
    if status in {None, -signal.SIGXCPU}:
        ending = Ending.OUT_OF_TIME
    elif (folder / ANSWER).is_file():
        answer = json.loads((folder / ANSWER).read_text(encoding="utf-8"))
        ending = Ending.COMPILED if answer["compiled"] else Ending.REFUSED
    elif status == -signal.SIGKILL:
        ending = Ending.KILLED
    else:
        ending = Ending.STOPPED if status in FROM_OUTSIDE else Ending.DIED
    said = output + answer.get("error", "")
    if ending in {Ending.DIED, Ending.REFUSED} and any(sign in said for sign in OUT_OF_MEMORY):
        ending = Ending.OUT_OF_MEMORY
    full = any(sign in said for sign in NO_ROOM) or shutil.disk_usage(folder).free < LEAST_ROOM
    if ending in {Ending.DIED, Ending.REFUSED} and full:
        ending = Ending.NO_ROOM
    return Compilation(folder, ending, answer, output)
