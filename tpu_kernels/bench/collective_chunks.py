"""A collective in chunks that a processor's cache holds, each written where it belongs: no second array is made.

XLA's all-reduce on a CPU cannot write over its own input: with a donated array it copies the whole first, into memory
that it asks the kernel for in every call. On 64 MiB those pages, zeroed one by one, took most of the time. The chunks
share one small buffer. It is apart from :mod:`tpu_kernels.kernels.collectives.xla` because what a loop carries varies
over the mesh to ``shard_map``, though all devices get the same.
"""

from collections.abc import Callable

import jax
from jax import lax

from tpu_kernels.models.collective_cost.bus_bandwidth import ALL_REDUCE, BROADCAST, PERMUTE

CHUNK = 2 << 20  # bytes: enough that waiting for each other, 0.1 ms or so, is little beside it
ELEMENTWISE = (ALL_REDUCE, BROADCAST, PERMUTE)  # where a part of the result depends on the same part of each input


def in_chunks(collective: Callable[[jax.Array], jax.Array], x: jax.Array, result: jax.Array) -> jax.Array:
    """``collective(x)``, of an elementwise one, written over ``result``, which may be ``x`` itself: [m] -> [m]."""
    length = max(CHUNK // x.dtype.itemsize, 1)
    if x.size <= length:
        return collective(x)
    whole, rest = divmod(x.size, length)
    same = result is x

    def step(start: jax.Array | int, size: int, written: jax.Array) -> jax.Array:
        source = written if same else x
        part = lax.dynamic_slice(source, (start,), (size,))
        return lax.dynamic_update_slice(written, collective(part), (start,))

    written: jax.Array = lax.fori_loop(0, whole, lambda i, array: step(i * length, length, array), result)
    return step(whole * length, rest, written) if rest else written
