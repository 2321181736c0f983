"""What an operation asks of a machine: its arithmetic, and the bytes that it moves at each level of the memory.

A workload says nothing about speed. ``work`` is in FLOP (in OP for integer formats), keyed by the format that the
matrix unit multiplies in, or :data:`VECTOR` for arithmetic that only the vector unit does. ``traffic`` is in bytes,
keyed by the level that carries them, such as ``hbm`` or ``ici``.
"""

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tpu_kernels.models.checked_number import positive_number
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.models.roofline.amounts import not_negative
from tpu_kernels.phrases import phrase

COMPUTE = "compute"  # the matrix unit, in whatever formats
VECTOR = "vector"
HBM = "hbm"
ACRONYMS = (HBM, "vmem", "ici", "dcn", "pcie", "dram", "sram")


class Workload(NamedTuple):
    """Arithmetic by rate and bytes by level. Immutable: the methods give a new one."""

    name: str
    work: Mapping[str, float]
    traffic: Mapping[str, float]

    def __repr__(self) -> str:
        moved = [f"{label(level)} {self.bytes(level)}" for level in self.traffic]
        return phrase("workload.summary", name=self.name, flops=self.flops, traffic=", ".join(moved) or "—")

    @property
    def flops(self) -> Quantity:
        """All the arithmetic, matrix and vector units together."""
        unit = "OP" if self.work and all(key.startswith("int") for key in self.work) else "FLOP"
        return Quantity(sum(self.work.values()), unit)

    def bytes(self, level: str = HBM) -> Quantity:
        """Bytes that cross ``level``; zero when the workload does not use it."""
        return Quantity(self.traffic.get(level, 0.0), "bytes")

    def intensity(self, level: str = HBM) -> Quantity:
        """Arithmetic intensity: FLOP per byte that crosses ``level``; infinite when nothing does.

        Source: Williams, Waterman and Patterson, "Roofline", CACM 52(4), 2009, who call it operational intensity.
        """
        moved = self.bytes(level)
        unit = "OP/byte" if self.flops.unit == "OP" else "FLOP/byte"
        return Quantity(self.flops / moved if moved else math.inf, unit)

    def moving(self, level: str, amount: float) -> "Workload":
        """The same work with ``amount`` bytes (zero or more) on ``level``, in place of what it carried before."""
        return self._replace(traffic={**self.traffic, level: not_negative(level, amount)})

    def times(self, count: float) -> "Workload":
        """The workload ``count`` times over (a positive number: half a workload is one shared by two chips)."""
        factor = positive_number("count", count)
        return Workload(
            self.name,
            {key: factor * amount for key, amount in self.work.items()},
            {level: factor * amount for level, amount in self.traffic.items()},
        )


def label(resource: str) -> str:
    """What a reader calls a resource: ``HBM``, ``ICI``, the matrix unit's arithmetic; an axis of a mesh as it is."""
    if resource == COMPUTE:
        return phrase("workload.compute")
    if resource == VECTOR:
        return phrase("workload.vector")
    return resource.upper() if resource in ACRONYMS else resource


def together(name: str, workloads: Iterable[Workload]) -> Workload:
    """Several workloads as one: their arithmetic and their bytes add up."""
    work: dict[str, float] = {}
    traffic: dict[str, float] = {}
    for one in workloads:
        for key, amount in one.work.items():
            work[key] = work.get(key, 0.0) + amount
        for level, amount in one.traffic.items():
            traffic[level] = traffic.get(level, 0.0) + amount
    return Workload(name, work, traffic)
