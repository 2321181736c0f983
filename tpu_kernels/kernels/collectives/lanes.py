"""Which rings a collective runs on, and which way round: the schedules of the models, as lanes for kernels.

A ring one way passes whole shards to the next device. Both ways, a shard takes the shorter one; when two are as short,
half of it takes each, so that every link carries as much in either direction.
"""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Lane:
    """One way round the ring of ``size`` devices along a mesh axis.

    ``way`` is 1 to the next device, -1 to the one before. Each device sends ``steps`` whole shards this way. ``half``
    is 0 or 1 when half a shard goes one device farther: the first, or the second.
    """

    axis: str
    size: int
    way: int
    steps: int
    half: int | None = None

    @property
    def sends(self) -> int:
        """Copies that each device sends this way."""
        return self.steps + (self.half is not None)


Ring: TypeAlias = tuple[Lane, ...]  # one way, or both


def one_way(axis: str, size: int) -> Ring:
    """Every shard to the next device, ``size - 1`` times."""
    return (Lane(axis, size, 1, size - 1),)


def both_ways(axis: str, size: int) -> Ring:
    """Every shard to both neighbours, half way round: ``size // 2`` steps."""
    whole = (size - 1) // 2
    return (
        (Lane(axis, size, 1, whole, 0), Lane(axis, size, -1, whole, 1))
        if size % 2 == 0
        else (Lane(axis, size, 1, whole), Lane(axis, size, -1, whole))
    )
