"""Accelerators for learners' processes: which there is, what it takes to pass it through, one user at a time."""

import fcntl
import glob
import os
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

MEMORY_BYTES = 16 * 2**30  # of the host's: its libraries alone take several


@dataclass(frozen=True)
class Accelerator:
    """How one kind is found and used: JAX's names for it, its device files, the packages that drive it."""

    platforms: str
    files: tuple[str, ...]
    packages: tuple[str, ...]

    def devices(self) -> tuple[str, ...]:
        """Its device files on this machine."""
        return tuple(sorted(path for pattern in self.files for path in glob.glob(pattern)))  # noqa: PTH207 - in /dev


ACCELERATORS: Mapping[str, Accelerator] = {
    "tpu": Accelerator("tpu,cpu", ("/dev/accel*", "/dev/vfio/*"), ("libtpu",)),
    "gpu": Accelerator(
        "cuda,cpu",
        ("/dev/nvidia[0-9]*", "/dev/nvidiactl", "/dev/nvidia-uvm*", "/dev/nvidia-caps/*"),
        ("jax_cuda12_plugin", "jax_cuda13_plugin"),
    ),
}
BACKENDS = ("auto", "cpu", *ACCELERATORS)


def present(backend: str) -> bool:
    """Whether there are devices of it here, and a package that drives them; nothing is started."""
    accelerator = ACCELERATORS[backend]
    return bool(accelerator.devices()) and any(find_spec(name) for name in accelerator.packages)


def chosen(backend: str) -> str:
    """What ``"auto"`` means on this machine."""
    if backend != "auto":
        return backend
    return next((name for name in ACCELERATORS if present(name)), "cpu")


class Turn:
    """The right to use the machine's accelerator, held by one learner's process of one grader at a time."""

    def __init__(self, backend: str) -> None:
        self._path = Path(tempfile.gettempdir()) / f"sistolica-{backend}-{os.geteuid()}.lock"
        self._within = threading.Lock()
        self._descriptor = -1

    def take(self) -> None:
        """Wait until nobody has it."""
        self._within.acquire()
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            self._descriptor = os.open(self._path, flags, 0o600)
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        except BaseException:
            self._within.release()
            raise

    def give_back(self) -> None:
        """Let the next one have it."""
        os.close(self._descriptor)
        self._within.release()
