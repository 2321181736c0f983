"""Where the devices of groups lie: which sides of the slice each group runs along."""

import math
from collections.abc import Sequence

from tpu_kernels.xray.replica_groups import Groups

SIDES = ("x", "y", "z", "core")  # of a device's place: three of its chip, and which of the chip's devices it is

Place = Sequence[int]


def extents(groups: Groups, places: Sequence[Place]) -> dict[str, int] | None:
    """How many places a group takes on each side that it runs along: ``{"x": 16, "z": 28}``; ``None`` when irregular.

    A group is regular when it is all that some places on each side have in common, and the groups are when they all
    take as many.
    """
    found = {_extents([places[member] for member in group]) for group in groups}
    if len(found) != 1:
        return None
    taken = found.pop()
    return None if taken is None else {side: size for side, size in zip(SIDES, taken, strict=True) if size > 1}


def _extents(group: Sequence[Place]) -> tuple[int, ...] | None:
    taken = tuple(len({place[side] for place in group}) for side in range(len(SIDES)))
    return taken if math.prod(taken) == len(group) else None
