"""Random numbers on many devices: a key that is the same everywhere draws the same everywhere, which is rarely meant.

Two remedies. With :func:`shard_key` each device has a key of its own, and draws depend on how many devices there are.
With :func:`example_keys` each example has one, wherever it lies, and they do not; steps here use these.
"""

import jax
import jax.numpy as jnp


def example_keys(key: jax.Array, step: jax.Array | int, count: int) -> jax.Array:
    """Keys [count], one for each row of the whole batch, different at each step."""
    return jax.vmap(jax.random.fold_in, (None, 0))(jax.random.fold_in(key, step), jnp.arange(count))


def shard_key(key: jax.Array, step: jax.Array | int, axis: str) -> jax.Array:
    """The key of this device along ``axis``, different at each step; to be called inside ``shard_map``."""
    return jax.random.fold_in(jax.random.fold_in(key, step), jax.lax.axis_index(axis))
