"""Several devices of torch_xla on one CPU, to see what a program does on many before there are many."""

import os

from tpu_kernels.backend import POOL
from tpu_kernels.machine.process import torch_xla_started
from tpu_kernels.phrases import phrase

# Each device that waits for the others in a sum holds a thread, and torch_xla makes no more of them than the machine
# has cores: four devices on two cores waited for each other until XLA ended the process.
POOLS = ("XLA_THREAD_POOL_SIZE", "NPROC")


def simulate_devices(n: int) -> None:
    """torch_xla has ``n`` devices on the CPU, in this process and in those that it starts. In the first cell.

    Sets ``PJRT_DEVICE``, ``CPU_NUM_DEVICES``, ``XLA_THREAD_POOL_SIZE`` and ``NPROC``. Raises ``ValueError`` for fewer
    than one device, ``RuntimeError`` when torch_xla has taken its devices already.
    """
    if n < 1:
        raise ValueError(phrase("training.size", name="n", got=n))
    require_unclaimed()
    os.environ |= {"PJRT_DEVICE": "CPU", "CPU_NUM_DEVICES": str(n)} | dict.fromkeys(POOLS, str(max(POOL, 2 * n)))


def require_unclaimed() -> None:
    """Raises ``RuntimeError`` when torch_xla has taken devices in this process, after which their number is settled."""
    if torch_xla_started():
        raise RuntimeError(f"{phrase('doctor.device_claimed')} {phrase('doctor.device_claimed_cure')}")
