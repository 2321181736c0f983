"""The same collectives by XLA, for comparison and for every dtype.

On a CPU its sums of floats begin at zero and round what is too small to be normal to it, and its maxima pass over NaN:
where bits must come out as they went in, they travel as integers.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from tpu_kernels.kernels.collectives.operations import MAX, MIN, SUM

REDUCE: dict[str, Any] = {SUM: lax.psum, MAX: lax.pmax, MIN: lax.pmin}
ORDERED = (jnp.float16, jnp.bfloat16, jnp.float32, jnp.float64)  # whose bits are so too, sign apart


def all_gather(x: jax.Array, axes: tuple[str, ...]) -> jax.Array:
    found: jax.Array = lax.all_gather(x, axes, tiled=True)
    return found


def reduce_scatter(x: jax.Array, axes: tuple[str, ...], operation: str) -> jax.Array:
    """jax has only the sum; the others exchange all shards first, and reduce what came."""
    if operation == SUM:
        summed: jax.Array = lax.psum_scatter(x, axes, scatter_dimension=0, tiled=True)
        return summed
    came = all_to_all(x, axes)
    shards = came.reshape(lax.axis_size(axes), -1, *x.shape[1:])
    return shards.max(axis=0) if operation == MAX else shards.min(axis=0)


def all_reduce(x: jax.Array, axes: tuple[str, ...], operation: str) -> jax.Array:
    if operation != SUM and x.dtype in ORDERED and jax.default_backend() == "cpu":
        return _extreme(x, axes, operation)
    found: jax.Array = REDUCE[operation](x, axes)
    return found


def all_to_all(x: jax.Array, axes: tuple[str, ...]) -> jax.Array:
    found: jax.Array = lax.all_to_all(x, axes, split_axis=0, concat_axis=0, tiled=True)
    return found


@partial(jax.custom_jvp, nondiff_argnums=(1, 2))
def broadcast(x: jax.Array, axes: tuple[str, ...], root: int) -> jax.Array:
    """A sum of bits with all others at zero; a sum of floats would lose the sign of minus zero."""
    if jnp.iscomplexobj(x):
        found: jax.Array = lax.complex(broadcast(x.real, axes, root), broadcast(x.imag, axes, root))
        return found
    if x.dtype == jnp.bool_:
        return _root_alone(x.astype(jnp.uint8), axes, root).astype(jnp.bool_)
    if not jnp.issubdtype(x.dtype, jnp.floating):
        return _root_alone(x, axes, root)
    bits = lax.bitcast_convert_type(x, jnp.dtype(f"uint{jnp.finfo(x.dtype).bits}"))
    return lax.bitcast_convert_type(_root_alone(bits, axes, root), x.dtype)


@broadcast.defjvp
def _(axes: tuple[str, ...], root: int, given: tuple[jax.Array], change: tuple[jax.Array]) -> tuple[Any, Any]:
    return broadcast(*given, axes, root), _root_alone(*change, axes, root)


def permute(x: jax.Array, axes: tuple[str, ...], pairs: Sequence[tuple[int, int]]) -> jax.Array:
    found: jax.Array = lax.ppermute(x, axes, pairs)
    return found


def _root_alone(x: jax.Array, axes: tuple[str, ...], root: int) -> jax.Array:
    mine = lax.axis_index(axes) == root
    found: jax.Array = lax.psum(jnp.where(mine, x, jnp.zeros_like(x)), axes)
    return found


def _extreme(x: jax.Array, axes: tuple[str, ...], operation: str) -> jax.Array:
    """The largest or the smallest by integers in the same order, with NaN beyond them all."""
    kind = jnp.iinfo(f"int{jnp.finfo(x.dtype).bits}")

    def turned(bits: jax.Array) -> jax.Array:
        """Those below zero grow downwards; the other way as well."""
        return bits ^ ((bits >> (kind.bits - 1)) & kind.max)

    numbers = turned(lax.bitcast_convert_type(x, kind.dtype))
    beyond = jnp.where(jnp.isnan(x), jnp.array(kind.max if operation == MAX else kind.min, kind.dtype), numbers)
    return lax.bitcast_convert_type(turned(REDUCE[operation](beyond, axes)), x.dtype)
