"""Two alpha-beta lines, one for small messages and one for large: what a change of protocol looks like.

The break lies between two measured sizes and is the one that leaves the least relative error; each side has at least
three points. Five numbers in all, the break included.
"""

from collections.abc import Iterable
from typing import NamedTuple

from tpu_kernels.models.collective_cost.alpha_beta_fit import (
    TOLERANCE,
    Fit,
    Line,
    Point,
    checked_points,
    judged,
    refused_or,
    rms,
    weighted_line,
)
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.phrases import phrase

LEAST_A_SIDE = 3


class NoBreakError(ValueError):
    """No break leaves two sides on which the time grows with the size."""


class Piecewise(NamedTuple):
    """``small`` for messages under ``start`` bytes on the wire, ``large`` from there on."""

    small: Line
    large: Line
    start: Quantity

    @property
    def name(self) -> str:
        """What it is called in code."""
        return "piecewise"

    def title(self) -> str:
        """What it is called in the language in force."""
        return phrase("fit.piecewise")

    @property
    def parameters(self) -> int:
        """How many numbers are fitted."""
        return 5

    @property
    def bandwidth(self) -> Quantity:
        """That of the large messages, bytes/s."""
        return self.large.bandwidth

    def seconds(self, wire_bytes: float) -> float:
        """The time of a message of so many bytes on the wire."""
        return (self.small if wire_bytes < self.start else self.large).seconds(wire_bytes)

    def __repr__(self) -> str:
        return phrase("fit.piecewise_model", small=self.small, large=self.large, start=self.start)


def fit_piecewise(
    pairs: Iterable[tuple[float, float]],
    *,
    collective: str,
    ranks: int,
    tolerance: float = TOLERANCE,
    line_rate: float | None = None,
    refuse: bool = True,
) -> Fit:
    """Two lines on measured (size in bytes, time in s), at least six of them. Refuses as :func:`fit` does.

    :class:`NoBreakError` when no break leaves two sides that both grow with size.
    """
    points, factor = checked_points(pairs, collective, ranks, least=2 * LEAST_A_SIDE)
    models = []
    for place in range(LEAST_A_SIDE, len(points) - LEAST_A_SIDE + 1):
        small, large = _line(points[:place]), _line(points[place:])
        if small is not None and large is not None:
            models.append(Piecewise(small, large, Quantity(points[place][0], "bytes")))
    if not models:
        raise NoBreakError(phrase("fit.no_break"))
    best = min(models, key=lambda model: rms([model.seconds(x) / time - 1 for x, time in points]))
    found = judged(best, points, factor, tolerance, line_rate)
    return refused_or(found) if refuse else found


def _line(points: list[Point]) -> Line | None:
    """The line of one side, or none when it does not grow or starts below zero."""
    if len({x for x, _ in points}) < 2:
        return None
    alpha, slope = weighted_line(points)
    return Line(Quantity(alpha, "s"), Quantity(1 / slope, "bytes/s")) if slope > 0 and alpha >= 0 else None
