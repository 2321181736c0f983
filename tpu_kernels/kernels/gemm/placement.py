"""Where a product will run, as far as its operands tell."""

from dataclasses import replace
from functools import cache
from typing import NamedTuple

import jax
from jax.sharding import AxisType, get_abstract_mesh

from tpu_kernels.backend import Here, here


class Placement(NamedTuple):
    """The machine, and over how much of it.

    ``traced``: inside ``jit`` or another transformation, so that it may be compiled for another machine.
    ``spread``: over several devices to which jax shares the work out, as it can do with its own operations and not with
    a kernel. ``None`` where it cannot be known: inside ``jit``, on a machine with several.
    """

    machine: Here
    traced: bool = False
    spread: bool | None = False


def placement(*operands: object) -> Placement:
    """Where the arrays are, or else on jax's default device. Inside ``shard_map`` every device does its own product."""
    machine = _here()
    arrays = [x for x in operands if isinstance(x, jax.Array)]
    concrete = [x for x in arrays if not isinstance(x, jax.core.Tracer)]
    traced = len(concrete) < len(arrays)
    devices = max((x.devices() for x in concrete), key=len, default=None)
    if devices:
        platform = next(iter(devices)).platform
    else:
        chosen = jax.config.jax_default_device  # type: ignore[attr-defined]
        platform = machine.platform if chosen is None else getattr(chosen, "platform", chosen)
    spread: bool | None = devices is not None and len(devices) > 1
    if traced and machine.count > 1 and not _inside_shard_map():
        spread = spread or None
    if platform != machine.platform:
        machine = replace(machine, platform=platform, kind=platform, chip=None, compute_capability=None)
    return Placement(machine, traced, spread)


def _inside_shard_map() -> bool:
    kinds = get_abstract_mesh().axis_types
    return bool(kinds) and all(kind == AxisType.Manual for kind in kinds)


@cache
def _here() -> Here:
    """What jax's first device is: looked at once, since it does not change and every product asks."""
    return here()
