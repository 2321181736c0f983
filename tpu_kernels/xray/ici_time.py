"""The modelled time of a collective on the links between chips (ICI), by :mod:`tpu_kernels.models.collective_cost`."""

from collections.abc import Mapping, Sequence
from functools import cache

from tpu_kernels.models.collective_cost import AlphaBeta, link, torus_cost
from tpu_kernels.models.hardware import UnknownFieldError, UnknownValueError
from tpu_kernels.models.network.facts import number
from tpu_kernels.models.topology import Torus, tpu_slice
from tpu_kernels.xray.placement import SIDES, Place
from tpu_kernels.xray.slices import Slice

# As XLA and as the model name them.
MODELLED = {
    "all-reduce": "all-reduce",
    "reduce-scatter": "reduce-scatter",
    "all-gather": "all-gather",
    "all-to-all": "all-to-all",
    "collective-permute": "permute",
}


def seconds(
    operation: str,
    size: int,
    extents: Mapping[str, int] | None,
    sent: Sequence[tuple[Place, Place]],
    place: Slice,
) -> float | None:
    """For ``size`` bytes in a group that takes whole sides of the slice; ``None`` for what the model does not know.

    It knows no parts of sides, no chips of two devices, which share their links, no permutes but between neighbours
    (``sent``), and no slices of which nobody says whether they close into rings.
    """
    sides = dict(zip(SIDES, place.sides, strict=False))
    whole = extents and all(sides.get(side) == taken for side, taken in extents.items())
    if not whole or operation not in MODELLED or place.target.devices_per_chip > 1:
        return None
    try:
        over, on = _links(place)
    except (UnknownValueError, UnknownFieldError):
        return None
    axes = [SIDES.index(side) for side in extents or {}]
    count = len(place.sides)
    if any(over.hops(tuple(start[:count]), tuple(end[:count])) > 1 for start, end in sent):
        return None
    return float(torus_cost(MODELLED[operation], over, size=size, on=on, axes=axes).time)


@cache
def _links(place: Slice) -> tuple[Torus, AlphaBeta]:
    of = tpu_slice(place.target.chip, place.sides)
    return of.torus, link(alpha=number("ici.hop"), bandwidth=of.link_bandwidth)
