"""The array at work: the cycles of one run, state by state, and what one costs by formula."""

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from tpu_kernels.models.matrix import Matrix, as_index, checked_matrix, whole
from tpu_kernels.models.numerals import NO_BREAK_SPACE, Number, number
from tpu_kernels.models.picture import Picture
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.models.systolic.array import Operand, Skew, SystolicArray, refuse_endless
from tpu_kernels.models.systolic.drawing import draw_cycle, draw_filmstrip, draw_occupancy
from tpu_kernels.models.systolic.state import Cell, Departure, State
from tpu_kernels.models.table import Table, TableCell
from tpu_kernels.phrases import phrase


def cycle_count(rows: int, columns: int, length: int) -> int:
    """Cycles from the first input to the last result: ``length + rows + columns - 2``, weights already in place."""
    return whole("length", length) + whole("rows", rows) + whole("columns", columns) - 2


def operand_reads_per_mac(rows: int, columns: int, length: int) -> float:
    """Operands read from memory per multiply-accumulate when ``length`` input rows stream through one load of weights.

    ``(length * rows + rows * columns) / (length * rows * columns)``, which is ``1 / columns + 1 / length``: each
    input is read once and meets ``columns`` weights, each weight is read once and meets ``length`` inputs. Without
    the array it is 2. Results are counted apart: :func:`result_writes_per_mac`.
    """
    rows, columns, length = whole("rows", rows), whole("columns", columns), whole("length", length)
    return (length * rows + rows * columns) / (length * rows * columns)


def result_writes_per_mac(rows: int) -> float:
    """Results that leave per multiply-accumulate: ``1 / rows``, as a column adds ``rows`` products into one."""
    return 1 / whole("rows", rows)


class Trace:
    """What :func:`simulate` saw. It keeps counts and runs the array again to show a cycle, so large ones fit in memory.

    ``product`` (``M x N``), ``cycles`` (the weights' load not included), ``load_cycles`` (what that load takes when
    it is not hidden behind work), ``rows``, ``columns``, ``length`` (the ``K``, ``N`` and ``M`` of the module's
    docstring).
    """

    def __init__(self, weights: Matrix, inputs: Matrix) -> None:
        self.weights, self.inputs = weights, inputs
        self.rows, self.columns, self.length = len(weights), len(weights[0]), len(inputs)
        self.load_cycles = self.rows
        active = []
        for cycle in _cycles(weights, inputs):
            active.append(cycle.array.active())
        self._active = tuple(active)
        self.cycles = len(active)
        columns = [[departure.value for departure in column] for column in cycle.left]
        self.product: Matrix = [list(row) for row in zip(*columns, strict=True)]

    def __repr__(self) -> str:
        return phrase(
            "systolic.trace",
            rows=self.rows,
            columns=self.columns,
            length=self.length,
            cycles=self.cycles,
            share=self.utilisation.format(),
        )

    @property
    def utilisation(self) -> Quantity:
        """Useful multiply-accumulates over ``cells * cycles``, from 0 to 1."""
        return Quantity(sum(self._active) / (self.rows * self.columns * self.cycles), "share")

    def occupancy(self) -> list[int]:
        """How many cells work in each cycle."""
        return list(self._active)

    def active_cells(self, cycle: int) -> int:
        """How many cells work in ``cycle``."""
        return self._active[self._checked(cycle)]

    def state(self, cycle: int) -> State:
        """Every cell in ``cycle``, from 0 to ``cycles - 1``; ``ValueError`` outside."""
        return next(islice(self.states(), self._checked(cycle), None))

    def states(self) -> Iterator[State]:
        """The state of every cycle in turn."""
        return (cycle.snapshot() for cycle in _cycles(self.weights, self.inputs))

    def table(self, cycles: Iterable[int] | None = None) -> Table:
        """One row per cycle (default: all) and one column per cell, in the language in force; for small arrays."""
        self._small_enough()
        chosen = range(self.cycles) if cycles is None else [self._checked(cycle) for cycle in cycles]
        cells = [(k, n) for k in range(self.rows) for n in range(self.columns)]
        headings = [
            phrase("systolic.cycle"),
            *(phrase("systolic.cell", row=k, column=n) for k, n in cells),
            *(phrase("systolic.leaves", column=n) for n in range(self.columns)),
        ]
        rows = []
        for state in map(self.state, chosen):
            leaving = [phrase("systolic.nothing") if value is None else number(value) for value in state.leaving]
            texts = [str(state.cycle), *(_worked(state.cells[k][n]) for k, n in cells), *leaving]
            rows.append([TableCell(text) for text in texts])
        return Table(phrase("systolic.caption", rows=self.rows, columns=self.columns), headings, rows)

    def picture(self, cycle: int) -> Picture:
        """The array drawn in ``cycle``, with the inputs that wait and the results that have left; for small arrays."""
        self._small_enough()
        return draw_cycle(self.state(cycle), self.cycles)

    def filmstrip(self, cycles: Iterable[int] | None = None) -> Picture:
        """Several cycles (default: all) side by side, wrapping where the page is narrow."""
        self._small_enough()
        chosen = range(self.cycles) if cycles is None else [self._checked(cycle) for cycle in cycles]
        return draw_filmstrip([self.state(cycle) for cycle in chosen], self.cycles)

    def occupancy_picture(self) -> Picture:
        """A bar for each cycle: how many cells work, against how many there are."""
        return draw_occupancy(self._active, self.rows * self.columns)

    def _checked(self, cycle: int) -> int:
        number = as_index(cycle)
        if number is None or not 0 <= number < self.cycles:
            raise ValueError(phrase("systolic.no_cycle", got=repr(cycle)[:60], last=self.cycles - 1))
        return number

    def _small_enough(self) -> None:
        if self.rows > LARGEST_DRAWN or self.columns > LARGEST_DRAWN:
            raise ValueError(phrase("systolic.too_large", rows=self.rows, columns=self.columns, limit=LARGEST_DRAWN))


LARGEST_DRAWN = 12  # beyond this the numbers in a cell cannot be read


def simulate(weights: object, inputs: object) -> Trace:
    """Streams ``inputs`` (``M x K``, lists of rows) through an array of ``weights`` (``K x N``): ``inputs @ weights``.

    Exact for ints and Fractions; floats add up in the order of ``k``. Raises ``ValueError`` for what is not a matrix of
    numbers and for inner dimensions that differ. Source of the schedule: see the module's docstring.
    """
    held, streamed = checked_matrix("weights", weights), checked_matrix("inputs", inputs)
    if len(streamed[0]) != len(held):
        raise ValueError(
            phrase("matrix.inner", left="inputs", right="weights", got=len(streamed[0]), expected=len(held))
        )
    rows, columns = len(held), len(held[0])
    refuse_endless(rows, columns, cycle_count(rows, columns, len(streamed)))
    return Trace(held, streamed)


class _Cycle(NamedTuple):
    """The running machine as it stands in one cycle; :meth:`snapshot` before it runs on."""

    number: int
    array: SystolicArray
    skew: Skew[Operand]
    pending: deque[list[Number]]
    left: list[list[Departure]]

    def snapshot(self) -> State:
        planes = zip(self.array.weights, self.array.inputs, self.array.above, self.array.sums, strict=True)
        cells = tuple(
            tuple(Cell(w, None if x is None else x.value, a, s) for w, x, a, s in zip(*rows, strict=True))
            for rows in planes
        )
        waiting = tuple(map(self._waiting, range(self.array.rows)))
        return State(self.number, cells, waiting, tuple(map(tuple, self.left)))

    def _waiting(self, row: int) -> tuple[Number | None, ...]:
        queue = [None if operand is None else operand.value for operand in self.skew.lanes[row]]
        while not self.pending and queue and queue[-1] is None:  # bubbles behind the last input are nothing to wait for
            queue.pop()
        return (*queue, *(pending[row] for pending in self.pending))


def _cycles(weights: Matrix, inputs: Matrix) -> Iterator[_Cycle]:
    """Runs the array until every result has left; the machine says when, no formula does."""
    rows, columns = len(weights), len(weights[0])
    array, skew, pending = SystolicArray(rows, columns), Skew[Operand](rows), deque(inputs)
    left: list[list[Departure]] = [[] for _ in range(columns)]
    array.preload(weights)
    number = 0
    while len(left[-1]) < len(inputs):
        row = [Operand(value) for value in pending.popleft()] if pending else None
        array.tick(skew.push(row), [None] * columns)
        for n, value in enumerate(array.leaving()):
            if value is not None:
                left[n].append(Departure(number, value))
        yield _Cycle(number, array, skew, pending, left)
        number += 1


def _worked(cell: Cell) -> str:
    if cell.input is None or cell.from_above is None or cell.partial_sum is None:
        return phrase("systolic.idle")
    words = (cell.from_above, "+", cell.input, "×", cell.weight, "=", cell.partial_sum)
    return NO_BREAK_SPACE.join(word if isinstance(word, str) else number(word) for word in words)
