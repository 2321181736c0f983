"""A product as the memory of a TPU holds it: some matrices lie column after column, and a kernel should read them so.

jax lays a matrix of a program's arguments and results out so that tiles of 8 x 128 waste the least; of 4000 x 4100 in
bfloat16 the columns lie one after the other. A Pallas kernel wants rows: for it XLA would copy the matrix first, which
for these sizes takes a sixth of the time of the product. The transposed matrix is the same memory read by rows and
costs nothing, so the kernels are given that, and give it: a result that should lie by columns is ``(b.T @ a.T).T``.
"""

from dataclasses import replace
from typing import NamedTuple

from tpu_kernels.kernels.gemm.block import Block
from tpu_kernels.kernels.gemm.problem import Problem
from tpu_kernels.kernels.gemm.schedule import Schedule
from tpu_kernels.kernels.gemm.tiles import LANES, ROWS, tiles, whole_tiles


class LaidOut(NamedTuple):
    """What a kernel is given: ``swapped`` says that it multiplies ``b.T`` by ``a.T``."""

    problem: Problem
    block: Block
    swapped: bool


def by_columns(rows: int, columns: int) -> bool:
    """Whether jax lays ``[rows, columns]`` out column after column: where that takes less memory in whole tiles."""
    upright = whole_tiles(rows, ROWS) * whole_tiles(columns, LANES)
    return whole_tiles(columns, ROWS) * whole_tiles(rows, LANES) < upright


def laid_out(problem: Problem, block: Block) -> LaidOut:
    """The same product of the same memory, read by rows; as it is, where ``block`` would cut through its tiles.

    Never swapped where ``a`` is to be resident, for it would be ``b`` that is.
    """
    swapped = is_swapped(problem) and block.schedule != Schedule.RESIDENT
    found, cut = by_rows(problem, swapped), block.swapped() if swapped else block
    return LaidOut(found, cut, swapped) if suits(found, cut) else LaidOut(problem, block, swapped=False)


def is_swapped(problem: Problem) -> bool:
    """Whether the result should lie by columns.

    Of several products (``g``) the arrays have more axes and layouts of other kinds: they stay as they are.
    """
    return problem.g == 1 and by_columns(problem.m, problem.n)


def by_rows(problem: Problem, swapped: bool) -> Problem:
    """The product, or that of the transposed matrices, that reads its operands by rows as they lie."""
    if problem.g > 1:
        return problem
    m, k, n = problem.m, problem.k, problem.n
    a = not by_columns(k, m) if problem.a_transposed else by_columns(m, k)
    b = not by_columns(n, k) if problem.b_transposed else by_columns(k, n)
    if swapped:
        return replace(problem, m=n, n=m, a_transposed=not b, b_transposed=not a)
    return replace(problem, a_transposed=a, b_transposed=b)


def suits(problem: Problem, block: Block) -> bool:
    """Whether the block cuts every array between tiles."""
    sides = zip(block, tiles(problem), (problem.m, problem.k, problem.n), strict=True)
    return all(side % tile == 0 or side >= whole for side, tile, whole in sides)
