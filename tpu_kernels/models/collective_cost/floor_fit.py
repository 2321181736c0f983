"""A floor under the alpha-beta model: ``time = (floor**p + (bytes / bandwidth)**p) ** (1 / p)``.

``p = 1`` is alpha-beta, where the wait and the transfer follow each other. As ``p`` grows they overlap, and in the
limit the longer one hides the other: ``max(floor, bytes / bandwidth)``. Three numbers, all fitted to the points, on
the relative error: for a given ``p`` by Gauss-Newton, and ``p`` by golden section.
"""

from collections.abc import Callable, Iterable, Sequence
from math import exp, log, sqrt
from typing import NamedTuple

from tpu_kernels.models.collective_cost.alpha_beta_fit import (
    TOLERANCE,
    Fit,
    Point,
    checked_points,
    judged,
    refused_or,
    rms,
)
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.phrases import phrase

SHARPEST = 32.0  # from here on the curve is max() to within 2 % at the knee
LEAST_FOR_FLOOR = 5
GOLDEN = (sqrt(5) - 1) / 2


class Floor(NamedTuple):
    """``floor`` in seconds, ``bandwidth`` in bytes/s, and the ``sharpness`` of the knee between them."""

    floor: Quantity
    bandwidth: Quantity
    sharpness: float

    @property
    def name(self) -> str:
        """What it is called in code."""
        return "floor"

    def title(self) -> str:
        """What it is called in the language in force."""
        return phrase("fit.floor")

    @property
    def parameters(self) -> int:
        """How many numbers are fitted."""
        return 3

    def seconds(self, wire_bytes: float) -> float:
        """The time of a message of so many bytes on the wire."""
        transfer = wire_bytes / self.bandwidth
        longer = max(float(self.floor), transfer)
        terms = (self.floor / longer) ** self.sharpness + (transfer / longer) ** self.sharpness
        return longer * float(terms ** (1 / self.sharpness))

    def __repr__(self) -> str:
        sharpness = Quantity(self.sharpness, "count").format(digits=3)
        return phrase("fit.floor_model", floor=self.floor, bandwidth=self.bandwidth, sharpness=sharpness)


def fit_floor(
    pairs: Iterable[tuple[float, float]],
    *,
    collective: str,
    ranks: int,
    tolerance: float = TOLERANCE,
    line_rate: float | None = None,
    refuse: bool = True,
) -> Fit:
    """The model with a floor on measured (size in bytes, time in s), at least five. Refuses as :func:`fit` does."""
    points, factor = checked_points(pairs, collective, ranks, least=LEAST_FOR_FLOOR)

    def error(log_sharpness: float) -> float:
        model = _at(exp(log_sharpness), points)
        return rms([model.seconds(x) / time - 1 for x, time in points])

    best = _at(exp(_golden_section(error, 0.0, log(SHARPEST))), points)
    found = judged(best, points, factor, tolerance, line_rate)
    return refused_or(found) if refuse else found


def _at(sharpness: float, points: Sequence[Point]) -> Floor:
    """The best floor and bandwidth for one sharpness: Gauss-Newton on the logarithms of both, from the time of the
    smallest message and the rate of the largest."""
    (far, long), floor = points[-1], points[0][1]
    per_byte = long / far
    for _ in range(50):
        floor, per_byte, moved = _improved(sharpness, floor, per_byte, points)
        if moved < 1e-12:
            break
    return Floor(Quantity(floor, "s"), Quantity(1 / per_byte, "bytes/s"), sharpness)


def _improved(p: float, floor: float, per_byte: float, points: Sequence[Point]) -> tuple[float, float, float]:
    """One Gauss-Newton step, at most a factor of e, halved until it helps; the last number is how far it went."""
    model = Floor(Quantity(floor, "s"), Quantity(1 / per_byte, "bytes/s"), p)
    rows = []
    for x, time in points:
        seconds = model.seconds(x)
        wait, transfer = (floor / seconds) ** p, (per_byte * x / seconds) ** p
        rows.append((seconds / time * wait, seconds / time * transfer, seconds / time - 1))
    a = sum(u * u for u, _, _ in rows)
    b = sum(u * v for u, v, _ in rows)
    c = sum(v * v for _, v, _ in rows)
    right, below = -sum(u * r for u, _, r in rows), -sum(v * r for _, v, r in rows)
    determinant = a * c - b * b
    if determinant <= 0:
        return floor, per_byte, 0.0
    step, tilt = (right * c - b * below) / determinant, (a * below - b * right) / determinant
    reach = max(1.0, abs(step), abs(tilt))  # where the points say nothing of one number, the step may be huge
    step, tilt = step / reach, tilt / reach
    before = rms([r for _, _, r in rows])
    for _ in range(30):
        moved = Floor(Quantity(floor * exp(step), "s"), Quantity(1 / (per_byte * exp(tilt)), "bytes/s"), p)
        if rms([moved.seconds(x) / time - 1 for x, time in points]) <= before:
            return float(moved.floor), 1 / moved.bandwidth, abs(step) + abs(tilt)
        step, tilt = step / 2, tilt / 2
    return floor, per_byte, 0.0


def _golden_section(of: Callable[[float], float], low: float, high: float) -> float:
    """Where a function with one valley is lowest between two ends, which count too."""
    ends = (low, high)
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = of(left), of(right)
    while high - low > 1e-6:
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = of(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = of(right)
    return min((*ends, (low + high) / 2), key=of)
