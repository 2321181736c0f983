"""Limits that the kernel keeps for one process, and for what a control group does not count."""

import contextlib
import resource
from pathlib import Path

from graders.sandbox.confinement import Confinement


def set_limits(confinement: Confinement, uid: int) -> None:
    """Set this process's limits, for good: hard and soft alike. Raises ``OSError``.

    Address space is not limited: JAX reserves far more than it uses.
    """
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: confinement.cpu_s,
        resource.RLIMIT_FSIZE: confinement.scratch_bytes,
        resource.RLIMIT_NOFILE: confinement.open_files,
    }
    if "memory" not in confinement.parts:
        limits[resource.RLIMIT_DATA] = confinement.memory_bytes
    if "pids" not in confinement.parts and uid != 0:  # the kernel counts no process of root's
        limits[resource.RLIMIT_NPROC] = _threads_of(uid) + confinement.processes
    for kind, wanted in limits.items():
        hard = resource.getrlimit(kind)[1]
        value = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(kind, (value, value))


def _threads_of(uid: int) -> int:
    """How many threads the user has now: those that are none of the learner's count against the limit too."""
    count = 0
    for process in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if process.name.isdecimal() and process.stat().st_uid == uid:
                count += sum(1 for _ in (process / "task").iterdir())
    return count
