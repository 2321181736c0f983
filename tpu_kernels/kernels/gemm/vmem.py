"""What a block takes of VMEM, and what a core has of it."""

from jax import lax

from tpu_kernels.kernels.gemm.block import Block
from tpu_kernels.kernels.gemm.laid_out import laid_out
from tpu_kernels.kernels.gemm.panel_cut import PanelCut
from tpu_kernels.kernels.gemm.problem import Problem
from tpu_kernels.kernels.gemm.schedule import Schedule
from tpu_kernels.kernels.gemm.tensor_core import TensorCore, passes
from tpu_kernels.kernels.gemm.tiles import LANES, tiles, whole_tiles
from tpu_kernels.messages import language
from tpu_kernels.models.numerals import NO_BREAK_SPACE, number

DEFAULT_LIMIT = 16 * 2**20  # bytes: what the compiler lets one kernel have when nobody says otherwise
BUFFERS = 2  # of each operand and of the result: one is worked on while the other is in flight
HEADROOM = 4 / 5  # of VMEM is counted on; the compiler keeps registers that overflow, and more, in the rest


def vmem_bytes(problem: Problem, block: Block, precision: lax.Precision | None = None) -> int:
    """Bytes of all that is in VMEM at one time, the compiler's own copies among it. Sides count in whole tiles."""
    problem, block, _ = laid_out(problem, block)
    kept = _bytes(problem.m, problem.k, problem) if block.schedule == Schedule.RESIDENT else 0
    return kept + _of_the_kernel(problem, block, precision)


def vmem_limit(problem: Problem, block: Block, precision: lax.Precision | None = None) -> int:
    """Bytes to ask the compiler for: the default where it is enough, so that XLA may use the rest of VMEM."""
    problem, block, _ = laid_out(problem, block)
    return max(DEFAULT_LIMIT, int(_of_the_kernel(problem, block, precision) / HEADROOM))


def _of_the_kernel(problem: Problem, block: Block, precision: lax.Precision | None) -> int:
    """Bytes for the blocks in flight, the running sums, and what the compiler makes of ``a`` beside them.

    The last is a second arrangement of types narrower than 32 bits, for blocks that go through the matrix unit more
    than once, or the parts into which float32 is split for several passes; the compiler's listings of what it allocates
    show both.
    """
    m, k, n = (whole_tiles(side, tile) for side, tile in zip(block, tiles(problem), strict=True))
    a, b = m * k * problem.dtype.itemsize, k * n * problem.dtype.itemsize
    out, sums = m * n * problem.out_dtype.itemsize, m * n * problem.accumulator.itemsize
    beside = 3 * a if passes(problem.dtype, precision) > 1 else 0
    if problem.dtype.itemsize < 4 and (n > LANES or block.schedule == Schedule.STREAM):
        beside = a
    held = 0 if block.schedule == Schedule.RESIDENT else BUFFERS * a
    if block.schedule == Schedule.PANELS:
        cut = PanelCut.of(problem, block.within(problem.m, problem.k, problem.n))
        to_turn = cut.parts * cut.part + BUFFERS * cut.slice if problem.a_transposed else 0
        held = cut.kept * a + to_turn * k * problem.dtype.itemsize
    return held + BUFFERS * (b + out) + sums + beside


def _bytes(rows: int, columns: int, problem: Problem) -> int:
    return whole_tiles(rows, LANES) * whole_tiles(columns, LANES) * problem.dtype.itemsize


def vmem_budget(core: TensorCore) -> int:
    """Bytes that the blocks of a kernel may take on this core."""
    return int(HEADROOM * core.vmem)


def mebibytes(amount: int) -> str:
    """An amount of memory as people read it: ``448 MiB``, ``1,5 MiB``."""
    return f"{number(amount / 2**20, language(), 3)}{NO_BREAK_SPACE}MiB"
