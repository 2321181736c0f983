"""The product by XLA's own ``dot``, with the epilogue left to XLA's fusion: what a kernel has to beat."""

import jax
import jax.numpy as jnp
from jax import lax

from tpu_kernels.kernels.gemm.block import Block
from tpu_kernels.kernels.gemm.dtypes import INT8
from tpu_kernels.kernels.gemm.epilogue import finish
from tpu_kernels.kernels.gemm.problem import Problem
from tpu_kernels.kernels.gemm.unblocked import describe, refusal, without_blocks

__all__ = ["HOME", "READS_TRANSPOSED", "block_for", "describe", "multiply", "refusal"]

HOME = None
READS_TRANSPOSED = True
block_for = without_blocks("xla")


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
    """``a @ b`` as one ``dot`` that sums in ``problem.accumulator``; the result keeps the axes of the operands.

    Of a single product (``g`` is 1) all axes but the last are rows: ``[..., m, k] @ [k, n]``, and ``[..., k, m]``
    transposed with ``[..., k, n]``. Of several, all but the last two are the batch of both operands.
    """
    if jnp.issubdtype(problem.dtype, jnp.integer) and problem.dtype != INT8:  # no hardware has a dot for the others
        a, b = a.astype(problem.accumulator), b.astype(problem.accumulator)
    batch = tuple(range(a.ndim - 2)) if problem.g > 1 else ()
    contract = _axes(a, batch, rows=problem.a_transposed), _axes(b, batch, rows=not problem.b_transposed)
    sums = lax.dot_general(
        a, b, (contract, (batch, batch)), precision=precision, preferred_element_type=problem.accumulator
    )
    return finish(sums, bias, activation, problem.out_dtype)


def _axes(x: jax.Array, batch: tuple[int, ...], *, rows: bool) -> tuple[int, ...]:
    last = x.ndim - 1
    return tuple(range(len(batch), last)) if rows else (last,)
