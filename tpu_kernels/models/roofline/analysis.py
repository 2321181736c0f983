"""Time bounds of a workload on a machine: which resource holds it, ridge points, and the batch that crosses one."""

import math
from collections.abc import Callable, Collection
from typing import NamedTuple

from tpu_kernels.models.checked_number import positive_number
from tpu_kernels.models.hardware import Chip
from tpu_kernels.models.matrix import whole
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.models.roofline.amounts import itemsize
from tpu_kernels.models.roofline.machine import Machine, machine
from tpu_kernels.models.roofline.workload import COMPUTE, HBM, VECTOR, Workload, label
from tpu_kernels.models.table import Table, TableCell
from tpu_kernels.phrases import phrase


class Bound(NamedTuple):
    """The time that one ``resource`` needs: :data:`COMPUTE`, ``vector``, or a level such as ``hbm``."""

    resource: str
    amount: Quantity
    time: Quantity


class Roofline(NamedTuple):
    """The bounds of a workload on a machine, the longest first."""

    workload: Workload
    machine: Machine
    bounds: tuple[Bound, ...]

    def __repr__(self) -> str:
        return phrase(
            "roofline.summary",
            workload=self.workload.name,
            machine=self.machine.name,
            bound=label(self.bound.resource),
            lower=self.lower,
            upper=self.upper,
            share=self.peak_share(),
        )

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    @property
    def bound(self) -> Bound:
        """The resource that holds: the one that needs most time."""
        return self.bounds[0]

    @property
    def margin(self) -> float:
        """How many times longer the bound takes than the next resource; infinite when it is the only one."""
        rest = self.bounds[1].time if len(self.bounds) > 1 else 0.0
        return self.bound.time / rest if rest else math.inf

    @property
    def lower(self) -> Quantity:
        """Seconds when everything overlaps: the longest of the times."""
        return self.bound.time

    @property
    def upper(self) -> Quantity:
        """Seconds when nothing overlaps: the sum of the times."""
        return Quantity(sum(bound.time for bound in self.bounds), "s")

    def time(self, overlap: bool = True) -> Quantity:
        """:attr:`lower` or :attr:`upper`."""
        return self.lower if overlap else self.upper

    def time_of(self, resource: str) -> Quantity:
        """Seconds that ``resource`` needs; zero when the workload does not use it."""
        return next((bound.time for bound in self.bounds if bound.resource == resource), Quantity(0, "s"))

    def peak_share(self, overlap: bool = True) -> Quantity:
        """The share of the matrix unit's dense peak that is reached: its time over the whole time."""
        return Quantity(self.time_of(COMPUTE) / self.time(overlap), "share")

    def achieved(self, overlap: bool = True) -> Quantity:
        """FLOP/s (OP/s) that the workload reaches."""
        unit = f"{self.workload.flops.unit}/s"
        return Quantity(self.workload.flops / self.time(overlap), unit)

    def table(self) -> Table:
        """One row a resource: what it is asked for, the time that takes, and its share of the longest time."""
        headings = [
            phrase("roofline.resource"),
            phrase("roofline.amount"),
            phrase("roofline.time"),
            phrase("roofline.busy"),
        ]
        rows = [
            [
                TableCell(label(bound.resource)),
                TableCell(bound.amount.format(), numeric=True),
                TableCell(bound.time.format(), numeric=True),
                TableCell(Quantity(bound.time / self.lower, "share").format(), numeric=True),
            ]
            for bound in self.bounds
        ]
        on = self.machine
        caption = phrase("roofline.caption", workload=self.workload.name, machine=on.name, scope=on.scope)
        return Table(caption, headings, rows)


def analyse(workload: Workload, on: str | Chip | Machine, *, ignore: Collection[str] = ()) -> Roofline:
    """The bounds of ``workload`` on a machine, or on a chip of the catalogue by name.

    ``ignore`` leaves resources out, for instance ``["vector"]`` where the vector rate has no source. Raises
    :class:`UnknownValueError` for a rate or bandwidth that no source gives, and ``ValueError`` for one that the machine
    does not have, and for a workload that asks for nothing.
    """
    target = machine(on)
    matrix = {dtype: flops for dtype, flops in workload.work.items() if dtype != VECTOR}
    bounds = []
    if any(matrix.values()) and COMPUTE not in ignore:
        time = sum(flops / target.rate(dtype) for dtype, flops in matrix.items() if flops)  # one unit: in turn
        unit = workload._replace(work=matrix).flops.unit
        bounds.append(Bound(COMPUTE, Quantity(sum(matrix.values()), unit), Quantity(time, "s")))
    if workload.work.get(VECTOR) and VECTOR not in ignore:
        flops = Quantity(workload.work[VECTOR], "FLOP")
        bounds.append(Bound(VECTOR, flops, Quantity(flops / target.rate(VECTOR), "s")))
    for level, amount in workload.traffic.items():
        if amount and level not in ignore:
            time = amount / target.level(level).bandwidth
            bounds.append(Bound(level, Quantity(amount, "bytes"), Quantity(time, "s")))
    if not bounds:
        raise ValueError(phrase("roofline.nothing", workload=workload.name))
    return Roofline(workload, target, tuple(sorted(bounds, key=lambda bound: -bound.time)))


def ridge_point(on: str | Chip | Machine, dtype: str = "bf16", level: str = HBM) -> Quantity:
    """The intensity, in FLOP (OP) per byte, from which the matrix unit in ``dtype`` and not ``level`` is the bound:
    rate over bandwidth."""
    target = machine(on)
    rate = target.rate(dtype)
    unit = "OP/byte" if rate.unit == "OP/s" else "FLOP/byte"
    return Quantity(rate / target.level(level).bandwidth, unit)


def ridge_table(on: str | Chip | Machine) -> Table:
    """Every ridge point of a machine: formats as rows, levels as columns."""
    target = machine(on)
    rows = []
    for dtype in target.rates:
        if dtype != VECTOR:
            ridges = [ridge_point(target, dtype, level).format() for level in target.levels]
            rows.append([TableCell(dtype), *(TableCell(ridge, numeric=True) for ridge in ridges)])
    caption = phrase("roofline.ridges", machine=target.name)
    return Table(caption, [phrase("roofline.format"), *map(label, target.levels)], rows)


def attainable(on: str | Chip | Machine, intensity: float, dtype: str = "bf16", level: str = HBM) -> Quantity:
    """The roof itself: FLOP/s (OP/s) that an operation of ``intensity`` FLOP per byte of ``level`` reaches at most."""
    target = machine(on)
    rate = target.rate(dtype)
    return Quantity(min(rate, positive_number("intensity", intensity) * target.level(level).bandwidth), rate.unit)


def critical_batch(
    on: str | Chip | Machine,
    d_in: int | None = None,
    d_out: int | None = None,
    *,
    dtype: str = "bf16",
    weights: str | None = None,
    output: str | None = None,
    compute: str | None = None,
    experts: int = 1,
    experts_per_token: int = 1,
    level: str = HBM,
) -> float:
    """The batch, in tokens, from which a ``batch x d_in`` by ``d_in x d_out`` product is bound by compute.

    With rate ``C``, bandwidth ``W`` and element sizes ``a`` (activations), ``w`` (weights), ``o`` (output)::

        batch = w d_in d_out / W / (2 d_in d_out / C - (a d_in + o d_out) / W)

    infinite when the denominator is not positive: then no batch is enough. Without dimensions they are taken as much
    larger than the batch: ``batch = w C / (2 W)``. With ``experts`` of which a token uses ``experts_per_token``, each
    expert sees its part of the batch, so the batch is ``experts / experts_per_token`` times larger.
    Source: scaling book, chapter 1 and questions 1 to 3; chapter 4, question 8.
    """
    target = machine(on)
    rate, bandwidth = target.rate(compute or dtype), target.level(level).bandwidth
    spread = whole("experts", experts) / whole("experts_per_token", experts_per_token)
    if d_in is None or d_out is None:
        return spread * itemsize(weights or dtype) * rate / (2 * bandwidth)
    inside, outside = whole("d_in", d_in), whole("d_out", d_out)
    moved = inside * itemsize(dtype) + outside * itemsize(output or dtype)
    gain = 2 * inside * outside / rate - moved / bandwidth
    return spread * inside * outside * itemsize(weights or dtype) / bandwidth / gain if gain > 0 else math.inf


def smallest_batch(
    workload_of: Callable[[int], Workload],
    on: str | Chip | Machine,
    *,
    limit: int = 2**24,
    ignore: Collection[str] = (),
) -> int | None:
    """The smallest batch whose workload is bound by compute, found by trying; ``None`` when not even ``limit`` is.

    ``workload_of(batch)`` gives the workload. Assumes that a larger batch than one bound by compute is so too.
    """
    target = machine(on)

    def compute_bound(batch: int) -> bool:
        times = analyse(workload_of(batch), target, ignore=ignore)
        return times.time_of(COMPUTE) >= times.lower

    high = 1
    while not compute_bound(high):
        if high >= whole("limit", limit):
            return None
        high = min(2 * high, limit)
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if compute_bound(middle) else (middle, high)
    return high
