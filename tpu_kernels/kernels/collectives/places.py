"""Where a device is on the mesh, as a kernel is told: by numbers that it is given.

A kernel could ask ``jax.lax.axis_index``. To jax the answers for two axes vary over different ones, and it cannot lower
for a TPU what brings them together, as the number of a device does.
"""

from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
from jax import lax

Places: TypeAlias = dict[str, Any]  # a scalar for each axis of the mesh, in its order


def axes() -> tuple[str, ...]:
    """The axes that devices are told apart by inside this ``shard_map``."""
    return tuple(jax.sharding.get_abstract_mesh().manual_axes)


def here() -> jax.Array:
    """This device's place on each of the :func:`axes`: int32 [axes]."""
    return jnp.stack([lax.axis_index(axis) for axis in axes()])
