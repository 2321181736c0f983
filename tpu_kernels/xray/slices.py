"""Slices of a pod, as the compiler names them: ``v5p:16x20x28`` is a generation and the sides of a grid of chips."""

import math
from dataclasses import dataclass

from tpu_kernels.models.topology import tpu_slice
from tpu_kernels.models.topology.torus import sides
from tpu_kernels.phrases import phrase
from tpu_kernels.xray import targets
from tpu_kernels.xray.errors import UnknownTargetError
from tpu_kernels.xray.targets import Target

HOST = 2  # chips of one host along the first two sides, as the compiler has it: it knows no part of a host


@dataclass(frozen=True)
class Slice:
    """Chips of one generation. A chip is one device of jax, or ``target.devices_per_chip`` of them."""

    target: Target
    sides: tuple[int, ...]

    @property
    def name(self) -> str:
        return f"{_generation(self.target)}:{'x'.join(map(str, self.sides))}"

    @property
    def chips(self) -> int:
        return math.prod(self.sides)

    @property
    def devices(self) -> int:
        return self.chips * self.target.devices_per_chip


def of(topology: str | None, target: Target) -> Slice:
    """The slice with this name; the smallest one when there is none.

    Raises :class:`UnknownTargetError` for one of another generation, of the wrong form, or larger than a pod.
    """
    generation, _, shape = (topology or target.topology).partition(":")
    if generation != _generation(target):
        raise _unknown(str(topology), target)
    try:
        found = sides(shape)
        tpu_slice(target.chip, found, wrap=False)
    except ValueError as error:
        raise _unknown(str(topology), target, str(error)) from error
    if any(side % HOST for side in found[:2]):
        raise _unknown(str(topology), target, phrase("xray.broken_hosts", host=f"{HOST}x{HOST}"))
    return Slice(target, found)


def named(topology: str) -> Slice:
    """The slice with this name, whatever its generation. Raises :class:`UnknownTargetError`, as :func:`of`."""
    return of(topology, targets.target(topology.partition(":")[0]))


def _generation(target: Target) -> str:
    return target.topology.partition(":")[0]


def _unknown(topology: str, target: Target, reason: str = "") -> UnknownTargetError:
    axes = len(sides(target.topology.partition(":")[2]))
    message = phrase(
        "xray.unknown_slice",
        got=repr(topology)[:60],
        chip=target.chip,
        example=target.topology,
        axes=axes,
        most=int(target.hardware.pod_chips),
    )
    return UnknownTargetError(f"{message} {reason}".strip())
