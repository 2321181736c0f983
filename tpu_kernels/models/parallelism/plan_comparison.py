"""Ways to train the same model side by side: what each needs on a device, whether it fits, what bounds it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tpu_kernels.models.hardware import Chip
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.models.roofline.machine import Machine, machine
from tpu_kernels.models.roofline.workload import COMPUTE, label
from tpu_kernels.models.table import Table, TableCell
from tpu_kernels.phrases import phrase

if TYPE_CHECKING:
    from tpu_kernels.models.parallelism import TrainingStep


def compare(steps: "Mapping[str, TrainingStep]", on: str | Chip | Machine, mesh: Machine) -> Table:
    """One row for each step, under the name that it is given: devices, memory on the fullest, whether that fits in the
    HBM of ``on``, and on the axes of ``mesh`` (:func:`~parallelism.mesh_machine`) what bounds it, its time with the
    pipeline's bubble, and the share of that time in which the matrix unit works."""
    rows = []
    for name, step in steps.items():
        use, found, time = step.memory(), step.roofline(mesh), step.time(mesh)
        fits = phrase("comparison.fits") if use.fits(on) else phrase("comparison.too_large")
        rows.append(
            [
                TableCell(name),
                TableCell(Quantity(step.plan.devices, "count").format(), numeric=True),
                TableCell(use.total.format(), numeric=True),
                TableCell(fits),
                TableCell(label(found.bound.resource)),
                TableCell(time.format(), numeric=True),
                TableCell(Quantity(found.time_of(COMPUTE) / time, "share").format(), numeric=True),
            ]
        )
    headings = [
        phrase("comparison.plan"),
        phrase("comparison.devices"),
        phrase("comparison.memory"),
        phrase("comparison.verdict"),
        phrase("comparison.bound"),
        phrase("comparison.time"),
        phrase("comparison.peak"),
    ]
    return Table(phrase("comparison.caption", machine=machine(on).name), headings, rows)
