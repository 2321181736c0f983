"""The product as a kernel for Hopper's tensor cores: one warpgroup fetches, the others multiply, all at the same time.

There are as many blocks of threads as multiprocessors, and each makes one tile of the result after another. Its
producer copies slices of the operands from global to shared memory by TMA, into ``stages`` slots in turn, and so runs
ahead of the consumers. Each slot has two barriers::

    full    both slices have landed: the consumers may multiply them
    empty   every consumer is done with them: the producer may overwrite them

Each consumer holds the sums of its rows in registers, has wgmma add to them out of shared memory, and writes them out
by TMA while the producer already fetches for the next tile. TMA reads zeros beyond the end of an array and writes
nothing there, so the edges of the result need no code.
"""

from dataclasses import dataclass
from inspect import signature
from typing import Any, TypeAlias, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu

from tpu_kernels.kernels.gemm.epilogue import finish, working_dtype
from tpu_kernels.kernels.gemm.gpu_tile import MMA_ROWS, PRODUCER_REGISTERS, SWIZZLE, GpuTile
from tpu_kernels.kernels.gemm.manual_axes import result_shape
from tpu_kernels.kernels.gemm.problem import Problem

BLOCKS, WARPGROUPS = "blocks", "warpgroups"

RESULT = "out_type" if "out_type" in signature(plgpu.kernel).parameters else "out_shape"  # renamed in 0.10
# Since 0.10.2 jax infers which thread holds which element of an array; before, a kernel with wgmma has to say so.
LAYOUTS_ARE_INFERRED = jax.__version_info__ >= (0, 10, 2)

T = TypeVar("T")
Ref: TypeAlias = Any  # jax has no public name for a reference to memory


@dataclass(frozen=True)
class Work:
    """What every warpgroup knows before it starts: the product, its tile and the number of blocks that share it."""

    problem: Problem
    tile: GpuTile
    activation: str | None
    blocks: int
    a_is_transposed: bool  # a comes as [g, k, m]
    b_is_transposed: bool  # b comes as [g, n, k]

    @property
    def slices(self) -> int:
        """Slices of each operand that go into one tile."""
        return -(-self.problem.k // self.tile.k)

    def place(self, number: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        """Batch, first row and first column of a tile.

        Tiles that are made at the same time lie close together, in a region about as high as it is wide, so that most
        of what they read comes from the L2: strips of ``high`` rows of tiles are walked column by column, one to the
        right, the next to the left.
        """
        _, down, across = self.tile.grid(self.problem)
        high = min(down, max(1, round((self.blocks * self.tile.n / self.tile.m) ** 0.5)))
        per_batch = jnp.int32(down * across)
        within = lax.rem(number, per_batch)
        strip = lax.div(within, jnp.int32(high * across))
        top = strip * high
        height = jnp.minimum(high, down - top)  # the last strip may be lower, and none is empty
        left = within - top * across
        row, along = top + lax.rem(left, height), lax.div(left, height)
        column = jnp.where(lax.rem(strip, 2) == 0, along, across - 1 - along)
        return lax.div(number, per_batch), row * self.tile.m, column * self.tile.n


@dataclass(frozen=True)
class Shared:
    """The shared memory of a block: slots of ``a`` and ``b``; of ``out`` two for each consumer, of ``bias`` one.

    ``bias`` and ``bias_full`` are ``None`` where there is no bias.
    """

    a: Ref
    b: Ref
    out: Ref
    bias: Ref
    full: Ref
    empty: Ref
    bias_full: Ref


def product(
    a: jax.Array,
    b: jax.Array,
    bias: jax.Array | None,
    *,
    work: Work,
    out_shape: tuple[int, int, int],
    interpret: Any,
) -> jax.Array:
    """``a`` [g, m, k] by ``b`` [g, k, n], each transposed where ``work`` says so, into an array of ``out_shape``.

    8-bit operands need ``k`` innermost. ``work.problem`` has the sizes that count: the arrays may be larger, and
    ``bias`` covers whole tiles. ``interpret`` is ``None``, or the parameters of jax's interpreter.
    """

    def body(*refs: Ref) -> None:
        a_ref, b_ref, *bias_refs, out_ref = refs

        def warpgroup(*memory: Ref) -> None:
            shared = Shared(*memory)
            lax.cond(
                lax.axis_index(WARPGROUPS) == work.tile.consumers,
                lambda: _produce(work, a_ref, b_ref, shared),
                lambda: _consume(work, bias_refs[0] if bias_refs else None, out_ref, shared),
            )

        pl.run_scoped(warpgroup, *_memory(work, biased=bool(bias_refs)), collective_axes=WARPGROUPS)

    body.__name__ = "hopper_product"
    options: dict[str, Any] = {RESULT: result_shape(out_shape, work.tile.out_dtype, like=a)}
    if interpret is not None:
        options["interpret"] = interpret
    if LAYOUTS_ARE_INFERRED:
        options["compiler_params"] = plgpu.CompilerParams(lowering_semantics=plgpu.LoweringSemantics.Warpgroup)
    kernel = plgpu.kernel(
        body,
        grid=(work.blocks,),
        grid_names=(BLOCKS,),
        num_threads=work.tile.consumers + 1,  # what jax calls a thread is a warpgroup
        thread_name=WARPGROUPS,
        **options,
    )
    result: jax.Array = kernel(a, b) if bias is None else kernel(a, b, bias)
    return result


def _memory(work: Work, *, biased: bool) -> tuple[Ref, ...]:
    """What a block allocates, in the order of :class:`Shared`."""
    tile = work.tile
    a_slice = _stored(work.a_is_transposed, tile.m, tile.k)
    b_slice = _stored(work.b_is_transposed, tile.k, tile.n)
    piece = (MMA_ROWS, tile.out_columns)
    sums = working_dtype(work.problem.accumulator, tile.out_dtype)
    return (
        plgpu.SMEM((tile.stages, *a_slice), tile.dtype, transforms=_swizzled(tile.dtype)),
        plgpu.SMEM((tile.stages, *b_slice), tile.dtype, transforms=_swizzled(tile.dtype)),
        plgpu.SMEM((tile.consumers, 2, *piece), tile.out_dtype, transforms=_swizzled(tile.out_dtype)),
        plgpu.SMEM((tile.consumers, tile.n), sums) if biased else None,
        plgpu.Barrier(num_arrivals=2, num_barriers=tile.stages),  # a copy of each operand
        plgpu.Barrier(num_arrivals=tile.consumers, num_barriers=tile.stages),
        plgpu.Barrier(num_barriers=tile.consumers) if biased else None,
    )


def _swizzled(dtype: np.dtype) -> tuple[Any, ...]:
    """How TMA lays an array out for wgmma: tiles of 8 rows of 128 bytes, scattered over the banks."""
    return (plgpu.TilingTransform((8, SWIZZLE // dtype.itemsize)), plgpu.SwizzleTransform(SWIZZLE))


def _stored(transposed: bool, rows: T, columns: T) -> tuple[T, T]:
    return (columns, rows) if transposed else (rows, columns)


def _turned(transposed: bool, ref: Ref) -> Ref:
    return ref.transpose((1, 0)) if transposed else ref


def _produce(work: Work, a: Ref, b: Ref, shared: Shared) -> None:
    """The producer's life: fetch what the consumers will need, slice after slice of tile after tile."""
    tile, stages = work.tile, jnp.int32(work.tile.stages)
    if tile.consumers > 1:  # beside one consumer there are registers enough
        plgpu.set_max_registers(PRODUCER_REGISTERS, action="decrease")

    def fetch_tile(loop: plgpu.NDLoopInfo) -> None:
        batch, row, column = work.place(*loop.index)
        rows, columns = pl.ds(row, tile.m), pl.ds(column, tile.n)

        def fetch_slice(number: jax.Array, _: None) -> None:
            step = loop.local_index * work.slices + number
            slot = lax.rem(step, stages)
            pl.when(step >= stages)(lambda: plgpu.barrier_wait(shared.empty.at[slot]))
            deep = pl.ds(number * tile.k, tile.k)
            a_slice = a.at[batch, *_stored(work.a_is_transposed, rows, deep)]
            b_slice = b.at[batch, *_stored(work.b_is_transposed, deep, columns)]
            plgpu.copy_gmem_to_smem(a_slice, shared.a.at[slot], shared.full.at[slot])
            plgpu.copy_gmem_to_smem(b_slice, shared.b.at[slot], shared.full.at[slot])

        lax.fori_loop(0, work.slices, fetch_slice, None)

    tiles = tile.count(work.problem)
    plgpu.nd_loop((tiles,), collective_axes=BLOCKS)(fetch_tile)

    # Whoever waits on a barrier must see each of its turns, so the last of every slot are awaited too.
    tiles_here = lax.div(tiles - 1 - lax.axis_index(BLOCKS), jnp.int32(work.blocks)) + 1
    steps = tiles_here * work.slices

    def drain(step: jax.Array, _: None) -> None:
        plgpu.barrier_wait(shared.empty.at[lax.rem(step, stages)])

    lax.fori_loop(lax.max(steps - stages, 0), steps, drain, None)


def _consume(work: Work, bias: Ref, out: Ref, shared: Shared) -> None:
    """A consumer's life: multiply what has landed, and write its rows of each tile."""
    tile, stages = work.tile, jnp.int32(work.tile.stages)
    me = lax.axis_index(WARPGROUPS)
    my_rows = pl.ds(me * tile.rows, tile.rows)
    if tile.consumers > 1:
        plgpu.set_max_registers(tile.consumer_registers, action="increase")

    def release(step: jax.Array) -> None:
        plgpu.barrier_arrive(shared.empty.at[lax.rem(step, stages)])

    def make_tile(loop: plgpu.NDLoopInfo) -> None:
        batch, row, column = work.place(*loop.index)
        first = jnp.int32(loop.local_index * work.slices)
        if bias is not None:  # fetched now, needed when the sums are complete
            plgpu.copy_gmem_to_smem(bias.at[pl.ds(column, tile.n)], shared.bias.at[me], shared.bias_full.at[me])

        def multiply(sums: Ref) -> None:
            def add_slice(number: jax.Array, _: None) -> None:
                step = first + number
                slot = lax.rem(step, stages)
                plgpu.barrier_wait(shared.full.at[slot])
                a_slice = shared.a.at[slot, *_stored(work.a_is_transposed, my_rows, slice(None))]
                b_slice = shared.b.at[slot]
                plgpu.wgmma(sums, _turned(work.a_is_transposed, a_slice), _turned(work.b_is_transposed, b_slice))
                plgpu.wgmma_wait(1)  # this one goes on; the one before is done, so its slot is free
                pl.when(number > 0)(lambda: release(step - 1))

            lax.fori_loop(0, work.slices, add_slice, None)
            plgpu.wgmma_wait(0)
            release(first + (work.slices - 1))
            if bias is not None:
                plgpu.barrier_wait(shared.bias_full.at[me])
            _write(work, sums[...], out, (batch, row + me * tile.rows, column), shared)

        pl.run_scoped(multiply, plgpu.WGMMAAccumulatorRef((tile.rows, tile.n), work.problem.accumulator))

    plgpu.nd_loop((tile.count(work.problem),), collective_axes=BLOCKS)(make_tile)
    plgpu.wait_smem_to_gmem(0, wait_read_only=True)


def _write(
    work: Work, sums: jax.Array, out: Ref, place: tuple[jax.Array, jax.Array, jax.Array], shared: Shared
) -> None:
    """A consumer's sums, with the epilogue, to global memory: in pieces, of which one is made while another leaves."""
    tile = work.tile
    batch, row, column = place
    me = lax.axis_index(WARPGROUPS)
    corners = [(i, j) for i in range(0, tile.rows, MMA_ROWS) for j in range(0, tile.n, tile.out_columns)]
    for number, (i, j) in enumerate(corners):
        piece = sums[i : i + MMA_ROWS, j : j + tile.out_columns]
        bias = None
        if shared.bias is not None:
            bias = lax.broadcast_in_dim(_row(shared.bias.at[me, pl.ds(j, tile.out_columns)]), piece.shape, (1,))
        buffer = shared.out.at[me, number % 2]
        # The piece before may still be leaving, from the other buffer; of the tile before, none.
        plgpu.wait_smem_to_gmem(min(number, 1), wait_read_only=True)
        buffer[...] = finish(piece, bias, work.activation, tile.out_dtype)
        plgpu.commit_smem()
        there = out.at[batch, pl.ds(row + i, MMA_ROWS), pl.ds(column + j, tile.out_columns)]
        plgpu.copy_smem_to_gmem(buffer, there)


def _row(ref: Ref) -> jax.Array:
    """A vector out of shared memory, spread over the threads as a row of the sums is."""
    loaded: jax.Array = ref[...] if LAYOUTS_ARE_INFERRED else plgpu.load(ref, (), layout=plgpu.Layout.WGMMA.reduce(0))
    return loaded
