"""Tori and meshes: chips on a grid, each joined to its neighbours; an axis that wraps closes into a ring.

Counts are exact. A link joins two neighbours and carries bytes both ways at once; bandwidths are one way.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations, product
from math import prod
from typing import NamedTuple, TypeAlias

from tpu_kernels.models.matrix import whole
from tpu_kernels.phrases import phrase

Coordinate: TypeAlias = tuple[int, ...]
SMALLEST_RING = 3  # on an axis of two, the link that would close the ring is the one already there


class Torus(NamedTuple):
    """A grid of ``shape``; ``wrap`` says for each axis whether it closes into a ring. Make it with :func:`torus`."""

    shape: tuple[int, ...]
    wrap: tuple[bool, ...]

    def __repr__(self) -> str:
        rings = ", ".join(str(axis) for axis, closed in enumerate(self.wrap) if closed) or "—"
        return phrase("topology.torus", shape=written(self.shape), chips=self.chips, rings=rings)

    @property
    def chips(self) -> int:
        """How many there are."""
        return prod(self.shape)

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes on which there is anybody to talk to: those longer than one."""
        return tuple(axis for axis, side in enumerate(self.shape) if side > 1)

    def coordinates(self) -> Iterator[Coordinate]:
        """Every chip's place, the last axis running fastest."""
        return product(*map(range, self.shape))

    def neighbours(self, place: Coordinate) -> list[Coordinate]:
        """The chips one link away from ``place``, axis by axis. ``ValueError`` for a place outside."""
        self._inside(place)
        found = []
        for axis, side in enumerate(self.shape):
            for step in (-1, 1):
                to = place[axis] + step
                if self.wrap[axis] or 0 <= to < side:
                    found.append((*place[:axis], to % side, *place[axis + 1 :]))
        return found

    def links(self) -> Iterator[tuple[Coordinate, Coordinate]]:
        """Every link once, from a chip to the next one along an axis."""
        for place in self.coordinates():
            for axis, side in enumerate(self.shape):
                if self.wrap[axis] or place[axis] + 1 < side:
                    yield place, (*place[:axis], (place[axis] + 1) % side, *place[axis + 1 :])

    @property
    def link_count(self) -> int:
        """How many links there are in all: along each axis as many as chips, less one a row where it does not wrap."""
        return sum(
            self.chips if closed else self.chips // side * (side - 1)
            for side, closed in zip(self.shape, self.wrap, strict=True)
        )

    def axis_hops(self, axis: int, start: int, end: int) -> int:
        """Links between two places on one axis, the short way round where it wraps."""
        straight = abs(end - start)
        return min(straight, self.shape[axis] - straight) if self.wrap[axis] else straight

    def hops(self, start: Coordinate, end: Coordinate) -> int:
        """Links on a shortest path. ``ValueError`` for a place outside the grid."""
        self._inside(start)
        self._inside(end)
        return sum(self.axis_hops(axis, start[axis], end[axis]) for axis in range(len(self.shape)))

    @property
    def diameter(self) -> int:
        """Links between the two chips farthest apart: half a side where the axis wraps, a side less one where not."""
        return sum(side // 2 if closed else side - 1 for side, closed in zip(self.shape, self.wrap, strict=True))

    @property
    def mean_hops(self) -> float:
        """Links on a shortest path, averaged over the pairs of different chips; 0 for a single chip."""
        if self.chips == 1:
            return 0.0
        total = sum(
            sum(self.axis_hops(axis, start, end) for start in range(side) for end in range(side))
            * (self.chips // side) ** 2
            for axis, side in enumerate(self.shape)
        )
        return total / (self.chips * (self.chips - 1))

    @property
    def bisection_links(self) -> int:
        """Links that the narrowest cut into two halves severs (halves that differ by one chip when the count is odd).

        A plane across one axis; an axis that wraps is severed twice. On an odd side the plane jogs by one and goes on
        across the next axis. The cheapest order of the axes counts: checked against every cut of small grids.
        """
        return min(map(_severed, permutations((self.shape[axis], self.wrap[axis]) for axis in self.axes)), default=0)

    def _inside(self, place: Coordinate) -> None:
        fits = len(place) == len(self.shape) and all(0 <= at < side for at, side in zip(place, self.shape, strict=True))
        if not fits:
            raise ValueError(phrase("topology.outside", got=repr(place), shape=written(self.shape)))


def written(shape: Sequence[int]) -> str:
    """A shape for a reader, as ``4×4×8``."""
    return "×".join(map(str, shape))


def _severed(axes: Sequence[tuple[int, bool]]) -> int:
    """Links of the jogging plane that tries these axes (side, wraps) in this order."""
    severed, rest = 0, prod(side for side, _ in axes)
    for side, closed in axes:
        rest //= side
        severed += rest * (2 if closed else 1)
        if side % 2 == 0:
            break
    return severed


def sides(shape: str | Sequence[int]) -> tuple[int, ...]:
    """The sides of a grid from ``"4x4x8"`` or ``(4, 4, 8)``; ``ValueError`` for anything else."""
    parts: list[object] = []
    if isinstance(shape, str):
        words = [word.strip() for word in shape.lower().replace("×", "x").split("x")]
        parts = [int(word) for word in words] if all(word.isdecimal() for word in words) else []
    elif isinstance(shape, Iterable):
        parts = list(shape)
    if not parts:
        raise ValueError(phrase("topology.bad_shape", got=repr(shape)))
    return tuple(whole("shape", part) for part in parts)


def torus(shape: str | Sequence[int], *, wrap: bool | Sequence[bool] = True) -> Torus:
    """A grid of ``shape``. ``wrap``: one answer for each axis, or ``True`` to close every axis that is long enough.

    Raises ``ValueError`` for a shape that is none, a wrong number of answers, or an axis of one or two told to wrap.
    """
    of = sides(shape)
    if isinstance(wrap, bool):
        return Torus(of, tuple(wrap and side >= SMALLEST_RING for side in of))
    closed = tuple(wrap) if isinstance(wrap, Iterable) else ()
    if len(closed) != len(of) or not all(isinstance(one, bool) for one in closed):
        raise ValueError(phrase("topology.bad_wrap", got=repr(wrap), axes=len(of)))
    for side, one in zip(of, closed, strict=True):
        if one and side < SMALLEST_RING:
            raise ValueError(phrase("topology.short_ring", got=side, least=SMALLEST_RING))
    return Torus(of, closed)
