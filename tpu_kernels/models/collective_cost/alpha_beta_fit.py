"""Fitting the alpha-beta model to measured times, with its residuals, and refusing when the model does not hold.

``fit(table.pairs("size", "time"), collective="all-gather", ranks=16)`` finds ``time = alpha + size * factor / B`` by
least squares on the **relative** error, so that a microsecond counts as much as a second. ``factor`` is that of bus
bandwidth, so ``B`` compares with the rate of a link.
"""

from collections.abc import Iterable, Sequence
from math import sqrt
from typing import NamedTuple, Protocol

from tpu_kernels.models.checked_number import positive_number
from tpu_kernels.models.collective_cost.bus_bandwidth import busbw_factor
from tpu_kernels.models.network.link_rates import bytes_per_second
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.models.roofline.amounts import not_negative
from tpu_kernels.models.table import Table, TableCell
from tpu_kernels.phrases import phrase

TOLERANCE = 0.05  # root mean square of the relative error above which a model is refused
Point = tuple[float, float]  # bytes on the wire, seconds


class Model(Protocol):
    """A law for the time of a message. ``parameters`` is how many numbers it has to fit."""

    @property
    def name(self) -> str:
        """What it is called in code: ``line``, ``floor`` or ``piecewise``."""

    def title(self) -> str:
        """What it is called in the language in force."""

    @property
    def parameters(self) -> int:
        """How many numbers were fitted."""

    @property
    def bandwidth(self) -> Quantity:
        """What large messages approach, bytes/s."""

    def seconds(self, wire_bytes: float) -> float:
        """The time of a message of so many bytes on the wire."""


class Line(NamedTuple):
    """``alpha + bytes / bandwidth``: seconds and bytes/s."""

    alpha: Quantity
    bandwidth: Quantity

    @property
    def name(self) -> str:
        """What it is called in code."""
        return "line"

    def title(self) -> str:
        """What it is called in the language in force."""
        return phrase("fit.line")

    @property
    def parameters(self) -> int:
        """How many numbers are fitted."""
        return 2

    def seconds(self, wire_bytes: float) -> float:
        """``alpha + wire_bytes / bandwidth``."""
        return self.alpha + wire_bytes / self.bandwidth

    def __repr__(self) -> str:
        return phrase("collective.alpha_beta", alpha=self.alpha, bandwidth=self.bandwidth)


class Fit(NamedTuple):
    """A model on measured points. ``residuals`` are ``predicted / measured - 1`` in the order of the points;
    ``reasons`` say why it is refused, empty when it is not. ``factor`` turns bytes of the array into bytes on the wire.
    """

    model: Model
    points: tuple[Point, ...]
    factor: float
    residuals: tuple[float, ...]
    reasons: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return phrase("fit.summary", model=self.model, rms=self.rms, worst=self.worst, count=len(self.points))

    @property
    def rms(self) -> Quantity:
        """Root mean square of the residuals."""
        return Quantity(rms(self.residuals), "share")

    @property
    def worst(self) -> Quantity:
        """The largest residual, without its sign."""
        return Quantity(max(map(abs, self.residuals)), "share")

    @property
    def accepted(self) -> bool:
        """Whether the model holds on these points; it says nothing of sizes beyond them, see :meth:`extrapolates`."""
        return not self.reasons

    def predict(self, size: float) -> Quantity:
        """Seconds for an array of ``size`` bytes. ``ValueError`` for a negative size."""
        return Quantity(self.model.seconds(not_negative("size", size) * self.factor), "s")

    def extrapolates(self, size: float) -> bool:
        """Whether ``size`` bytes lie outside the sizes that were fitted, where nothing vouches for the model."""
        wire = not_negative("size", size) * self.factor
        return not min(x for x, _ in self.points) <= wire <= max(x for x, _ in self.points)

    def errors(self, pairs: Iterable[tuple[float, float]]) -> list[float]:
        """``predicted / measured - 1`` on other measurements of (size in bytes, time in s)."""
        return [self.predict(size) / positive_number("time", time) - 1 for size, time in pairs]

    def table(self) -> Table:
        """Measured against predicted, point by point, in the language in force."""
        headings = [phrase("fit.size"), phrase("fit.measured"), phrase("fit.predicted"), phrase("fit.error")]
        rows = [
            [
                TableCell(str(Quantity(x / self.factor, "bytes")), numeric=True),
                TableCell(str(Quantity(time, "s")), numeric=True),
                TableCell(str(Quantity(time * (1 + residual), "s")), numeric=True),
                TableCell(Quantity(residual, "share").format(digits=2), numeric=True),
            ]
            for (x, time), residual in zip(self.points, self.residuals, strict=True)
        ]
        return Table(repr(self), headings, rows)

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


class FitRefusedError(ValueError):
    """The model does not hold on these points; ``fit`` is what came out all the same."""

    def __init__(self, refused: Fit) -> None:
        super().__init__(phrase("fit.refused", model=refused.model.title(), reasons=" ".join(refused.reasons)))
        self.fit = refused


def fit(
    pairs: Iterable[tuple[float, float]],
    *,
    collective: str,
    ranks: int,
    tolerance: float = TOLERANCE,
    line_rate: float | None = None,
    refuse: bool = True,
) -> Fit:
    """The alpha-beta model of measured (size in bytes, time in s), at least three of them.

    Raises :class:`FitRefusedError`, which says why, when the relative error is above ``tolerance`` (root mean
    square), ``alpha`` comes out negative, or the bandwidth is above ``line_rate`` (bytes/s); with ``refuse=False``
    the reasons are in the fit instead. ``ValueError`` for points that are none, or that do not grow with size at all.
    """
    points, factor = checked_points(pairs, collective, ranks, least=3)
    alpha, slope = weighted_line(points)
    if slope <= 0:
        raise ValueError(phrase("fit.no_slope"))
    model = Line(Quantity(alpha, "s"), Quantity(1 / slope, "bytes/s"))
    found = judged(model, points, factor, tolerance, line_rate)
    if alpha < 0:
        reason = phrase("fit.negative_alpha", alpha=Quantity(alpha, "s"))
        found = found._replace(reasons=(*found.reasons, reason))
    return refused_or(found) if refuse else found


def refused_or(found: Fit) -> Fit:
    """The fit, or :class:`FitRefusedError` when it has reasons."""
    if found.reasons:
        raise FitRefusedError(found)
    return found


def judged(
    model: Model, points: Sequence[Point], factor: float, tolerance: float = TOLERANCE, line_rate: float | None = None
) -> Fit:
    """A model with its residuals on ``points``, and the reasons against it."""
    residuals = tuple(model.seconds(x) / time - 1 for x, time in points)
    found = Fit(model, tuple(points), factor, residuals)
    reasons = []
    if found.rms > positive_number("tolerance", tolerance):
        reasons.append(phrase("fit.too_far", rms=found.rms, worst=found.worst, tolerance=Quantity(tolerance, "share")))
    if line_rate is not None and model.bandwidth > bytes_per_second("line_rate", line_rate):
        rate = Quantity(bytes_per_second("line_rate", line_rate), "bytes/s")
        reasons.append(phrase("fit.too_fast", got=model.bandwidth.format(digits=4), most=rate.format(digits=4)))
    return found._replace(reasons=tuple(reasons))


def checked_points(
    pairs: Iterable[tuple[float, float]], collective: str, ranks: int, *, least: int
) -> tuple[list[Point], float]:
    """The points as (bytes on the wire, seconds) by growing size, and the factor of the collective."""
    factor = busbw_factor(collective, ranks)
    points = sorted((positive_number("size", size) * factor, positive_number("time", time)) for size, time in pairs)
    if len({x for x, _ in points}) < least:
        raise ValueError(phrase("fit.too_few", got=len({x for x, _ in points}), least=least))
    return points, factor


def weighted_line(points: Sequence[Point]) -> tuple[float, float]:
    """``(a, b)`` of ``a + b * x`` that minimises the squares of the relative errors: linear regression with weights
    ``1 / time**2``, about the weighted means so that little is lost in rounding."""
    weights = [1 / t**2 for _, t in points]
    total = sum(weights)
    x_mean = sum(w * x for w, (x, _) in zip(weights, points, strict=True)) / total
    t_mean = sum(w * t for w, (_, t) in zip(weights, points, strict=True)) / total
    spread = sum(w * (x - x_mean) ** 2 for w, (x, _) in zip(weights, points, strict=True))
    slope = sum(w * (x - x_mean) * (t - t_mean) for w, (x, t) in zip(weights, points, strict=True)) / spread
    return t_mean - slope * x_mean, slope


def rms(values: Sequence[float]) -> float:
    """Root mean square."""
    return sqrt(sum(value * value for value in values) / len(values))
