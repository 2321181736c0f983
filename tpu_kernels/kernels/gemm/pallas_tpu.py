"""The product as a Pallas kernel for the TPU, by one of three schedules: the block says which.

:mod:`~tpu_kernels.kernels.gemm.tpu_stream` does any problem, :mod:`~tpu_kernels.kernels.gemm.tpu_panels` and
:mod:`~tpu_kernels.kernels.gemm.tpu_resident` some faster. Each reads the operands as they lie in memory: see
:mod:`~tpu_kernels.kernels.gemm.laid_out`.
"""

from types import ModuleType

import jax
from jax import lax
from jax.experimental.pallas import tpu as pltpu

from tpu_kernels.backend import Here
from tpu_kernels.kernels.gemm import tpu_panels, tpu_resident, tpu_stream
from tpu_kernels.kernels.gemm.block import Block
from tpu_kernels.kernels.gemm.blocking import checked_block, choose_block
from tpu_kernels.kernels.gemm.cost import cost
from tpu_kernels.kernels.gemm.laid_out import laid_out
from tpu_kernels.kernels.gemm.problem import Problem
from tpu_kernels.kernels.gemm.schedule import Schedule
from tpu_kernels.kernels.gemm.tensor_core import DEFAULT_CHIP, FORMATS, tensor_core
from tpu_kernels.kernels.gemm.tpu_work import Work
from tpu_kernels.kernels.gemm.vmem import mebibytes, vmem_bytes
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.phrases import phrase

HOME = "tpu"
READS_TRANSPOSED = True
WITHOUT_8_BITS = frozenset({"tpu_v2", "tpu_v3", "tpu_v4"})  # for these the compiler has no product of 8-bit types

SCHEDULES: dict[Schedule, ModuleType] = {
    Schedule.STREAM: tpu_stream,
    Schedule.PANELS: tpu_panels,
    Schedule.RESIDENT: tpu_resident,
}


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
    done, cut, swapped = laid_out(problem, block)
    work = Work(done, cut, swapped, precision, activation)
    left, left_lies, right, right_lies = a, problem.a_transposed, b, problem.b_transposed
    if swapped:
        left, left_lies, right, right_lies = b, not problem.b_transposed, a, not problem.a_transposed
    left = left if left_lies == done.a_transposed else left.mT
    right = right if right_lies == done.b_transposed else right.mT
    result: jax.Array = SCHEDULES[cut.schedule].multiply(
        left, right, work.bias_row(bias), work=work, interpret=interpret
    )
    return result.mT if swapped else result


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
