"""A batch: a dictionary of arrays with one row an example. Devices share its rows, so their number matters."""

from collections.abc import Mapping
from typing import TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax.sharding import Mesh

from tpu_kernels.phrases import phrase
from tpu_kernels.training.examples import WEIGHT, rows
from tpu_kernels.training.mesh import split_rows

Batch: TypeAlias = Mapping[str, jax.Array]
"""Arrays whose leading dimension is the example. "weight", if there, is [B] float32: 0 means padding."""


def weights(batch: Batch) -> jax.Array:
    """The weight of each row, [B] float32; 1 where the batch says nothing."""
    return batch[WEIGHT].astype(jnp.float32) if WEIGHT in batch else jnp.ones(rows(batch), jnp.float32)


def check_divides(count: int, devices: int, accumulate: int) -> None:
    """``ValueError`` when ``count`` rows do not make ``accumulate`` microbatches of equal size on each device."""
    parts = devices * accumulate
    if count % parts:
        below = count - count % parts
        near = "/".join(str(size) for size in (below, below + parts) if size)
        raise ValueError(phrase("training.divide", got=count, devices=devices, accumulate=accumulate, near=near))


def shard_batch(batch: Mapping[str, npt.ArrayLike], mesh: Mesh, *, accumulate: int = 1) -> Batch:
    """The batch on its devices, with a weight for each row, filled up to what the devices and microbatches divide.

    The rows that fill repeat the last one with weight 0. A copy of a real row has finite loss and gradient where the
    real one has; zeros might not, and 0 times infinity is not 0. Every result has "weight", so that a last, short batch
    has the same structure as the others and no step is compiled for it alone. Raises ``ValueError`` as :func:`rows`.
    """
    count = rows(batch)
    missing = -count % (mesh.size * accumulate)
    weight = np.asarray(batch.get(WEIGHT, np.ones(count)), np.float32)
    full = {name: _repeat_last(leaf, missing) for name, leaf in batch.items()}
    full[WEIGHT] = np.pad(weight, (0, missing))
    placed: Batch = jax.device_put(full, split_rows(mesh))
    return placed


def _repeat_last(leaf: npt.ArrayLike, times: int) -> npt.ArrayLike:
    if not times:
        return leaf  # which may be on its device already
    array = np.asarray(leaf)
    return np.concatenate([array, np.repeat(array[-1:], times, axis=0)])
