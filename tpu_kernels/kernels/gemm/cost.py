"""What a block should cost on a TensorCore: a pipeline, the matrix unit at work on one block while the next comes.

A step of the grid lasts as long as the slowest of several: the matrix unit at its peak rate on whole tiles of its own
size, and the transfer of each block that changes. Before the first step there is a transfer with nothing to hide it,
and after the last as well; the last step waits for nothing more. No product takes less than all its bytes at the
published bandwidth. Rates, bandwidth and sizes are the catalogue's.

Six constants are in no catalogue. All but the last fit the cycles of the simulator in the TPU's compiler (libtpu
0.0.42.1) for blocks of small and middle products on v5e, v5p and v6e: ``simulated_blocks.csv`` beside the tests, which
say how well. There transfers do not slow each other down, and each has less than the whole bandwidth, even with two
cores. ``TURNING_BANDWIDTH`` fits one turned product on a v6e, in two panels.
"""

from dataclasses import dataclass

from jax import lax

from tpu_kernels.kernels.gemm.block import Block
from tpu_kernels.kernels.gemm.laid_out import laid_out
from tpu_kernels.kernels.gemm.panel_cut import PanelCut
from tpu_kernels.kernels.gemm.problem import Problem
from tpu_kernels.kernels.gemm.schedule import Schedule
from tpu_kernels.kernels.gemm.tensor_core import TensorCore
from tpu_kernels.kernels.gemm.tiles import whole_tiles
from tpu_kernels.phrases import phrase

LATENCY = 0.25e-6  # s, from the request of a block to its first byte
OVERHEAD = 0.2e-6  # s, of each step: filling and draining the matrix unit, counting, synchronising
TRANSFER_SHARE = 0.8  # of the chip's published bandwidth that one transfer has, whatever else moves
SWAP = 12  # rows that could pass through the matrix unit while it changes its weights
ACCUMULATOR_BANDWIDTH = 20e12  # bytes/s, reading and writing the running sums in VMEM beside the matrix unit
TURNING_BANDWIDTH = 4e12  # bytes/s, of a panel that is transposed in VMEM

COMPUTE, MEMORY, LATENCIES = "compute", "memory", "latency"


@dataclass(frozen=True)
class Cost:
    """Seconds, and where they go: ``seconds`` is less than the sum of the parts, which overlap.

    ``pipeline`` is what the steps take where transfers do not slow each other down, by which blocks are chosen, and
    ``seconds`` that or, if they need longer, all the bytes at full bandwidth. ``compute`` is the matrix unit's work,
    padding included; ``memory`` the transfer of ``bytes`` at full bandwidth; ``latency`` what each of the ``steps``
    adds to either, however small its blocks. ``least`` is the time of the useful work alone at the peak rate.
    """

    seconds: float
    pipeline: float
    compute: float
    memory: float
    latency: float
    least: float
    steps: int
    bytes: int

    @property
    def bound(self) -> str:
        """The part that is longest: ``"compute"``, ``"memory"`` or ``"latency"``."""
        parts = {COMPUTE: self.compute, MEMORY: self.memory, LATENCIES: self.latency}
        return max(parts, key=parts.__getitem__)

    def bound_in_words(self) -> str:
        """What takes longest, in the language in force."""
        if self.bound == COMPUTE:
            return phrase("gemm.bound_compute")
        return phrase("gemm.bound_memory") if self.bound == MEMORY else phrase("gemm.bound_latency")

    @property
    def share(self) -> float:
        """The part of the peak rate that is reached, from 0 to 1."""
        return self.least / self.seconds


def cost(problem: Problem, block: Block, core: TensorCore, precision: lax.Precision | None = None) -> Cost:
    """The cost of the product in such blocks by their schedule, shared among ``core.sharing`` cores."""
    done, cut, _ = laid_out(problem, block.within(problem.m, problem.k, problem.n))
    return PRICES[cut.schedule](done, cut, core, precision)


def _stream(problem: Problem, block: Block, core: TensorCore, precision: lax.Precision | None) -> Cost:
    """One grid ``(g, m, n, k)``."""
    rows, columns, depth = -(-problem.m // block.m), -(-problem.n // block.n), -(-problem.k // block.k)
    bands = problem.g * rows  # rows of blocks of the result; the cores share them, or the columns of a single one
    if bands > 1:
        bands = -(-bands // core.sharing)
    else:
        columns = -(-columns // core.sharing)
    parts = _Parts(problem, block, core, precision)
    a, b, out, step = parts.a, parts.b, parts.out, parts.step

    if depth > 1:  # each step needs new blocks of both; every depth-th writes a block of the result
        moved = bands * columns * (depth * (a + b) + out)
        waits = bands * columns * ((depth - 1) * step(a, b) + step(a, b, out)) - step(a, b)
    elif columns > 1:  # a stays for a row of blocks, b changes with each step
        moved = bands * (a + columns * (b + out))
        waits = bands * (step(a, b, out) + (columns - 1) * step(b, out)) - step(b, out)
    else:  # b stays for a product of the batch, and comes with the first step of the next
        products = min(problem.g, bands)
        moved = bands * (a + out) + products * b
        waits = (bands - products) * step(a, out) + (products - 1) * step(a, b, out)
    seconds = parts.transfer(a, b) + waits + parts.work + parts.transfer(out)
    return parts.cost(seconds, bands * columns * depth, moved)


def _panels(problem: Problem, block: Block, core: TensorCore, precision: lax.Precision | None) -> Cost:
    """Each core fetches its first panel while it multiplies what has come of it, and then a slice in each step."""
    cut, columns = PanelCut.of(problem, block), -(-problem.n // block.n)
    parts = _Parts(problem, block, core, precision)
    part, slice_ = parts.a / block.m * cut.part, parts.a / block.m * cut.slice
    b = parts.b if columns > 1 else 0
    first = parts.transfer(part) + max(parts.multiply + cut.parts * OVERHEAD, (parts.a - part) / parts.rate)
    steps = cut.panels * columns
    if steps > 1:
        first = max(first, parts.transfer(b, slice_))
    seconds = first + max(steps - 2, 0) * parts.step(b, slice_, parts.out) + (parts.work if steps > 1 else 0.0)
    if problem.a_transposed:
        seconds += cut.panels * parts.a / TURNING_BANDWIDTH
    moved = cut.panels * (parts.a + columns * (parts.b + parts.out))
    return parts.cost(parts.transfer(parts.b) + seconds + parts.transfer(parts.out), steps, moved)


def _resident(problem: Problem, block: Block, core: TensorCore, precision: lax.Precision | None) -> Cost:
    """``a`` costs nothing: it is there."""
    rows, columns = -(-problem.m // block.m), -(-problem.n // (block.n * core.sharing))
    parts = _Parts(problem, block, core, precision)
    steps = columns * rows
    waits = (columns - 1) * parts.step(parts.b, parts.out) + (steps - columns) * parts.step(parts.out)
    moved = columns * (parts.b + rows * parts.out)
    return parts.cost(parts.transfer(parts.b) + waits + parts.work + parts.transfer(parts.out), steps, moved)


PRICES = {Schedule.STREAM: _stream, Schedule.PANELS: _panels, Schedule.RESIDENT: _resident}


class _Parts:
    """Bytes of the blocks ``a``, ``b`` and ``out``, seconds of ``multiply`` and of all the ``work`` of one step."""

    def __init__(self, problem: Problem, block: Block, core: TensorCore, precision: lax.Precision | None) -> None:
        self.core, self.rate = core, TRANSFER_SHARE * core.bandwidth * core.sharing
        self.least = problem.flops / core.sharing / core.rate(problem.dtype, precision)
        self.a = block.m * block.k * problem.dtype.itemsize
        self.b = block.k * block.n * problem.dtype.itemsize
        self.out = block.m * block.n * problem.out_dtype.itemsize
        multiplied = (block.m + SWAP) * whole_tiles(block.k, core.mxu) * whole_tiles(block.n, core.mxu)
        self.multiply = 2 * multiplied / core.rate(problem.dtype, precision)
        sums = 2 * block.m * block.n * problem.accumulator.itemsize if block.k < problem.k else 0
        self.work = self.multiply + sums / ACCUMULATOR_BANDWIDTH + OVERHEAD

    def transfer(self, *blocks: float) -> float:
        """Seconds from the request of blocks of so many bytes, all at once, to the last byte."""
        return LATENCY + max(blocks) / self.rate

    def step(self, *blocks: float) -> float:
        """Seconds of a step beside which these move."""
        return max(self.work, self.transfer(*blocks))

    def cost(self, pipeline: float, steps: int, moved: float) -> Cost:
        """The whole, of the seconds that the pipeline takes."""
        return Cost(
            seconds=max(pipeline, LATENCY + moved / self.core.bandwidth),
            pipeline=pipeline,
            compute=steps * self.multiply,
            memory=moved / self.core.bandwidth,
            latency=steps * LATENCY,
            least=self.least,
            steps=steps,
            bytes=round(moved),
        )
