"""All of ``a`` is in VMEM before the kernel starts; columns of ``b`` pass, each block of them once.

Where a lies is said to XLA: it copies the matrix there, beside what runs before if it can, or has it made there. So
this schedule is for whoever knows that ``a`` is there already, or soon: the choice for operands in HBM never takes it.
A block has all of ``k``, many rows and few columns: there is least to do between the steps.
"""

from functools import partial
from typing import Any

import jax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from tpu_kernels.kernels.gemm.manual_axes import result_shape
from tpu_kernels.kernels.gemm.tpu_work import Ref, Work
from tpu_kernels.kernels.gemm.vmem import vmem_limit


def multiply(a: jax.Array, b: jax.Array, bias: jax.Array | None, *, work: Work, interpret: Any) -> jax.Array:
    """``[1, m, k] @ [1, k, n]``, as they lie, ``bias`` as :meth:`Work.bias_row` makes it -> ``[1, m, n]``."""
    problem, block = work.problem, work.block
    if not interpret:  # the interpreter has one memory
        a = pltpu.with_memory_space_constraint(a, pltpu.VMEM)
    b_spec = pl.BlockSpec((None, block.k, block.n), lambda n, m: (0, 0, n))
    if problem.b_transposed:
        b_spec = pl.BlockSpec((None, block.n, block.k), lambda n, m: (0, n, 0))
    result: jax.Array = pl.pallas_call(
        partial(_kernel, work=work),
        grid=(pl.cdiv(problem.n, block.n), pl.cdiv(problem.m, block.m)),
        in_specs=[
            pl.BlockSpec(memory_space=pltpu.VMEM),
            b_spec,
            None if bias is None else pl.BlockSpec(work.bias_block, lambda n, m: work.bias_at(m, n)),
        ],
        out_specs=pl.BlockSpec((None, block.m, block.n), lambda n, m: (0, m, n)),
        out_shape=result_shape((1, problem.m, problem.n), problem.out_dtype, like=a),
        compiler_params=pltpu.CompilerParams(
            dimension_semantics=("parallel", "parallel"), vmem_limit_bytes=vmem_limit(problem, block, work.precision)
        ),
        cost_estimate=work.estimate,
        interpret=interpret,
    )(a, b, bias)
    return result


def _kernel(a_ref: Ref, b_ref: Ref, bias_ref: Ref | None, out_ref: Ref, *, work: Work) -> None:
    block = work.block
    a = a_ref.at[0]
    if block.m < work.problem.m:
        rows = pl.ds(pl.multiple_of(pl.program_id(1) * block.m, block.m), block.m)
        a = a.at[:, rows] if work.problem.a_transposed else a.at[rows, :]
    out_ref[...] = work.finished(work.whole_dot(a, b_ref), bias_ref)
