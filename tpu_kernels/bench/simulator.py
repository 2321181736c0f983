"""The simulator in the TPU's compiler as a stopwatch: for whole programs, and for one copy between memories."""

from collections.abc import Callable
from dataclasses import dataclass

from tpu_kernels.bench.fairness import HBM, NO_PREFETCH, check_start, copy_cycles, moved_cycles
from tpu_kernels.bench.programs import Program, fetch
from tpu_kernels.xray.examine import xray
from tpu_kernels.xray.report import Report

SHORT, LONG = 2**20, 2**24  # bytes of the two copies that give the rate of one
MEMORY = 16 * 2**30  # bytes that the compiler may take: the simulation of a product of 8192 needs more than 8 GiB

Examine = Callable[..., Report]


@dataclass(frozen=True)
class Simulator:
    """For one chip; a program may take ``seconds`` of processor time. ``examine``: :func:`tpu_kernels.xray.xray`.

    Every method raises what that raises.
    """

    chip: str
    seconds: float
    examine: Examine = xray

    def report(self, program: Program, start: str, *, simulate: bool = True) -> Report:
        """Of a program that begins as ``start`` says; see :mod:`~tpu_kernels.bench.fairness`."""
        flags = (NO_PREFETCH,) if start == HBM else ()
        return self.examine(
            program.function,
            *program.specs,
            chip=self.chip,
            simulate=simulate,
            flags=flags,
            seconds=self.seconds,
            memory_bytes=MEMORY,
        )

    def moved(self, report: Report, start: str, left: int, name: str) -> int:
        """Cycles of what is copied beside the kernels of the program called ``name``.

        Raises :class:`~.fairness.RefusedError` when it does not begin as ``start`` says.
        """
        check_start(report, start, left, name)
        return moved_cycles(report, self.copy, name)

    def copy(self, size: int) -> int:
        """Cycles of one copy of ``size`` bytes from HBM to VMEM; the other way is taken to be the same."""
        return copy_cycles(self.report(fetch(size), HBM), size)

    @property
    def rate(self) -> float:
        """Bytes per cycle of one copy, from what a long one takes more than a short one."""
        return (LONG - SHORT) / (self.copy(LONG) - self.copy(SHORT))
