"""Bytes that each device sends over each of its links, counted by the kernels as they send."""

from collections.abc import Callable, Mapping, Sequence
from math import prod

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tpu_kernels.kernels.collectives import direct_permute as direct
from tpu_kernels.kernels.collectives import judged, whole
from tpu_kernels.kernels.collectives.collective import Axes, stages, travels
from tpu_kernels.kernels.collectives.operations import COMBINE, SUM
from tpu_kernels.kernels.collectives.route import RING
from tpu_kernels.kernels.collectives.stages import PERMUTE, Stages
from tpu_kernels.phrases import phrase

Link = tuple[str, int]  # a mesh axis, and the way: 1 to the next device, -1 to the one before
Pairs = Sequence[tuple[int, int]]

ALL_GATHER, REDUCE_SCATTER, ALL_REDUCE = "all_gather", "reduce_scatter", "all_reduce"
ALL_TO_ALL, BROADCAST, PERMUTATION = "all_to_all", "broadcast", "permute"
COLLECTIVES = (ALL_GATHER, REDUCE_SCATTER, ALL_REDUCE, ALL_TO_ALL, BROADCAST, PERMUTATION)
COUNTED_BELOW = 2**31  # bytes: the counters are int32


def bytes_sent(
    collective: str,
    x: jax.Array,
    axis_name: Axes,
    *,
    op: str = SUM,
    root: int = 0,
    pairs: Pairs = (),
    impl: str = RING,
    interpret: bool | None = None,
) -> dict[Link, jax.Array]:
    """Bytes that this device sends to its neighbours when it does ``collective`` on ``x``: int32 [1] for each link.

    Called inside ``jax.shard_map``, as the function of that name. Shards travel in whole tiles of 4 KiB, an even number
    of them for each axis, and what fills them up is counted. Raises what the function raises, and ``ValueError`` for an
    unknown collective, ``impl="xla"``, more bytes than can be counted, and a pair that shares no link.
    """
    if collective not in COLLECTIVES:
        raise ValueError(phrase("collectives.unknown", got=repr(collective), known=", ".join(COLLECTIVES)))
    sizes = judged.sizes(x, axis_name, impl)
    judged.kernels(impl)
    judged.operation(op, x)
    start = judged.device(root, "root", sizes)
    moves = judged.pairs(pairs, sizes)
    if collective == ALL_GATHER:
        judged.leading(x, collective)
    if collective in (REDUCE_SCATTER, ALL_TO_ALL):
        judged.divisible(x, collective, sizes)
    if not travels(x, sizes):
        return {}
    most = x.size * x.dtype.itemsize * prod(sizes.values())
    if most >= COUNTED_BELOW:
        raise ValueError(phrase("collectives.too_many_bytes", got=most, most=COUNTED_BELOW))
    run = stages(x, sizes, impl, interpret, count=True)
    if collective == PERMUTATION:
        return _permuted(x, sizes, moves, run)
    carry: Mapping[str, Callable[[], jax.Array]] = {
        ALL_GATHER: lambda: whole.all_gather(x, run),
        REDUCE_SCATTER: lambda: whole.reduce_scatter(x, COMBINE[op], run),
        ALL_REDUCE: lambda: whole.all_reduce(x, COMBINE[op], run),
        ALL_TO_ALL: lambda: whole.all_to_all(x, run),
        BROADCAST: lambda: whole.broadcast(x, start, run),
    }
    carry[collective]()
    found: dict[Link, jax.Array] = {}
    for rings, sent in run.sent:
        for number, lane in enumerate(lane for ring in rings for lane in ring):
            link = (lane.axis, lane.way)
            found[link] = found.get(link, jnp.zeros(1, jnp.int32)) + sent[number : number + 1]
    return found


def _permuted(x: jax.Array, sizes: Mapping[str, int], pairs: Pairs, run: Stages) -> dict[Link, jax.Array]:
    """A permute's copies may take any way to their target; they are counted where there is only one."""
    used = {source: link for source, target in pairs if (link := _link(source, target, sizes))}
    rows, _ = whole.permute(x)
    _, sent = direct.permute(rows, sizes, pairs, collective_id=PERMUTE, interpret=run.interpret)
    me = lax.axis_index(tuple(sizes))
    found: dict[Link, jax.Array] = {}
    for link in sorted(set(used.values())):
        mine = np.array([used.get(device) == link for device in range(prod(sizes.values()))])
        found[link] = jnp.where(jnp.asarray(mine)[me], sent, 0)
    return found


def _link(source: int, target: int, sizes: Mapping[str, int]) -> Link | None:
    """The link from one to the other; ``None`` to itself. ``ValueError`` where there is none."""
    shape = tuple(sizes.values())
    here, there = np.unravel_index(source, shape), np.unravel_index(target, shape)
    apart = [(axis, int(b - a) % size) for (axis, size), a, b in zip(sizes.items(), here, there, strict=True) if a != b]
    if not apart:
        return None
    (axis, distance), *others = apart
    if others or distance not in (1, sizes[axis] - 1):
        raise ValueError(phrase("collectives.no_link", source=source, target=target))
    return (axis, 1 if distance == 1 else -1)
