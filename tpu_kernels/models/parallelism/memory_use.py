"""Bytes that a training step takes on a device, by purpose."""

from typing import NamedTuple

from tpu_kernels.models.hardware import Chip
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.models.roofline.machine import Machine, machine
from tpu_kernels.models.table import Table, TableCell
from tpu_kernels.phrases import phrase


class MemoryUse(NamedTuple):
    """Bytes on a device of pipeline stage ``stage``."""

    stage: int
    parameters: float
    gradients: float
    optimiser: float
    activations: float
    logits: float
    working: float

    def __repr__(self) -> str:
        return phrase("memory.summary", stage=self.stage, total=self.total)

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    @property
    def total(self) -> Quantity:
        """All of it."""
        return Quantity(sum(self[1:]), "bytes")

    def fits(self, on: str | Chip | Machine, *, reserved: float = 0.0) -> bool:
        """Whether it fits in the HBM of a chip or machine, less a share ``reserved`` (0 to 1) for everything else."""
        if isinstance(reserved, bool) or not 0 <= reserved < 1:
            raise ValueError(phrase("memory.reserved", got=repr(reserved)))
        return self.total <= machine(on).capacity() * (1 - reserved)

    def table(self) -> Table:
        """One row a purpose."""
        purposes = {
            phrase("memory.parameters"): self.parameters,
            phrase("memory.gradients"): self.gradients,
            phrase("memory.optimiser"): self.optimiser,
            phrase("memory.activations"): self.activations,
            phrase("memory.logits"): self.logits,
            phrase("memory.working"): self.working,
            phrase("memory.total"): self.total,
        }
        rows = [
            [TableCell(purpose), TableCell(Quantity(amount, "bytes").format(), numeric=True)]
            for purpose, amount in purposes.items()
        ]
        headings = [phrase("memory.purpose"), phrase("memory.amount")]
        return Table(phrase("memory.caption", stage=self.stage), headings, rows)
