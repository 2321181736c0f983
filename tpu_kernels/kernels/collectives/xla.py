"""The same collectives by XLA, for comparison and for every dtype."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from tpu_kernels.kernels.collectives.operations import MAX, MIN, SUM

REDUCE: dict[str, Any] = {SUM: lax.psum, MAX: lax.pmax, MIN: lax.pmin}


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
    found: jax.Array = REDUCE[operation](x, axes)
    return found


def all_to_all(x: jax.Array, axes: tuple[str, ...]) -> jax.Array:
    found: jax.Array = lax.all_to_all(x, axes, split_axis=0, concat_axis=0, tiled=True)
    return found


def broadcast(x: jax.Array, axes: tuple[str, ...], root: int) -> jax.Array:
    """A sum with all others at zero."""
    mine = lax.axis_index(axes) == root
    found: jax.Array = lax.psum(jnp.where(mine, x, jnp.zeros_like(x)), axes)
    return found


def permute(x: jax.Array, axes: tuple[str, ...], pairs: Sequence[tuple[int, int]]) -> jax.Array:
    found: jax.Array = lax.ppermute(x, axes, pairs)
    return found
