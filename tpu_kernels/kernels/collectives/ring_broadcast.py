"""Broadcast down rings: the root's array in chunks, each a step behind the one before, so that all links are busy.

A device at distance ``d`` from the root gets chunk ``c`` in step ``c + d - 1``, and sends it on in the next.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental.pallas import tpu as pltpu

from tpu_kernels.kernels.collectives.channel import Channel, Ref, meet, repeat, when


def kernel(
    arrays: Sequence[Ref],
    results: Sequence[Ref],
    _: Sequence[Ref],
    channels: Sequence[Sequence[Channel]],
    own: Ref,
    *,
    roots: Sequence[int],
    holding: Sequence[Mapping[str, int]],
) -> None:
    """``arrays[r]`` [chunks, rows, 128] of device ``roots[r]`` of each ring ``r`` to all its ``results[r]``.

    A lane reaches ``steps`` devices, and carries every chunk to each. Only the rings that are at ``holding[r]`` on the
    axes that it names have something to send; on the others every device keeps its own.
    """
    hops = [
        Hop(channel, result, root, where)
        for result, root, ring, where in zip(results, roots, channels, holding, strict=True)
        for channel in ring
    ]

    with jax.named_scope("barrier"):
        meet([hop.channel for hop in hops])

    with jax.named_scope("own_array"):
        for array, result, root, ring, where in zip(arrays, results, roots, channels, holding, strict=True):
            copy = pltpu.make_async_copy(array, result, own)

            def keep(copy: Any = copy) -> None:
                copy.start()
                copy.wait()

            when(jnp.logical_or(ring[0].place(0) == root, jnp.logical_not(holds(ring[0], where))), keep)

    def pass_on(step: jax.Array) -> None:
        for hop in hops:
            when(hop.sends(step), partial(hop.send, step))
        for hop in hops:
            when(hop.sends(step), hop.copy(step - hop.distance).wait_send)
            when(hop.receives(step), partial(hop.receive, step))

    with jax.named_scope("pass_on"):
        repeat(0, max(hop.chunks + hop.channel.lane.steps - 1 for hop in hops), pass_on)


@dataclass(frozen=True)
class Hop:
    """This device's place on one lane: what it gets and sends on in each step."""

    channel: Channel
    result: Ref
    root: int
    holding: Mapping[str, int]

    @property
    def chunks(self) -> int:
        return int(self.result.shape[0])

    @property
    def distance(self) -> jax.Array:
        """From the root, the way that the lane goes."""
        lane = self.channel.lane
        return lax.rem(lane.way * (self.channel.place(0) - self.root) + lane.size, lane.size)

    def sends(self, step: jax.Array) -> jax.Array:
        return jnp.logical_and(self.distance < self.channel.lane.steps, self._has(step - self.distance))

    def receives(self, step: jax.Array) -> jax.Array:
        near = jnp.logical_and(self.distance > 0, self.distance <= self.channel.lane.steps)
        return jnp.logical_and(near, self._has(step - self.distance + 1))

    def copy(self, chunk: jax.Array) -> Any:
        return self.channel.copy(self.result.at[chunk], self.result.at[chunk], chunk)

    def send(self, step: jax.Array) -> None:
        chunk = step - self.distance
        self.channel.admit(chunk)
        self.channel.begin(self.copy(chunk), self.result.at[chunk])

    def receive(self, step: jax.Array) -> None:
        chunk = step - self.distance + 1
        self.copy(chunk).wait_recv()
        self.channel.release(chunk, self.chunks)

    def _has(self, chunk: jax.Array) -> jax.Array:
        return jnp.logical_and(holds(self.channel, self.holding), jnp.logical_and(chunk >= 0, chunk < self.chunks))


def holds(channel: Channel, places: Mapping[str, int]) -> Any:
    """Whether this device is at these places."""
    found: Any = jnp.bool_(True)
    for axis, where in places.items():
        found = jnp.logical_and(found, channel.here[axis] == where)
    return found
