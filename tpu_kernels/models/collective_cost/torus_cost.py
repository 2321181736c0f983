"""Collectives over a torus or mesh, all axes at once: ``torus_cost("all-gather", slice.torus, size=…, on=…)``.

The array is cut in as many parts as there are axes. Part ``p`` starts on axis ``p`` and takes the axes in turn, so
every axis is busy in every phase, with rings both ways where it wraps and rows where not (bandwidth bound of the
scaling book, formula F13, 2025-02-18). A phase lasts as long as its slowest axis. On a cube-like torus each link then
carries the lower bound, ``(n - 1) / n / (2 * axes)`` of an all-gather; on uneven sides more.
"""

from collections.abc import Sequence
from math import prod

from tpu_kernels.models.collective_cost.algorithm_cost import Cost, priced
from tpu_kernels.models.collective_cost.alpha_beta import AlphaBeta
from tpu_kernels.models.collective_cost.bus_bandwidth import (
    ALL_TO_ALL,
    BROADCAST,
    COLLECTIVES,
    PERMUTE,
    REDUCE,
    checked_ranks,
)
from tpu_kernels.models.collective_cost.rules import BIDIRECTIONAL, LINE, Share, pipelined, share
from tpu_kernels.models.matrix import whole
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.models.roofline.amounts import not_negative, one_of
from tpu_kernels.models.topology.torus import Coordinate, Torus
from tpu_kernels.phrases import phrase

ALGORITHM = "torus"


def torus_cost(
    collective: str,
    over: Torus,
    *,
    size: float,
    on: AlphaBeta,
    axes: Sequence[int] | None = None,
    chunks: int = 1,
) -> Cost:
    """What ``collective`` costs on ``size`` bytes over the chips of a torus whose links are ``on`` (one way).

    ``axes``: only along these, every row of the others doing its own; ``size`` is then the array of one such group.
    ``chunks`` cuts a broadcast or reduce so that its steps overlap; a permute goes to the next chip of an axis.
    Raises ``ValueError`` for an unknown collective, axes that the torus does not have, or nobody to talk to.
    """
    one_of("collective", collective, COLLECTIVES)
    used = _checked_axes(over, axes)
    n = checked_ranks(prod(over.shape[axis] for axis in used))
    total = not_negative("size", size)
    return priced(
        collective, ALGORITHM, n, total, on, _share(collective, over, used, whole("chunks", chunks), on, total)
    )


def point_to_point(over: Torus, start: Coordinate, end: Coordinate, *, size: float, on: AlphaBeta) -> Quantity:
    """Seconds for ``size`` bytes between two chips: ``hops * alpha``, then the bytes over as many paths as axes differ.

    Shortest paths that leave and arrive on different axes share no link (scaling book, tpus.md, question 5). A chip to
    itself takes no time. ``ValueError`` for a place outside and a negative size.
    """
    hops, total = over.hops(start, end), not_negative("size", size)
    if hops == 0:
        return Quantity(0.0, "s")
    paths = sum(a != b for a, b in zip(start, end, strict=True))
    return Quantity(hops * on.alpha + total / (paths * on.bandwidth), "s")


def _share(collective: str, over: Torus, axes: Sequence[int], chunks: int, on: AlphaBeta, size: float) -> Share:
    if collective in (BROADCAST, REDUCE):
        return pipelined(sum(_eccentricity(over, axis) for axis in axes), chunks)
    if collective == PERMUTE:
        return Share(1, 1.0, 1.0)
    phases = _exchange_phases(over, axes) if collective == ALL_TO_ALL else _gather_phases(collective, over, axes)
    slowest = [
        max(phase, key=lambda one: one.steps * on.alpha + one.critical * size / on.bandwidth) for phase in phases
    ]
    carried = [sum(phase[place].busiest for phase in phases) for place in range(len(axes))]
    return Share(sum(one.steps for one in slowest), sum(one.critical for one in slowest), max(carried))


def _gather_phases(collective: str, over: Torus, axes: Sequence[int]) -> list[list[Share]]:
    """For each phase and axis the share of the array that its links carry: a part grows by the axes it has been
    through.

    A reduce-scatter runs the same backwards, and an all-reduce there and back.
    """
    count = len(axes)
    part = 1 / count
    phases = []
    for turn in range(count):
        row = []
        for place, axis in enumerate(axes):
            ahead = [axes[(place + later) % count] for later in range(1, count - turn)]
            row.append(_scaled(_along(collective, over, axis), part / prod(over.shape[a] for a in ahead)))
        phases.append(row)
    return phases


def _exchange_phases(over: Torus, axes: Sequence[int]) -> list[list[Share]]:
    """Each part of a chip's array crosses one axis a phase, whole every time."""
    return [[_scaled(_along(ALL_TO_ALL, over, axis), 1 / len(axes)) for axis in axes] for _ in axes]


def _along(collective: str, over: Torus, axis: int) -> Share:
    return share(collective, BIDIRECTIONAL if over.wrap[axis] else LINE, over.shape[axis])


def _scaled(of: Share, by: float) -> Share:
    return Share(of.steps, of.critical * by, of.busiest * by)


def _eccentricity(over: Torus, axis: int) -> int:
    """Steps from the worst place for a root: a corner, where an axis does not wrap."""
    return over.shape[axis] // 2 if over.wrap[axis] else over.shape[axis] - 1


def _checked_axes(over: Torus, axes: Sequence[int] | None) -> tuple[int, ...]:
    if axes is None:
        return over.axes
    known = range(len(over.shape))
    if len(set(axes)) != len(axes) or not all(axis in known and not isinstance(axis, bool) for axis in axes):
        raise ValueError(phrase("collective.bad_axes", got=repr(axes), last=len(over.shape) - 1))
    return tuple(axis for axis in axes if over.shape[axis] > 1)
