"""Collectives on arrays of any shape: to padded rows, over the stages of a route, and back.

Each takes what a device holds and :class:`~tpu_kernels.kernels.collectives.stages.Stages`. Devices are numbered along
the route's axes, the last one fastest.
"""

from collections.abc import Sequence
from math import prod

import jax
import jax.numpy as jnp
import numpy as np

from tpu_kernels.kernels.collectives.accumulate import Combine
from tpu_kernels.kernels.collectives.layout import COLUMNS, Layout, layout
from tpu_kernels.kernels.collectives.stages import Stages

MOST_CHUNKS = 16  # of a broadcast; beyond that the steps that fill the pipeline hardly show
CHUNK_BYTES = 64 * 2**10  # smaller ones would wait for the link to answer


def all_gather(x: jax.Array, stages: Stages) -> jax.Array:
    """``[m, ...]`` -> ``[n * m, ...]``."""
    route, cut = stages.route, _cut(x.size, stages)
    parts = [part.reshape(cut.rows, COLUMNS) for part in _parts(x.reshape(1, -1), stages, cut)]
    found = [_from_part(part, stages, number) for number, part in enumerate(stages.gather(parts))]
    return _joined(found, x.size).reshape(route.devices * x.shape[0], *x.shape[1:])


def reduce_scatter(x: jax.Array, combine: Combine, stages: Stages) -> jax.Array:
    """``[n * m, ...]`` -> ``[m, ...]``."""
    devices = stages.route.devices
    cut = _cut(x.size // devices, stages)
    parts = [_to_part(part, stages, number) for number, part in enumerate(_parts(x.reshape(devices, -1), stages, cut))]
    found = stages.scatter(parts, combine, cut.piece)
    return _joined([part[None] for part in found], x.size // devices).reshape(x.shape[0] // devices, *x.shape[1:])


def all_reduce(x: jax.Array, combine: Combine, stages: Stages) -> jax.Array:
    """The same shape: a reduce-scatter of equal shards, padded where there is something left, and an all-gather."""
    devices = stages.route.devices
    shard = -(-x.size // devices)
    cut = _cut(shard, stages)
    padded = jnp.pad(x.reshape(-1), (0, devices * shard - x.size)).reshape(devices, shard)
    sizes = [[stages.route.sizes[axis] for axis in reversed(stages.route.order(p))] for p in range(stages.route.parts)]
    parts = [
        part.reshape(*size, cut.rows, COLUMNS) for part, size in zip(_parts(padded, stages, cut), sizes, strict=True)
    ]
    found = stages.gather(stages.scatter(parts, combine, cut.piece))
    whole = [part.reshape(devices, cut.rows, COLUMNS) for part in found]
    return _joined(whole, shard).reshape(-1)[: x.size].reshape(x.shape)


def all_to_all(x: jax.Array, stages: Stages) -> jax.Array:
    """``[n * m, ...]``, part ``i`` for device ``i`` -> part ``i`` from device ``i``."""
    devices = stages.route.devices
    cut = _cut(x.size // devices, stages)
    parts = [_to_part(part, stages, number) for number, part in enumerate(_parts(x.reshape(devices, -1), stages, cut))]
    found = [_from_part(part, stages, number) for number, part in enumerate(stages.exchange(parts))]
    return _joined(found, x.size // devices).reshape(x.shape)


def broadcast(x: jax.Array, root: int, stages: Stages) -> jax.Array:
    """What device ``root`` holds, on all."""
    chunks = min(MOST_CHUNKS, max(1, x.size * x.dtype.itemsize // stages.route.parts // CHUNK_BYTES))
    cut = _cut(-(-x.size // chunks), stages)
    places = tuple(int(place) for place in np.unravel_index(root, stages.route.sizes))
    padded = jnp.pad(x.reshape(-1), (0, chunks * -(-x.size // chunks) - x.size)).reshape(chunks, -1)
    found = stages.broadcast(_parts(padded, stages, cut), places)
    return _joined(found, padded.shape[1]).reshape(-1)[: x.size].reshape(x.shape)


def permute(x: jax.Array) -> tuple[jax.Array, Layout]:
    """``x`` as rows, and how to get it back."""
    cut = layout(x.size, np.dtype(x.dtype))
    return jnp.pad(x.reshape(-1), (0, cut.size - x.size)).reshape(cut.rows, COLUMNS), cut


def _cut(size: int, stages: Stages) -> Layout:
    """For a part of a shard of ``size`` elements."""
    return layout(-(-size // stages.route.parts), np.dtype(stages.dtype))


def _parts(x: jax.Array, stages: Stages, cut: Layout) -> list[jax.Array]:
    """``[n, size]`` as ``[n, rows, 128]`` for each part, padded with zeros at the end of each of the ``n``."""
    n, size = x.shape
    parts = stages.route.parts
    padded = jnp.pad(x, ((0, 0), (0, parts * cut.size - size))).reshape(n, parts, cut.rows, COLUMNS)
    return [padded[:, part] for part in range(parts)]


def _joined(parts: Sequence[jax.Array], size: int) -> jax.Array:
    """``[n, rows, 128]`` of each part as ``[n, size]``, without the padding."""
    n = parts[0].shape[0]
    return jnp.concatenate([part.reshape(n, -1) for part in parts], axis=1)[:, :size]


def _to_part(x: jax.Array, stages: Stages, part: int) -> jax.Array:
    """``[devices, rows, 128]`` with the axes in the order of a part, the last one first: ``[..., rows, 128]``."""
    route = stages.route
    order = tuple(reversed(route.order(part)))
    whole = x.reshape(*route.sizes, *x.shape[1:])
    return whole.transpose(*order, route.parts, route.parts + 1)


def _from_part(x: jax.Array, stages: Stages, part: int) -> jax.Array:
    """The way back."""
    route = stages.route
    order = tuple(reversed(route.order(part)))
    back = tuple(int(place) for place in np.argsort(order))
    return x.transpose(*back, route.parts, route.parts + 1).reshape(prod(route.sizes), *x.shape[-2:])
