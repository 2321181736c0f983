"""Products as programs to compile, never to run: ours, XLA's, and the one copy that both leave out of their cycles."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from tpu_kernels.kernels import matmul
from tpu_kernels.kernels.gemm.block import Block
from tpu_kernels.kernels.gemm.dtypes import accumulator_dtype, result_dtype
from tpu_kernels.kernels.gemm.problem import Problem
from tpu_kernels.kernels.gemm.tiles import LANES, whole_tiles
from tpu_kernels.kernels.gemm.vmem import DEFAULT_LIMIT

TILE_ROWS = 8  # of 32 bits
TILE_BYTES = 4 * TILE_ROWS * LANES

Ref: TypeAlias = Any  # jax has no public name for it


@dataclass(frozen=True)
class Program:
    """What :func:`tpu_kernels.xray.xray` takes: a function, and arguments like those that it would be given."""

    function: Callable[..., jax.Array]
    specs: tuple[jax.ShapeDtypeStruct, ...]


def problem(m: int, k: int, n: int, dtype: str, *, g: int = 1) -> Problem:
    """``[g, m, k] @ [g, k, n]`` in the types that ``matmul`` would use."""
    given = jnp.dtype(dtype)
    return Problem(g, m, k, n, given, accumulator_dtype(given), result_dtype(given))


def specs(wanted: Problem) -> tuple[jax.ShapeDtypeStruct, jax.ShapeDtypeStruct]:
    """The operands: matrices, or of a batch three axes, in the layouts that jax gives them."""
    batch = () if wanted.g == 1 else (wanted.g,)
    return (
        jax.ShapeDtypeStruct((*batch, wanted.m, wanted.k), wanted.dtype),
        jax.ShapeDtypeStruct((*batch, wanted.k, wanted.n), wanted.dtype),
    )


def our_product(wanted: Problem, block: Block) -> Program:
    """Our kernel, in blocks of ``block``, by its schedule."""

    def product(a: jax.Array, b: jax.Array) -> jax.Array:
        return matmul(a, b, backend="pallas_tpu", block=block, interpret=False)

    return Program(product, specs(wanted))


def xla_product(wanted: Problem) -> Program:
    """What everybody would write, with the same type of result."""

    def product(a: jax.Array, b: jax.Array) -> jax.Array:
        return jnp.matmul(a, b, preferred_element_type=wanted.out_dtype)

    return Program(product, specs(wanted))


def fetch(size: int) -> Program:
    """``size`` bytes, rounded up to whole tiles, from HBM to VMEM in one DMA.

    A tile of them is written back, so that the program has a result.
    """
    array = jax.ShapeDtypeStruct((whole_tiles(size, TILE_BYTES) // (4 * LANES), LANES), jnp.int32)

    def kernel(hbm_ref: Ref, tile_ref: Ref, vmem_ref: Ref, semaphore: Ref) -> None:
        copy = pltpu.make_async_copy(hbm_ref, vmem_ref, semaphore)
        copy.start()
        copy.wait()
        tile_ref[...] = vmem_ref[:TILE_ROWS]

    def fetched(given: jax.Array) -> jax.Array:
        tile: jax.Array = pl.pallas_call(
            kernel,
            in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
            out_specs=pl.BlockSpec(memory_space=pltpu.VMEM),
            out_shape=jax.ShapeDtypeStruct((TILE_ROWS, LANES), given.dtype),
            scratch_shapes=[pltpu.VMEM(given.shape, given.dtype), pltpu.SemaphoreType.DMA],
            compiler_params=pltpu.CompilerParams(vmem_limit_bytes=given.size * 4 + DEFAULT_LIMIT),
        )(given)
        return tile

    return Program(fetched, (array,))
