"""Slices of TPU pods: which axes close into rings, how many hosts, and ICI inside against DCN between them.

Rules of wrap-around by generation (facts ``slice.*.wrap``): *full axis*, an axis closes when it spans the pod's side
(v5e, v6e); *whole cubes*, all axes close when the slice is made of whole cubes, else none (v4, v5p); *full pod*, known
for the pod only (v3). Where no source says, the caller must.
"""

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from tpu_kernels.models.hardware import Chip, UnknownFieldError, UnknownValueError, chip
from tpu_kernels.models.matrix import whole
from tpu_kernels.models.network.facts import UnknownFactError, fact, number
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.models.topology.torus import SMALLEST_RING, Torus, sides, torus, written
from tpu_kernels.phrases import phrase

FULL_AXIS, WHOLE_CUBES, FULL_POD = "full axis", "whole cubes", "full pod"


class TpuSlice(NamedTuple):
    """Chips of one generation joined by ICI. Make it with :func:`tpu_slice`."""

    chip: Chip
    torus: Torus

    def __repr__(self) -> str:
        return phrase("topology.slice", chip=self.chip.name, torus=self.torus)

    @property
    def chips(self) -> int:
        """How many there are."""
        return self.torus.chips

    @property
    def hosts(self) -> int:
        """Hosts that the chips are attached to; :class:`UnknownValueError` where no source gives the chips of a
        host."""
        return -(-self.chips // chips_per_host(self.chip))

    @property
    def link_bandwidth(self) -> Quantity:
        """What one ICI link carries one way, bytes/s."""
        return self.chip.ici_bandwidth_per_link_oneway

    @property
    def bisection_bandwidth(self) -> Quantity:
        """What crosses the narrowest cut into halves **one way**, bytes/s: the convention of Cloud TPU's tables."""
        return Quantity(self.torus.bisection_links * self.link_bandwidth, "bytes/s")

    @property
    def injection_bandwidth(self) -> Quantity:
        """What all chips together can put on their ICI links at once, bytes/s: each link counted in both directions."""
        return Quantity(2 * self.torus.link_count * self.link_bandwidth, "bytes/s")

    @property
    def dcn_bandwidth(self) -> Quantity:
        """What the slice can put on the data-centre network, one way, bytes/s."""
        return Quantity(self.chips * self.chip.dcn_bandwidth, "bytes/s")

    @property
    def ici_over_dcn(self) -> float:
        """How many times more the chips can send over ICI than over the data-centre network."""
        return self.injection_bandwidth / self.dcn_bandwidth


class Multislice(NamedTuple):
    """Equal slices joined by the data-centre network (DCN). Make it with :func:`multislice`."""

    slice: TpuSlice
    slices: int

    def __repr__(self) -> str:
        return phrase("topology.multislice", count=self.slices, slice=self.slice, dcn=self.slice.dcn_bandwidth)

    @property
    def chips(self) -> int:
        """Chips of all slices."""
        return self.slices * self.slice.chips

    @property
    def hosts(self) -> int:
        """Hosts of all slices."""
        return self.slices * self.slice.hosts


def tpu_slice(of: str | Chip, shape: str | Sequence[int], *, wrap: bool | Sequence[bool] | None = None) -> TpuSlice:
    """A slice of ``shape`` (``"8x16"``, ``(4, 4, 8)``) of a generation that :func:`hardware.chip` knows.

    ``wrap`` overrides the rule of the generation, and is needed where none is known: :class:`UnknownValueError` says
    so. ``ValueError`` for a shape with the wrong number of axes or that no pod holds. Whether Google sells the shape is
    not checked, and a twisted torus is counted as a plain one.
    """
    found, of_sides = chip(of), sides(shape)
    axes = _axes(found)
    if len(of_sides) != axes:
        raise ValueError(phrase("topology.wrong_axes", chip=found.name, got=len(of_sides), expected=axes))
    _check_fits(found, of_sides)
    closed = _rule(found, of_sides) if wrap is None else wrap
    return TpuSlice(found, torus(of_sides, wrap=closed))


def multislice(of: TpuSlice, slices: int) -> Multislice:
    """``slices`` slices like ``of``. ``ValueError`` for what is no whole number of at least one."""
    return Multislice(of, whole("slices", slices))


def pod(of: str | Chip) -> TpuSlice:
    """The whole pod of a generation; :class:`UnknownValueError` where its shape or its wrap-around is not known."""
    found = chip(of)
    return tpu_slice(found, _pod_shape(found))


def chips_per_host(of: str | Chip) -> int:
    """Chips attached to one host: the catalogue's, or those of the host's shape; else :class:`UnknownValueError`."""
    found = chip(of)
    try:
        return int(found.chips_per_host)
    except (UnknownFieldError, UnknownValueError):
        pass
    try:
        return prod(sides(str(fact(f"slice.{found.id}.host").known())))
    except UnknownFactError:
        raise UnknownValueError(phrase("topology.no_host", chip=found.name)) from None


def _axes(of: Chip) -> int:
    words = str(of.ici_topology)
    if words[:2] not in ("2D", "3D"):
        raise ValueError(phrase("topology.not_a_torus", chip=of.name, got=words))
    return int(words[0])


def _pod_shape(of: Chip) -> tuple[int, ...]:
    try:
        return sides(str(of.pod_shape))
    except UnknownFieldError:
        raise UnknownValueError(phrase("topology.no_pod_shape", chip=of.name)) from None


def _wrap_rule(of: Chip) -> str:
    try:
        return str(fact(f"slice.{of.id}.wrap").known())
    except UnknownFactError:
        raise UnknownValueError(phrase("topology.no_rule", chip=of.name)) from None


def _check_fits(of: Chip, shape: tuple[int, ...]) -> None:
    if prod(shape) > of.pod_chips:
        raise ValueError(phrase("topology.too_many", chip=of.name, got=prod(shape), most=int(of.pod_chips)))
    try:
        rule = _wrap_rule(of)
    except UnknownValueError:  # then the shape of the pod is not known either, and the caller says what wraps
        return
    if rule == WHOLE_CUBES:
        cube = int(number(f"slice.{of.id}.cube"))
        if any(side > cube for side in shape) and any(side % cube for side in shape):
            raise ValueError(phrase("topology.broken_cubes", chip=of.name, got=written(shape), cube=cube))
    else:
        largest = sorted(_pod_shape(of))
        if any(side > most for side, most in zip(sorted(shape), largest, strict=True)):
            raise ValueError(
                phrase("topology.beyond_pod", chip=of.name, got=written(shape), most=written(_pod_shape(of)))
            )


def _rule(of: Chip, shape: tuple[int, ...]) -> tuple[bool, ...]:
    rule = _wrap_rule(of)
    if rule == WHOLE_CUBES:
        cube = int(number(f"slice.{of.id}.cube"))
        return tuple(all(side % cube == 0 for side in shape) for _ in shape)
    if rule == FULL_AXIS:
        longest = max(_pod_shape(of))
        return tuple(side == longest for side in shape)
    if sorted(shape) == sorted(_pod_shape(of)):
        return tuple(side >= SMALLEST_RING for side in shape)
    raise UnknownValueError(phrase("topology.no_rule", chip=of.name))
