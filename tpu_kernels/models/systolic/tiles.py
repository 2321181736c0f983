"""Any matrix product on an array of fixed size: tiles padded with zeros, one weight load each, hidden or not."""

from typing import NamedTuple

from tpu_kernels.models.matrix import Matrix, checked_matrix, whole, width
from tpu_kernels.models.numerals import Number
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.models.systolic.array import FallingWeight, Operand, Skew, SystolicArray, refuse_endless
from tpu_kernels.phrases import phrase


class TiledRun(NamedTuple):
    """What a product took: ``cycles`` of the array, ``tiles`` of weights, and their ``loads`` as the machine
    counted."""

    product: Matrix
    cycles: int
    tiles: int
    loads: int
    utilisation: Quantity

    def __repr__(self) -> str:
        share = self.utilisation.format()
        return phrase("systolic.tiled_run", tiles=self.tiles, cycles=self.cycles, share=share)


class _Tile(NamedTuple):
    """A block of the weights and the columns of the input that meet it, both padded to the size of the array."""

    first_column: int
    weights: Matrix
    inputs: Matrix


def tiled_cycles(m: int, k: int, n: int, rows: int, columns: int, overlap_weight_load: bool = True) -> int:
    """Cycles for an ``m x k`` by ``k x n`` product on a ``rows x columns`` array, first weight load included.

    With ``T = ceil(k / rows) * ceil(n / columns)`` tiles. Not overlapped, each tile loads, runs and drains alone:
    ``T * (rows + m + rows + columns - 2)``. Overlapped, a tile starts as soon as the one before has entered and its own
    weights are in: ``rows + (T - 1) * max(m, rows) + m + rows + columns - 2``. The simulator proves both.
    """
    m, rows, columns = whole("m", m), whole("rows", rows), whole("columns", columns)
    tiles = -(-whole("k", k) // rows) * -(-whole("n", n) // columns)  # rounded up, and exact however large
    stream = m + rows + columns - 2
    if overlap_weight_load:
        return rows + (tiles - 1) * max(m, rows) + stream
    return tiles * (rows + stream)


def utilisation(m: int, k: int, n: int, rows: int, columns: int, overlap_weight_load: bool = True) -> Quantity:
    """The share of the array's multiply-accumulates that were useful: ``m * k * n / (rows * columns * cycles)``."""
    cycles = tiled_cycles(m, k, n, rows, columns, overlap_weight_load)
    return Quantity(m * k * n / (rows * columns * cycles), "share")


def matmul(a: object, b: object, rows: int, columns: int, *, overlap_weight_load: bool = True) -> TiledRun:
    """``a @ b`` (``M x K`` by ``K x N``, lists of rows), simulated register by register on a ``rows x columns`` array.

    Blocks of ``b`` stay in the array as weights; a block on the edge is padded with zeros, which cost cycles all the
    same. ``overlap_weight_load``: load the next block while this one works (double buffering). Exact for ints and
    Fractions. Raises ``ValueError`` for what is not a matrix of numbers and for inner dimensions that differ.
    """
    left, right = checked_matrix("a", a), checked_matrix("b", b)
    rows, columns = whole("rows", rows), whole("columns", columns)
    if len(right) != width(left):
        raise ValueError(phrase("matrix.inner", left="a", right="b", got=width(left), expected=len(right)))
    refuse_endless(rows, columns, tiled_cycles(len(left), len(right), width(right), rows, columns, overlap_weight_load))
    tiles = _cut(left, right, rows, columns)
    controller = _Controller(tiles, rows, columns, overlap_weight_load)
    while not controller.finished():
        controller.tick()
    useful = len(left) * len(right) * width(right)
    product = [row[: width(right)] for row in controller.accumulators]
    return TiledRun(
        product=product,
        cycles=controller.cycles,
        tiles=len(tiles),
        loads=controller.loaded,
        utilisation=Quantity(useful / (rows * columns * controller.cycles), "share"),
    )


def _cut(a: Matrix, b: Matrix, rows: int, columns: int) -> list[_Tile]:
    tiles = []
    for n in range(0, width(b), columns):
        for k in range(0, len(b), rows):
            block = [_padded(row[n : n + columns], columns) for row in b[k : k + rows]]
            block += [[0] * columns for _ in range(rows - len(block))]
            tiles.append(_Tile(n, block, [_padded(row[k : k + rows], rows) for row in a]))
    return tiles


def _padded(row: list[Number], length: int) -> list[Number]:
    return row + [0] * (length - len(row))


class _Controller:
    """Decides, cycle by cycle, which row of inputs and which row of weights to send next; adds up what comes out."""

    def __init__(self, tiles: list[_Tile], rows: int, columns: int, overlap: bool) -> None:
        self.tiles, self.overlap = tiles, overlap
        self.array = SystolicArray(rows, columns)
        self.input_skew: Skew[Operand] = Skew(rows)
        self.weight_skew: Skew[FallingWeight] = Skew(columns)
        self.cycles = self.loaded = self.started = 0
        self.weights_to_send = self.inputs_to_send = 0
        self.length = len(tiles[0].inputs)
        self.results = [0] * columns  # per column, how many have left
        padded_width = tiles[-1].first_column + columns
        self.accumulators: Matrix = [[0] * padded_width for _ in range(self.length)]

    def finished(self) -> bool:
        return self._drained(len(self.tiles))

    def tick(self) -> None:
        inputs = self._next_inputs()  # first: a tile that starts now frees the shadow plane for the next one
        weights = self._next_weights()
        self.array.tick(self.input_skew.push(inputs), self.weight_skew.push(weights))
        for n, value in enumerate(self.array.leaving()):
            if value is not None:
                tile, m = divmod(self.results[n], self.length)
                self.accumulators[m][self.tiles[tile].first_column + n] += value
                self.results[n] += 1
        self.cycles += 1

    def _next_inputs(self) -> list[Operand] | None:
        first = self.inputs_to_send == 0
        if first:
            if self.started == self.loaded:
                return None
            self.started += 1
            self.inputs_to_send = self.length
        row = self.tiles[self.started - 1].inputs[self.length - self.inputs_to_send]
        self.inputs_to_send -= 1
        return [Operand(value, swap=first) for value in row]

    def _next_weights(self) -> list[FallingWeight] | None:
        if self.weights_to_send == 0:
            shadow_free = self.loaded == self.started
            if not shadow_free or self.loaded == len(self.tiles):
                return None
            if not self.overlap and not self._drained(self.started):
                return None
            self.weights_to_send = self.array.rows
        self.weights_to_send -= 1
        row = self.weights_to_send  # the row that lies deepest is sent first
        weights = self.tiles[self.loaded].weights[row]
        if row == 0:
            self.loaded += 1
        return [FallingWeight(value, rows_to_go=row) for value in weights]

    def _drained(self, tiles: int) -> bool:
        return min(self.results) == tiles * self.length
