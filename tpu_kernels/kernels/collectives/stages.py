"""Collectives on padded rows, stage by stage along a route: every part on its ring, all rings in one kernel.

A part's array has the mesh axes in the order in which it takes them, the last one first: ``[n2, n1, n0, rows, 128]``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tpu_kernels.kernels.collectives import ring_all_gather, ring_all_to_all, ring_broadcast, ring_reduce_scatter
from tpu_kernels.kernels.collectives.accumulate import Combine, workspace
from tpu_kernels.kernels.collectives.lanes import Lane, Ring
from tpu_kernels.kernels.collectives.launch import launch
from tpu_kernels.kernels.collectives.route import Route

# The barrier semaphore of each kernel, so that none takes another's signal for its own.
GATHER, SCATTER, EXCHANGE, BROADCAST, PERMUTE = range(5)


@dataclass(frozen=True)
class Stages:
    """A route, how its kernels are run, and what they sent: int32 [lanes] for each stage, if it is counted."""

    route: Route
    dtype: np.dtype
    interpret: Any
    count: bool = False
    sent: list[tuple[list[Ring], jax.Array]] = field(default_factory=list)

    def gather(self, parts: Sequence[jax.Array]) -> list[jax.Array]:
        """``[rows, 128]`` of each part and device -> ``[..., rows, 128]``."""
        found = list(parts)
        for stage in range(self.route.parts):
            rings = self.route.rings(stage)
            shapes = [(ring[0].size, *part.shape) for ring, part in zip(rings, found, strict=True)]
            flat = [part.reshape(-1, part.shape[-1]) for part in found]
            wanted = [(ring[0].size, *part.shape) for ring, part in zip(rings, flat, strict=True)]
            made = self._launch(ring_all_gather.kernel, rings, flat, wanted, name="all_gather", collective_id=GATHER)
            found = [part.reshape(shape) for part, shape in zip(made, shapes, strict=True)]
        return found

    def scatter(self, parts: Sequence[jax.Array], combine: Combine, piece: int) -> list[jax.Array]:
        """``[..., rows, 128]`` of each part -> the sum of this device's rows, ``[rows, 128]``. The gather backwards."""
        found = list(parts)
        for stage in reversed(range(self.route.parts)):
            rings = self.route.rings(stage)
            flat = [part.reshape(part.shape[0], -1, part.shape[-1]) for part in found]
            landing = [(2, *part.shape[1:]) for ring, part in zip(rings, flat, strict=True) for _ in ring]
            made = self._launch(
                partial(ring_reduce_scatter.kernel, combine=combine, piece=[piece] * len(rings)),
                rings,
                flat,
                [part.shape[1:] for part in flat],
                landing,
                workspace(piece, flat[0].shape[-1], flat[0].dtype),
                name="reduce_scatter",
                collective_id=SCATTER,
            )
            found = [part.reshape(before.shape[1:]) for part, before in zip(made, found, strict=True)]
        return found

    def exchange(self, parts: Sequence[jax.Array]) -> list[jax.Array]:
        """``[..., rows, 128]`` of each part, by target -> by source. Each stage exchanges along one axis."""
        found = list(parts)
        for stage in range(self.route.parts):
            rings, front = self.route.rings(stage), self.route.parts - 1 - stage
            moved = [jnp.moveaxis(part, front, 0) for part in found]
            flat = [part.reshape(part.shape[0], -1, part.shape[-1]) for part in moved]
            landing = [
                (2, max(1, lane.sends - 1), *part.shape[1:])
                for ring, part in zip(rings, flat, strict=True)
                for lane in ring
            ]
            made = self._launch(
                ring_all_to_all.kernel,
                rings,
                flat,
                [part.shape for part in flat],
                landing,
                name="all_to_all",
                collective_id=EXCHANGE,
            )
            found = [
                jnp.moveaxis(part.reshape(before.shape), 0, front) for part, before in zip(made, moved, strict=True)
            ]
        return found

    def broadcast(self, parts: Sequence[jax.Array], root: Sequence[int]) -> list[jax.Array]:
        """``[chunks, rows, 128]`` of each part of the device at ``root``, one place for each axis, to all."""
        found = list(parts)
        axes = self.route.axes
        for stage in range(self.route.parts):
            numbers = [self.route.order(part)[stage] for part in range(self.route.parts)]
            ahead = [
                [self.route.order(part)[later] for later in range(stage + 1, self.route.parts)]
                for part in range(self.route.parts)
            ]
            rings = [reaching(ring) for ring in self.route.rings(stage)]
            found = self._launch(
                partial(
                    ring_broadcast.kernel,
                    roots=[root[number] for number in numbers],
                    holding=[{axes[number]: root[number] for number in others} for others in ahead],
                ),
                rings,
                found,
                [part.shape for part in found],
                name="broadcast",
                collective_id=BROADCAST,
            )
        return found

    def _launch(self, kernel: Any, rings: list[Ring], *arrays: Any, name: str, collective_id: int) -> list[jax.Array]:
        made, sent = launch(
            kernel, rings, *arrays, name=name, collective_id=collective_id, interpret=self.interpret, count=self.count
        )
        if sent is not None:
            self.sent.append((rings, sent))
        return made


def reaching(ring: Ring) -> Ring:
    """The same ring for what starts at one device: how far each lane goes, without a half that goes farther."""
    size = ring[0].size
    far = {1: size - 1} if len(ring) == 1 else {1: size // 2, -1: (size - 1) // 2}
    return tuple(Lane(lane.axis, size, lane.way, far[lane.way]) for lane in ring if far[lane.way])
