"""A snapshot of a systolic array in one cycle."""

from typing import NamedTuple

from tpu_kernels.models.numerals import Number


class Cell(NamedTuple):
    """One cell in one cycle. Idle cells have only their weight: the rest is ``None``."""

    weight: Number
    input: Number | None
    from_above: Number | None
    partial_sum: Number | None  # from_above + input * weight

    @property
    def active(self) -> bool:
        """Whether the cell has an input to work on."""
        return self.input is not None


class Departure(NamedTuple):
    """A result that left the bottom of a column, and the cycle in which it did."""

    cycle: int
    value: Number


class State(NamedTuple):
    """The array in one ``cycle``: ``cells`` by row and column, and what is on either side of it.

    ``waiting[k]``: what has still to enter row ``k``, next first, with ``None`` for a bubble. ``left[n]``: what has
    left column ``n``, this cycle's included.
    """

    cycle: int
    cells: tuple[tuple[Cell, ...], ...]
    waiting: tuple[tuple[Number | None, ...], ...]
    left: tuple[tuple[Departure, ...], ...]

    @property
    def active(self) -> int:
        """How many cells work in this cycle."""
        return sum(cell.active for row in self.cells for cell in row)

    @property
    def leaving(self) -> tuple[Number | None, ...]:
        """Per column, the result that leaves in this cycle."""
        return tuple(column[-1].value if column and column[-1].cycle == self.cycle else None for column in self.left)
