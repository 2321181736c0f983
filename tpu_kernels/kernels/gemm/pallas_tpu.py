"""The product as a Pallas kernel for the TPU: blocks stream through VMEM, the matrix unit multiplies them.

The grid is ``(g, m, n, k)`` and its last axis turns fastest: all the steps that add to one block of the result follow
each other, so its sums never leave the chip. While a step multiplies, Pallas fetches the blocks of the next and writes
the block of the result that was finished before.
"""

from functools import partial
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from tpu_kernels.backend import Here
from tpu_kernels.kernels.gemm.block import Block
from tpu_kernels.kernels.gemm.blocking import checked_block, choose_block
from tpu_kernels.kernels.gemm.cost import cost
from tpu_kernels.kernels.gemm.epilogue import finish
from tpu_kernels.kernels.gemm.manual_axes import result_shape
from tpu_kernels.kernels.gemm.problem import Problem
from tpu_kernels.kernels.gemm.tensor_core import DEFAULT_CHIP, FORMATS, tensor_core
from tpu_kernels.kernels.gemm.vmem import mebibytes, vmem_bytes, vmem_limit
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.phrases import phrase

HOME = "tpu"
READS_TRANSPOSED = True
WITHOUT_8_BITS = frozenset({"tpu_v2", "tpu_v3", "tpu_v4"})  # for these the compiler has no product of 8-bit types

Ref: TypeAlias = Any  # jax has no public name for the reference to a block that a kernel is given


def multiply(
    a: jax.Array,
    b: jax.Array,
    bias: jax.Array | None,
    *,
    problem: Problem,
    block: Block | None,
    precision: lax.Precision | None,
    activation: str | None,
    interpret: bool | pltpu.InterpretParams,
) -> jax.Array:
    """``[g, m, k] @ [g, k, n]``, either operand transposed if ``problem`` says so, in blocks of ``block``.

    ``block`` may be ragged: it need not divide the problem. ``None`` takes the one for :data:`DEFAULT_CHIP`.
    """
    block = (block or choose_block(problem, DEFAULT_CHIP, precision)).within(problem.m, problem.k, problem.n)
    depth = pl.cdiv(problem.k, block.k)

    # Where each step finds its blocks, in units of blocks. None: an axis of size 1 that the kernel does not see.
    a_spec = pl.BlockSpec((None, block.m, block.k), lambda g, m, n, k: (g, m, k))
    b_spec = pl.BlockSpec((None, block.k, block.n), lambda g, m, n, k: (g, k, n))
    if problem.a_transposed:
        a_spec = pl.BlockSpec((None, block.k, block.m), lambda g, m, n, k: (g, k, m))
    if problem.b_transposed:
        b_spec = pl.BlockSpec((None, block.n, block.k), lambda g, m, n, k: (g, n, k))
    bias_spec = None if bias is None else pl.BlockSpec((1, block.n), lambda g, m, n, k: (0, n))
    out_spec = pl.BlockSpec((None, block.m, block.n), lambda g, m, n, k: (g, m, n))

    result: jax.Array = pl.pallas_call(
        partial(_kernel, problem=problem, block=block, precision=_passes(problem, precision), activation=activation),
        grid=(problem.g, pl.cdiv(problem.m, block.m), pl.cdiv(problem.n, block.n), depth),
        in_specs=[a_spec, b_spec, bias_spec],
        out_specs=out_spec,
        out_shape=result_shape((problem.g, problem.m, problem.n), problem.out_dtype, like=a),
        scratch_shapes=[pltpu.VMEM((block.m, block.n), problem.accumulator)] if depth > 1 else [],
        compiler_params=pltpu.CompilerParams(
            dimension_semantics=("parallel", "parallel", "parallel", "arbitrary"),
            vmem_limit_bytes=vmem_limit(problem, block, precision),
        ),
        cost_estimate=pl.CostEstimate(  # for XLA, which schedules what runs beside it
            flops=problem.flops,
            bytes_accessed=problem.bytes,
            transcendentals=problem.g * problem.m * problem.n if activation in ("gelu", "silu") else 0,
        ),
        interpret=interpret,
    )(a, b, None if bias is None else bias.reshape(1, problem.n))
    return result


def _kernel(
    a_ref: Ref,
    b_ref: Ref,
    bias_ref: Ref | None,
    out_ref: Ref,
    *scratch: Ref,
    problem: Problem,
    block: Block,
    precision: lax.Precision | None,
    activation: str | None,
) -> None:
    """One step of the grid: the product of two blocks, towards one block of the result."""
    a_axis, b_axis = (0 if problem.a_transposed else 1), (1 if problem.b_transposed else 0)  # where k is

    def dot(a: jax.Array, b: jax.Array) -> jax.Array:
        contract = ((a_axis,), (b_axis,)), ((), ())
        return lax.dot_general(a, b, contract, precision=precision, preferred_element_type=problem.accumulator)

    def write(sums: jax.Array) -> None:
        out_ref[...] = finish(sums, None if bias_ref is None else bias_ref[...], activation, problem.out_dtype)

    depth = pl.cdiv(problem.k, block.k)
    if depth == 1:  # the blocks hold all of k: there is nothing to add up
        write(dot(a_ref[...], b_ref[...]))
        return

    (sums_ref,) = scratch
    step, last = pl.program_id(3), depth - 1
    left = problem.k - last * block.k  # how much of k is in the last block

    @pl.when(step == 0)
    def _start() -> None:
        sums_ref[...] = jnp.zeros_like(sums_ref)

    def add(a: jax.Array, b: jax.Array) -> None:
        sums_ref[...] += dot(a, b)

    if left == block.k:
        add(a_ref[...], b_ref[...])
    else:
        pl.when(step < last)(lambda: add(a_ref[...], b_ref[...]))
        pl.when(step == last)(lambda: add(_first(left, a_ref[...], a_axis), _first(left, b_ref[...], b_axis)))

    @pl.when(step == last)
    def _finish() -> None:
        write(sums_ref[...])


def _first(count: int, block: jax.Array, axis: int) -> jax.Array:
    """The block with zeros after the first ``count`` along ``axis``.

    What lies beyond the end of an array may be anything, a NaN too, which times 0 is a NaN: so both operands are cut.
    Only ``k`` needs it. What comes of the rows beyond ``m`` and the columns beyond ``n`` is not written.
    """
    inside = lax.broadcasted_iota(jnp.int32, block.shape, axis) < count
    return jnp.where(inside, block, jnp.zeros_like(block))


def _passes(problem: Problem, precision: lax.Precision | None) -> lax.Precision | None:
    """The precision as Mosaic has it: of float32 alone, and with no ``high`` between one pass and six."""
    if problem.dtype != jnp.float32 or precision in (None, lax.Precision.DEFAULT):
        return None
    return lax.Precision.HIGHEST


def refusal(problem: Problem, here: Here | None) -> str | None:
    """The matrix unit multiplies bfloat16, float32 as bfloat16 passes, int8 and 8-bit floats; before v5, no 8 bits."""
    if problem.dtype.name not in FORMATS:
        return phrase("gemm.not_on_mxu", got=problem.dtype.name, known=", ".join(FORMATS))
    if here is not None and here.chip in WITHOUT_8_BITS and problem.dtype.itemsize == 1:
        return phrase("gemm.not_on_chip", got=problem.dtype.name, chip=here.kind)
    return None


def block_for(problem: Problem, block: Block | None, chip: str, precision: lax.Precision | None) -> Block:
    """The caller's block, if it fits (``ValueError``), or the one that the model of the cost prefers."""
    if block is None:
        return choose_block(problem, chip, precision)
    return checked_block(problem, block, chip, precision)


def describe(problem: Problem, block: Block | None, chip: str, precision: lax.Precision | None) -> str:
    """The block, what the model of the cost says of it, and its VMEM."""
    core, cut = tensor_core(chip), block_for(problem, block, chip, precision)
    expected = cost(problem, cut, core, precision)
    return phrase(
        "gemm.described",
        block=str(cut),
        steps=expected.steps,
        chip=core.name,
        seconds=Quantity(expected.seconds, "s").format(),
        share=Quantity(expected.share, "share").format(),
        bound=expected.bound_in_words(),
        vmem=mebibytes(vmem_bytes(problem, cut, precision)),
    )
