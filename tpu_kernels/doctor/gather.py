"""Reads the machine, and asks jax in another process: the one part of the doctor that touches anything."""

import importlib.util
import os
import platform
import sys

from tpu_kernels.doctor.evidence import Evidence
from tpu_kernels.doctor.look import Sight, sight
from tpu_kernels.doctor.probe import Failure, ask_jax, import_failure
from tpu_kernels.machine import distributions, process
from tpu_kernels.machine.attached import attached
from tpu_kernels.machine.environment import odd_characters
from tpu_kernels.machine.lockfile import lockfile
from tpu_kernels.machine.nvidia_smi import gpu_memory
from tpu_kernels.machine.place import place

MODULES = ("jax", "jaxlib", "libtpu", "numpy", "torch", "torch_xla")


def gather(expected_devices: int | None = None, time_limit: float = 120) -> Evidence:
    """The evidence on this machine. ``time_limit``: seconds that each process that is asked may take."""
    here = attached()
    installed = distributions.installed_versions(distributions.SHOWN)
    gpus, lock = gpu_memory(), lockfile()  # before jax starts anywhere, and takes memory and the lock
    return Evidence(
        environ=dict(os.environ),
        pid=os.getpid(),
        python=platform.python_version(),
        threads=_threads(),
        place=place(os.environ, here),
        attached=here,
        installed=installed,
        asked_by_jax=distributions.asked_by_jax(),
        imported=process.imported_versions(MODULES),
        jax=_jax(time_limit),
        jax_started=process.jax_started(),
        jax_platforms=process.jax_platforms(),
        torch_xla_started=process.torch_xla_started(),
        torch_xla_failure=_torch_xla(time_limit),
        gpus=gpus,
        lockfile=lock,
        expected_devices=expected_devices,
    )


def _jax(time_limit: float) -> Sight | Failure | None:
    if process.jax_started():  # the devices are taken: another process would find them gone
        return sight()
    if importlib.util.find_spec("jax") is None or odd_characters(os.environ):
        return None
    return ask_jax(time_limit)


def _torch_xla(time_limit: float) -> Failure | None:
    if "torch_xla" in sys.modules or importlib.util.find_spec("torch_xla") is None:
        return None
    return import_failure("torch_xla", time_limit)


def _threads() -> int:
    if hasattr(os, "sched_getaffinity"):  # what a container grants, where the system tells
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
