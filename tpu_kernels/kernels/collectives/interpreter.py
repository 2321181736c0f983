"""Collectives on a CPU: Pallas's interpreter of TPU kernels, one thread for each simulated device, looking for races.

Devices wait for each other there, each in a thread of XLA's pool. With as few threads as devices they wait for ever,
once one of them needs a thread to copy an array; so a pool that is too narrow is refused before anything starts.
"""

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
from jax.experimental.pallas import tpu as pltpu

from tpu_kernels.backend import THREADS_PER_DEVICE, BackendError
from tpu_kernels.phrases import phrase

VARIABLE = "NPROC"  # the width of XLA's pool instead of the number of cores, when it is set as jax starts
THREADS = "tf_XLAEigen"  # what Linux calls those of the pool


def interpreter(devices: int, interpret: bool | None = None) -> Any:
    """What ``pallas_call`` takes as ``interpret`` for a kernel on ``devices`` devices.

    ``interpret``: ``None`` means wherever there is no TPU; ``False`` is also for compiling where there is none. Raises
    :class:`~tpu_kernels.backend.BackendError` on a GPU, and where the pool is too narrow.
    """
    if interpret is False:
        return False
    platform = jax.default_backend()
    if platform == "tpu" and not interpret:
        return False
    if platform != "cpu":
        raise BackendError(phrase("collectives.no_kernels", platform=platform))
    width = _counted() or max(jax.local_device_count(), _named(os.environ) or _cores())
    wanted = THREADS_PER_DEVICE * devices
    if width < wanted:
        raise BackendError(phrase("collectives.narrow_pool", width=width, devices=devices, wanted=wanted))
    return pltpu.InterpretParams(detect_races=True)


def races_found() -> bool:
    """Whether the interpreter saw a race in the last kernel that this process ran in it.

    An all-reduce runs two kernels, and a torus one for each axis; each race of any is also printed.
    """
    from jax._src.pallas.mosaic.interpret import interpret_pallas_call

    found = interpret_pallas_call.races
    return bool(found is not None and found.races_found)


def _counted() -> int:
    """Threads of the pool, whatever was set after jax started; none where the system does not tell."""
    found = 0
    for name in Path("/proc/self/task").glob("*/comm"):
        with contextlib.suppress(OSError):  # a thread that has ended meanwhile
            found += name.read_text("utf-8").strip() == THREADS
    return found


def _named(environment: Mapping[str, str]) -> int:
    value = environment.get(VARIABLE, "")
    return int(value) if value.isdecimal() else 0


def _cores() -> int:
    """Those that this process may run on, which are as many as XLA counts."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
