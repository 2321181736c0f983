"""Collectives by remote DMA: what devices of a mesh say to each other, as Pallas kernels, next to XLA's own.

All are called inside ``jax.shard_map``, on what each device holds: ``all_reduce(x, "x", impl="ring")``. ``impl``:

- ``"ring"``: one way round one mesh axis;
- ``"bidirectional"``: the short way round, both directions at once;
- ``"torus"``: over several mesh axes at once, every link busy;
- ``"xla"``: ``jax.lax``'s own.

The kernels run on TPUs, and on a CPU in Pallas's interpreter, which looks for races.
"""

from tpu_kernels.kernels.collectives.collective import (
    all_gather,
    all_reduce,
    all_to_all,
    broadcast,
    permute,
    reduce_scatter,
)
from tpu_kernels.kernels.collectives.interpreter import races_found
from tpu_kernels.kernels.collectives.traffic import bytes_sent

__all__ = [
    "all_gather",
    "all_reduce",
    "all_to_all",
    "broadcast",
    "bytes_sent",
    "permute",
    "races_found",
    "reduce_scatter",
]
