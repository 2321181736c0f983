"""What a block should cost on a TensorCore: a pipeline, the matrix unit at work on one block while the next comes.

A step of the grid lasts as long as the slower of two: the matrix unit at its peak rate on whole tiles of its own size,
and the transfer of the blocks that change. Before the first step there is a transfer with nothing to hide it, and after
the last as well. Rates, bandwidth and sizes are the catalogue's. Four constants are in no catalogue: they fit the
cycles that the simulator in the TPU's compiler (libtpu 0.0.42.1) gives for 69 blocks of this kernel on v5e, v5p and
v6e, to 9 % (root mean square) if transfers do not slow each other down, as they do not in the simulator. In a memory
they do, so here they add up.
"""

from dataclasses import dataclass

from jax import lax

from tpu_kernels.kernels.gemm.block import Block
from tpu_kernels.kernels.gemm.problem import Problem
from tpu_kernels.kernels.gemm.tensor_core import TensorCore
from tpu_kernels.kernels.gemm.tiles import whole_tiles
from tpu_kernels.phrases import phrase

LATENCY = 0.25e-6  # s, from the request of a block to its first byte
OVERHEAD = 0.3e-6  # s, of each step: filling and draining the matrix unit, counting, synchronising
SWAP = 12  # rows that could pass through the matrix unit while it changes its weights
ACCUMULATOR_BANDWIDTH = 40e12  # bytes/s, reading and writing the running sums in VMEM beside the matrix unit

COMPUTE, MEMORY, LATENCIES = "compute", "memory", "latency"


@dataclass(frozen=True)
class Cost:
    """Seconds, and where they go: ``seconds`` is less than the sum of the parts, which overlap.

    ``compute`` is the matrix unit's work, padding included; ``memory`` the transfer of ``bytes`` at full bandwidth;
    ``latency`` what each of the ``steps`` adds to either, however small its blocks. ``least`` is the time of the useful
    work alone at the peak rate.
    """

    seconds: float
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
    """The cost of one grid ``(g, m, n, k)`` of such blocks, shared among ``core.sharing`` cores."""
    bm, bk, bn = block.within(problem.m, problem.k, problem.n)
    rows, columns, depth = -(-problem.m // bm), -(-problem.n // bn), -(-problem.k // bk)
    bands = problem.g * rows  # rows of blocks of the result; the cores share them, or the columns of a single one
    if bands > 1:
        bands = -(-bands // core.sharing)
    else:
        columns = -(-columns // core.sharing)

    rate = core.rate(problem.dtype, precision)
    multiply = 2 * (bm + SWAP) * whole_tiles(bk, core.mxu) * whole_tiles(bn, core.mxu) / rate
    accumulate = 2 * bm * bn * problem.accumulator.itemsize / ACCUMULATOR_BANDWIDTH if depth > 1 else 0.0
    work = multiply + accumulate + OVERHEAD

    a, b = bm * bk * problem.dtype.itemsize, bk * bn * problem.dtype.itemsize
    out = bm * bn * problem.out_dtype.itemsize

    def step(moved: int) -> float:
        return max(work, LATENCY + moved / core.bandwidth)

    if depth > 1:  # each step needs new blocks of both; every depth-th writes a block of the result
        moved = bands * columns * (depth * (a + b) + out)
        seconds = bands * columns * ((depth - 1) * step(a + b) + step(a + b + out))
    elif columns > 1:  # a stays for a row of blocks, b changes with each step
        moved = bands * (a + columns * (b + out))
        seconds = bands * (step(a + b + out) + (columns - 1) * step(b + out))
    else:  # b stays for a product of the batch, and comes with the first step of the next
        products = min(problem.g, bands)
        moved = bands * (a + out) + products * b
        seconds = (bands - products + 1) * step(a + out) + (products - 1) * step(a + b + out)
    steps = bands * columns * depth
    return Cost(
        seconds=seconds + 2 * LATENCY + (a + b + out) / core.bandwidth,
        compute=steps * multiply,
        memory=moved / core.bandwidth,
        latency=steps * LATENCY,
        least=problem.flops / core.sharing / rate,
        steps=steps,
        bytes=moved,
    )
