"""The fewest cycles that a block can possibly take: what no schedule and no compiler can save."""

from tpu_kernels.kernels.gemm.block import Block
from tpu_kernels.kernels.gemm.laid_out import laid_out
from tpu_kernels.kernels.gemm.problem import Problem
from tpu_kernels.kernels.gemm.schedule import Schedule
from tpu_kernels.kernels.gemm.tensor_core import tensor_core
from tpu_kernels.xray.targets import target


def least_cycles(problem: Problem, block: Block, chip: str, rate: float) -> float:
    """Cycles of the useful work at the published rate of ``chip``, and of transfers that nothing can hide.

    ``rate``: of one DMA, in bytes per cycle. Any number of transfers are taken to be that fast at the same time, as in
    the compiler's simulator. Where blocks stream, the first ones must be there before the first product, and the last
    block of the result can leave only after the last one.
    """
    core = tensor_core(chip)
    work = problem.flops / core.sharing / core.rate(problem.dtype, None) * target(chip).clock
    if block.schedule != Schedule.STREAM:
        return work
    problem, block, _ = laid_out(problem, block.within(problem.m, problem.k, problem.n))
    m, k, n = block
    size, out_size = problem.dtype.itemsize, problem.out_dtype.itemsize
    rows, columns, depth = -(-problem.m // m), -(-problem.n // n), -(-problem.k // k)
    steps = problem.g * rows * columns * depth // core.sharing  # of one core, which may have one more
    first, last = max(m * k, k * n) * size / rate, m * n * out_size / rate
    # Blocks of a that the pipeline fetches anew: with each step, unless the next one wants the same.
    a_fetched = steps if depth > 1 else steps // columns
    b_fetched = steps if depth * columns > 1 else problem.g // core.sharing
    traffic = max(a_fetched * m * k, b_fetched * k * n) * size / rate
    if problem.m % m or problem.k % k or problem.n % n:
        traffic = 0.0  # blocks that hang over the edge are fetched in part
    return max(first + work, traffic) + last
