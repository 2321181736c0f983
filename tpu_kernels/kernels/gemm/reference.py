"""The textbook product: for each k, add the outer product of a column of ``a`` and a row of ``b``. Slow, and plain."""

import jax
import jax.numpy as jnp
from jax import lax

from tpu_kernels.kernels.gemm.block import Block
from tpu_kernels.kernels.gemm.epilogue import finish
from tpu_kernels.kernels.gemm.manual_axes import varying, varying_over
from tpu_kernels.kernels.gemm.problem import Problem
from tpu_kernels.kernels.gemm.unblocked import describe, refusal, without_blocks

__all__ = ["HOME", "READS_TRANSPOSED", "block_for", "describe", "multiply", "refusal"]

HOME = None
READS_TRANSPOSED = False
block_for = without_blocks("reference")


def multiply(
    a: jax.Array,
    b: jax.Array,
    bias: jax.Array | None,
    *,
    problem: Problem,
    block: Block | None,
    precision: lax.Precision | None,
    activation: str | None,
    interpret: bool,
) -> jax.Array:
    """``[g, m, k] @ [g, k, n]`` in the order of ``k``; every product and every sum in ``problem.accumulator``.

    So ``precision`` changes nothing: each term is as exact as ``"highest"`` makes it.
    """

    def add_outer_product(sums: jax.Array, operands: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, None]:
        column, row = (operand.astype(problem.accumulator) for operand in operands)
        return sums + column[:, :, None] * row[:, None, :], None

    zeros = jnp.zeros((problem.g, problem.m, problem.n), problem.accumulator)
    columns, rows = jnp.moveaxis(a, 2, 0), jnp.moveaxis(b, 1, 0)
    sums, _ = lax.scan(add_outer_product, varying_over(varying(a), zeros), (columns, rows))
    return finish(sums, bias, activation, problem.out_dtype)
