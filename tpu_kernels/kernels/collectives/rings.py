"""Which rings a collective runs on, and which way round: the schedules of the models, as lanes of a kernel.

``ring`` sends whole shards one way. ``bidirectional`` sends them the short way round; what is exactly opposite goes half
each way, so that both ways of every link carry as much. ``torus`` cuts the array in as many parts as there are axes:
part ``p`` starts on axis ``p`` and takes the axes in turn, both ways on each, so that every link is busy in every stage.
"""

from typing import TypeAlias

from tpu_kernels.kernels.collectives.channel import Lane

Ring: TypeAlias = tuple[Lane, ...]  # the lanes of one ring: one way, or both


def one_way(axis: str, size: int) -> Ring:
    """All of each shard to the next device, ``size - 1`` times."""
    return (Lane(axis, size, 1, size - 1),)


def both_ways(axis: str, size: int) -> Ring:
    """Each shard to both neighbours, half round the ring."""
    opposite = size % 2 == 0
    return tuple(Lane(axis, size, way, (size - 1) // 2, half if opposite else None) for way, half in ((1, 0), (-1, 1)))
