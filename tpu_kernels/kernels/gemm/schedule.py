"""In which order the blocks of a product come to the matrix unit of a TPU, and which of them stay in VMEM meanwhile."""

from enum import StrEnum


class Schedule(StrEnum):
    """The ways that the kernels for the TPU know; each is a module with that word in its name."""

    STREAM = "stream"  # blocks of both operands pass through VMEM: any problem
    PANELS = "panels"  # a panel of rows of a stays while the columns of b pass; the next panel arrives meanwhile
    RESIDENT = "resident"  # all of a is in VMEM before the kernel starts; XLA brings it
