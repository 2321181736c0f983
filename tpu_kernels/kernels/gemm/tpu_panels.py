"""A panel of rows of ``a`` stays in VMEM while all columns of ``b`` pass; meanwhile the next panel arrives in slices.

The grid is ``(cores, panels of a core, blocks of columns)``; a block has all of ``k``, so there are no sums to keep.
Streamed, a new block of rows would have to arrive in the last step before it is needed, which is too short a time where
the matrix unit is fast. Here each step fetches one slice of it, and there are two panels: one is multiplied, the other
filled::

    step          0        1        2        3     |  4        5    ...
    multiplied    panel 0 by columns 0, 1, 2, 3    |  panel 1 by columns 0, 1
    fetched       slices 0, 1, 2, 3 of panel 1     |  slices 0, 1 of panel 2

The first panel of a core has no steps before it. It comes in parts, all asked for at once, and each is multiplied as
soon as it is there.

Where ``a`` lies by columns, a slice is a block of columns: Pallas fetches it a step ahead, and it is turned on its way
into the panel, in slots of the transposing unit that the product leaves free. Turned once, it serves all columns of b.
"""

import math
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from tpu_kernels.kernels.gemm.manual_axes import result_shape
from tpu_kernels.kernels.gemm.panel_cut import PanelCut
from tpu_kernels.kernels.gemm.tiles import LANES, tiles
from tpu_kernels.kernels.gemm.tpu_work import Ref, Work
from tpu_kernels.kernels.gemm.vmem import vmem_limit


def multiply(a: jax.Array, b: jax.Array, bias: jax.Array | None, *, work: Work, interpret: Any) -> jax.Array:
    """``[1, m, k] @ [1, k, n]``, as they lie, ``bias`` as :meth:`Work.bias_row` makes it -> ``[1, m, n]``."""
    problem, block = work.problem, work.block
    cut = PanelCut.of(problem, block)
    upright = replace(work, problem=replace(problem, a_transposed=False))  # as panels are, once they are in VMEM

    def panel(core: Any, step: Any) -> Any:
        return core * cut.panels + step

    b_spec = pl.BlockSpec((None, block.k, block.n), lambda core, i, j: (0, 0, j))
    if problem.b_transposed:
        b_spec = pl.BlockSpec((None, block.n, block.k), lambda core, i, j: (0, j, 0))
    bias_spec = (
        None if bias is None else pl.BlockSpec(work.bias_block, lambda core, i, j: work.bias_at(panel(core, i), j))
    )
    slice_spec, staging = None, []
    if problem.a_transposed and cut.slices:  # the slice for the next panel, or the last there is
        last = pl.cdiv(problem.m, cut.slice) - 1

        def slice_at(core: Any, i: Any, j: Any) -> tuple[Any, ...]:
            return 0, 0, jnp.minimum((panel(core, i) + 1) * cut.slices + jnp.minimum(j, cut.slices - 1), last)

        slice_spec = pl.BlockSpec((None, block.k, cut.slice), slice_at)
    if problem.a_transposed:
        staging = [pltpu.VMEM((cut.parts, block.k, cut.part), problem.dtype)]

    result: jax.Array = pl.pallas_call(
        partial(_kernel, work=work, upright=upright, cut=cut),
        grid=(block.cores, cut.panels, pl.cdiv(problem.n, block.n)),
        in_specs=[pl.BlockSpec(memory_space=pl.ANY), slice_spec, b_spec, bias_spec],
        out_specs=pl.BlockSpec((None, block.m, block.n), lambda core, i, j: (0, panel(core, i), j)),
        out_shape=result_shape((1, problem.m, problem.n), problem.out_dtype, like=a),
        scratch_shapes=[
            pltpu.VMEM((cut.kept, block.m, block.k), problem.dtype),
            pltpu.SemaphoreType.DMA((cut.parts + 1,)),
            pltpu.SemaphoreType.DMA,
            *staging,
        ],
        compiler_params=pltpu.CompilerParams(
            dimension_semantics=("parallel", "arbitrary", "arbitrary"),
            vmem_limit_bytes=vmem_limit(problem, block, work.precision),
        ),
        cost_estimate=work.estimate,
        interpret=interpret,
    )(a, a if slice_spec else None, b, bias)
    return result


def _kernel(
    a_hbm: Ref,
    slice_ref: Ref | None,
    b_ref: Ref,
    bias_ref: Ref | None,
    out_ref: Ref,
    panels: Ref,
    arrived: Ref,
    filled: Ref,
    *staging: Ref,
    work: Work,
    upright: Work,
    cut: PanelCut,
) -> None:
    """One step: a panel by some columns, and beside it the next slice of the next panel."""
    core, i, j = pl.program_id(0), pl.program_id(1), pl.program_id(2)
    block, here = work.block, core * cut.panels + i
    aligned = LANES if staging else math.gcd(work.problem.m, tiles(work.problem)[0])
    now, later = lax.rem(i, cut.kept), lax.rem(i + 1, cut.kept)
    more = jnp.logical_and(i + 1 < cut.panels, j < cut.slices)

    def multiply_rows(rows: Any) -> None:
        bias = bias_ref.at[rows, :] if bias_ref is not None and work.swapped else bias_ref
        out_ref[rows, :] = upright.finished(upright.whole_dot(panels.at[now, rows, :], b_ref), bias)

    def fetch() -> Any:
        """The next slice, into the other panel. The last ones overlap where they must, so that all are equal."""
        end = (here + 1) * block.m
        start = jnp.minimum(end + jnp.minimum(j * cut.slice, block.m - cut.slice), work.problem.m - cut.slice)
        source = a_hbm.at[0, pl.ds(pl.multiple_of(start, aligned), cut.slice), :]
        place = pl.ds(pl.multiple_of(start - end, aligned), cut.slice)
        return pltpu.make_async_copy(source, panels.at[later, place, :], filled)

    def part(index: Any, start: Any, size: int) -> Any:
        """Rows of the first panel, into their place, or where they are turned from."""
        rows = pl.ds(pl.multiple_of(here * block.m + start, aligned), size)
        if staging:
            return pltpu.make_async_copy(a_hbm.at[0, :, rows], staging[0].at[index], arrived.at[index])
        place = pl.ds(pl.multiple_of(start, aligned), size)
        return pltpu.make_async_copy(a_hbm.at[0, rows, :], panels.at[0, place, :], arrived.at[index])

    if cut.slices and slice_ref is None:
        pl.when(more)(lambda: fetch().start())

    @pl.when(jnp.logical_and(i == 0, j == 0))
    def _first_panel() -> None:
        for index in range(cut.parts):
            part(index, index * cut.part, cut.part).start()
        begin: Any = cut.parts * cut.part
        if not cut.whole:
            begin = jnp.minimum(begin, work.problem.m - cut.rest - here * block.m)
        rest = part(cut.parts, begin, cut.rest) if cut.rest else None
        if rest is not None and cut.whole:
            rest.start()

        def multiply_part(index: Any, _: Any) -> Any:
            start = pl.multiple_of(index * cut.part, cut.part)
            part(index, start, cut.part).wait()
            rows = pl.ds(start, cut.part)
            if staging:
                panels[0, rows, :] = staging[0][index].T
            multiply_rows(rows)
            return _

        lax.fori_loop(0, cut.parts, multiply_part, 0)
        if rest is not None:
            if not cut.whole:  # it overwrites rows of the part before, which have served
                rest.start()
            rest.wait()
            multiply_rows(pl.ds(pl.multiple_of(begin, aligned), cut.rest))

    @pl.when(jnp.logical_or(i > 0, j > 0))
    def _panel() -> None:
        multiply_rows(slice(None))

    if not cut.slices:
        return
    if slice_ref is None:
        pl.when(more)(lambda: fetch().wait())
        return

    @pl.when(more)
    def _turn() -> None:
        panels[later, pl.ds(pl.multiple_of(j * cut.slice, cut.slice), cut.slice), :] = slice_ref[...].T
