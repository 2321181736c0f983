"""The machine: a weight-stationary systolic array whose registers move one cell per cycle. It knows no timing formula.

Each cell holds a weight and, behind it, a shadow weight that loads while the cell works (double buffering). On every
clock edge an input moves one cell to the right, a partial sum one cell down, and a weight on its way to the shadow
plane one cell down. H. T. Kung, "Why systolic architectures?", Computer 15(1), 1982; N. P. Jouppi et al., ISCA 2017,
section 2.
"""

from collections import deque
from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

from tpu_kernels.models.matrix import Matrix
from tpu_kernels.models.numerals import Number
from tpu_kernels.phrases import phrase

T = TypeVar("T")

MOST_STEPS = 200_000_000  # of a cell, one each cycle: about a minute of this simulator


def refuse_endless(rows: int, columns: int, cycles: int) -> None:
    """``ValueError`` for a run that nobody would wait for."""
    if rows * columns * cycles > MOST_STEPS:
        raise ValueError(phrase("systolic.endless", rows=rows, columns=columns, cycles=cycles))


class Operand(NamedTuple):
    """An input on its way. ``swap`` marks the first of a tile: each cell that it meets adopts its shadow weight."""

    value: Number
    swap: bool = False


class FallingWeight(NamedTuple):
    """A weight in the shadow plane, with the number of rows that it still has to descend."""

    value: Number
    rows_to_go: int


class Skew(Generic[T]):
    """Delay lines: lane ``i`` holds back what it is given for ``i`` cycles, which turns a row into a diagonal."""

    def __init__(self, lanes: int) -> None:
        self.lanes: list[deque[T | None]] = [deque([None] * lane) for lane in range(lanes)]

    def push(self, row: Sequence[T] | None) -> list[T | None]:
        """Takes one element per lane (or a bubble in every lane) and returns what comes out of each."""
        for index, lane in enumerate(self.lanes):
            lane.append(None if row is None else row[index])
        return [lane.popleft() for lane in self.lanes]


class SystolicArray:
    """``rows x columns`` cells. After each :meth:`tick` the planes hold what every cell had during that cycle.

    ``weights``, ``inputs`` (``None``: a bubble, the cell idles), ``above`` (the partial sum that came in) and
    ``sums`` (the one that goes out) are lists of rows.
    """

    def __init__(self, rows: int, columns: int) -> None:
        self.rows, self.columns = rows, columns
        self.weights: list[list[Number]] = [[0] * columns for _ in range(rows)]
        self.shadow: list[list[FallingWeight]] = [[FallingWeight(0, 0)] * columns for _ in range(rows)]
        self.inputs: list[list[Operand | None]] = [[None] * columns for _ in range(rows)]
        self.above: list[list[Number | None]] = [[None] * columns for _ in range(rows)]
        self.sums: list[list[Number | None]] = [[None] * columns for _ in range(rows)]

    def preload(self, weights: Matrix) -> None:
        """Starts with these weights in place, as at the end of a load."""
        self.weights = [list(row) for row in weights]

    def tick(self, entering: Sequence[Operand | None], falling: Sequence[FallingWeight | None]) -> None:
        """One clock edge. ``entering``: one operand or bubble per row; ``falling``: one weight or none per column."""
        # From the last cell to the first: each must find its neighbours' registers as they were before the edge.
        for k in reversed(range(self.rows)):
            for n in reversed(range(self.columns)):
                operand = entering[k] if n == 0 else self.inputs[k][n - 1]
                if operand is not None and operand.swap:
                    self.weights[k][n] = self.shadow[k][n].value
                self._let_weight_fall(k, n, falling)
                self.inputs[k][n] = operand
                self._accumulate(k, n, operand)

    def _let_weight_fall(self, k: int, n: int, falling: Sequence[FallingWeight | None]) -> None:
        if k == 0:
            arriving = falling[n]
            if arriving is not None:
                self.shadow[0][n] = arriving
        elif self.shadow[k - 1][n].rows_to_go:
            value, rows_to_go = self.shadow[k - 1][n]
            self.shadow[k][n] = FallingWeight(value, rows_to_go - 1)

    def _accumulate(self, k: int, n: int, operand: Operand | None) -> None:
        if operand is None:
            self.above[k][n] = self.sums[k][n] = None
            return
        above = 0 if k == 0 else self.sums[k - 1][n]
        if above is None:
            raise RuntimeError(f"cell ({k}, {n}) has an input but no partial sum from above: the inputs are not skewed")
        self.above[k][n] = above
        self.sums[k][n] = above + self.weights[k][n] * operand.value

    def active(self) -> int:
        """How many cells have work in this cycle."""
        return sum(operand is not None for row in self.inputs for operand in row)

    def leaving(self) -> list[Number | None]:
        """What leaves the bottom of each column in this cycle."""
        return self.sums[-1]
