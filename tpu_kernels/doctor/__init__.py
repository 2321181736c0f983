"""``doctor.report()``: what this machine has, the known traps that it is in, and how to get out of each.

A look at jax happens in a process of its own, so that asking takes no device and survives a jax that aborts.
"""

from tpu_kernels.doctor.diagnosis import Report, diagnose, report
from tpu_kernels.machine.finding import Finding

__all__ = ["Finding", "Report", "diagnose", "report"]
