"""Blocks of both operands stream through VMEM and the matrix unit multiplies them: the schedule for any problem.

The grid is ``(g, m, n, k)`` and its last axis turns fastest: all the steps that add to one block of the result follow
each other, so its sums never leave the chip. While a step multiplies, Pallas fetches the blocks of the next and writes
the block of the result that was finished before.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from tpu_kernels.kernels.gemm.manual_axes import result_shape
from tpu_kernels.kernels.gemm.tpu_work import Ref, Work
from tpu_kernels.kernels.gemm.vmem import vmem_limit


def multiply(a: jax.Array, b: jax.Array, bias: jax.Array | None, *, work: Work, interpret: Any) -> jax.Array:
    """``[g, m, k] @ [g, k, n]``, as they lie, ``bias`` as :meth:`Work.bias_row` makes it -> ``[g, m, n]``."""
    problem, block = work.problem, work.block
    depth = pl.cdiv(problem.k, block.k)

    # Where each step finds its blocks, in units of blocks. None: an axis of size 1 that the kernel does not see.
    a_spec = pl.BlockSpec((None, block.m, block.k), lambda g, m, n, k: (g, m, k))
    b_spec = pl.BlockSpec((None, block.k, block.n), lambda g, m, n, k: (g, k, n))
    if problem.a_transposed:
        a_spec = pl.BlockSpec((None, block.k, block.m), lambda g, m, n, k: (g, k, m))
    if problem.b_transposed:
        b_spec = pl.BlockSpec((None, block.n, block.k), lambda g, m, n, k: (g, n, k))
    bias_spec = None if bias is None else pl.BlockSpec(work.bias_block, lambda g, m, n, k: work.bias_at(m, n))
    out_spec = pl.BlockSpec((None, block.m, block.n), lambda g, m, n, k: (g, m, n))

    result: jax.Array = pl.pallas_call(
        partial(_kernel, work=work),
        grid=(problem.g, pl.cdiv(problem.m, block.m), pl.cdiv(problem.n, block.n), depth),
        in_specs=[a_spec, b_spec, bias_spec],
        out_specs=out_spec,
        out_shape=result_shape((problem.g, problem.m, problem.n), problem.out_dtype, like=a),
        scratch_shapes=[pltpu.VMEM((block.m, block.n), problem.accumulator)] if depth > 1 else [],
        compiler_params=pltpu.CompilerParams(
            dimension_semantics=("parallel", "parallel", "parallel", "arbitrary"),
            vmem_limit_bytes=vmem_limit(problem, block, work.precision),
        ),
        cost_estimate=work.estimate,
        interpret=interpret,
    )(a, b, bias)
    return result


def _kernel(a_ref: Ref, b_ref: Ref, bias_ref: Ref | None, out_ref: Ref, *scratch: Ref, work: Work) -> None:
    """One step of the grid: the product of two blocks, towards one block of the result."""
    depth = pl.cdiv(work.problem.k, work.block.k)
    if depth == 1:  # the blocks hold all of k: there is nothing to add up
        out_ref[...] = work.finished(work.whole_dot(a_ref, b_ref), bias_ref)
        return

    (sums_ref,) = scratch
    step, last = pl.program_id(3), depth - 1
    left = work.problem.k - last * work.block.k  # how much of k is in the last block

    @pl.when(step == 0)
    def _start() -> None:
        sums_ref[...] = jnp.zeros_like(sums_ref)

    def add(a: jax.Array, b: jax.Array) -> None:
        sums_ref[...] += work.dot(a, b)

    if left == work.block.k:
        add(a_ref[...], b_ref[...])
    else:
        pl.when(step < last)(lambda: add(a_ref[...], b_ref[...]))
        pl.when(step == last)(lambda: add(_first(left, a_ref[...], work.a_axis), _first(left, b_ref[...], work.b_axis)))

    @pl.when(step == last)
    def _finish() -> None:
        out_ref[...] = work.finished(sums_ref[...], bias_ref)


def _first(count: int, block: jax.Array, axis: int) -> jax.Array:
    """The block with zeros after the first ``count`` along ``axis``.

    What lies beyond the end of an array may be anything, a NaN too, which times 0 is a NaN: so both operands are cut.
    Only ``k`` needs it. What comes of the rows beyond ``m`` and the columns beyond ``n`` is not written.
    """
    inside = lax.broadcasted_iota(jnp.int32, block.shape, axis) < count
    return jnp.where(inside, block, jnp.zeros_like(block))
