"""A program cut where its executions change: prologue, what every step does, what only some steps do; and its loops."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from tpu_kernels.xray.bundles import Bundle
from tpu_kernels.xray.replay import Replay
from tpu_kernels.xray.utilisation import UNITS, Utilisation


@dataclass(frozen=True)
class Region:
    """Bundles ``first`` to ``last``, each executed ``executions`` times; ``depth`` loops are around them.

    ``use`` is the share of each unit's capacity that they use.
    """

    first: int
    last: int
    depth: int
    executions: int
    use: dict[str, float]


@dataclass(frozen=True)
class Loop:
    """Bundles ``first`` to ``last``, entered ``entries`` times, for ``trips`` trips in all."""

    first: int
    last: int
    entries: int
    trips: int


def regions(bundles: Sequence[Bundle], executions: Sequence[int], used: Utilisation) -> tuple[Region, ...]:
    """The whole program, in order."""
    found = []
    for times, group in groupby(range(len(bundles)), key=executions.__getitem__):
        inside = list(group)
        depth = max(bundles[number].depth for number in inside)
        found.append(Region(inside[0], inside[-1], depth, times, share(inside, [1] * len(inside), used)))
    return tuple(found)


def loops(replay: Replay, delay_slots: int) -> tuple[Loop, ...]:
    """Every backward branch that was met, outer loops before the loops in them."""
    if replay.executions is None:
        return ()
    found = []
    for branch, taken in replay.taken.items():
        if branch.target <= branch.bundle:
            trips = replay.executions[branch.target]
            found.append(Loop(branch.target, branch.bundle + delay_slots, trips - taken, trips))
    return tuple(sorted(found, key=lambda loop: (loop.first, -loop.last)))


def share(numbers: Sequence[int], weights: Sequence[int], used: Utilisation) -> dict[str, float]:
    """What a set of bundles uses of each unit's capacity, each bundle counted as often as its weight says."""
    executed = sum(weights)
    totals = [0] * len(UNITS)
    for number, weight in zip(numbers, weights, strict=True):
        for column, value in enumerate(used.rows[number]):
            totals[column] += value * weight
    return {
        unit: total / (most * executed) if executed else 0.0
        for unit, total, most in zip(UNITS, totals, used.capacity, strict=True)
    }
