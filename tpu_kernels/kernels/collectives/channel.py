"""One way of a link between neighbours on a ring: copies that never outrun the one who receives them.

A device sends to the next one and receives from the one before, one copy a step. Two semaphores take turns to count
what has arrived, so that a neighbour who is a step ahead is not mistaken for one who is on time. One who is two steps
ahead would be, and credits keep it from that: from its third on, a send waits until the receiver says that it is done
with what came two steps before. Two are enough for a ring of any length; a semaphore for each step would not fit in
the semaphore memory of a large slice.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import jax
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from tpu_kernels.kernels.collectives.lanes import Lane
from tpu_kernels.kernels.collectives.places import Places

Ref: TypeAlias = Any  # jax has no public name for what a kernel is given
Step: TypeAlias = int | jax.Array

SLOTS = 2  # copies under way at most, and buffers that they land in

# Two names that moved from ``pltpu`` to ``pl`` in jax 0.10.
semaphore_signal: Any = getattr(pl, "semaphore_signal", None) or getattr(pltpu, "semaphore_signal", None)
semaphore_wait: Any = getattr(pl, "semaphore_wait", None) or getattr(pltpu, "semaphore_wait", None)


@dataclass(frozen=True)
class Channel:
    """A lane inside a kernel: its semaphores, and where the bytes that this device sends are counted, if they are."""

    lane: Lane
    here: Places  # of this device
    sending: Ref
    arriving: Ref  # [SLOTS]
    credit: Ref
    count: Ref | None  # [1], int32

    def place(self, distance: Step) -> Any:
        """Who is this many devices ahead of this one on the ring; from ``-size`` to ``size``."""
        lane = self.lane
        return lax.rem(self.here[lane.axis] + lane.way * distance + lane.size, lane.size)

    def device(self, distance: Step) -> tuple[Any, ...]:
        """The same one's place on the mesh, as jax wants it: on every axis, in order."""
        return tuple({**self.here, self.lane.axis: self.place(distance)}.values())

    def admit(self, step: Step) -> None:
        """Wait until the next device has room for what is sent in this step."""
        when(step >= SLOTS, lambda: semaphore_wait(self.credit, 1))

    def copy(self, source: Ref, target: Ref, step: Step) -> Any:
        """The copy of this step, of ``source`` here to ``target`` on the next device; not begun."""
        return pltpu.make_async_remote_copy(
            src_ref=source,
            dst_ref=target,
            send_sem=self.sending,
            recv_sem=self.arriving.at[slot(step)],
            device_id=self.device(1),
        )

    def begin(self, copy: Any, source: Ref) -> None:
        """Begin a copy of ``source``, and count it."""
        copy.start()
        if self.count is not None:
            self.count[0] += source.size * source.dtype.itemsize

    def release(self, step: Step, sends: int | None = None) -> None:
        """Tell the one before that what came in this step is done with, if it will send two steps later.

        ``sends``: how many it makes in all; by default those of the lane.
        """

        def tell() -> None:
            semaphore_signal(self.credit, inc=1, device_id=self.device(-1))

        when(step + SLOTS < (self.lane.sends if sends is None else sends), tell)


class Move(NamedTuple):
    """What a channel carries in a step, if it is ``going``: ``source`` here to ``target`` on the next device."""

    channel: Channel
    source: Ref
    target: Ref
    step: Step
    going: Any


def exchange(moves: Sequence[Move]) -> None:
    """Make all these copies at once, and take those that the neighbours make."""
    going = [
        (move, move.channel.copy(move.source, move.target, move.step)) for move in moves if move.going is not False
    ]

    def start(move: Move, copy: Any) -> None:
        move.channel.admit(move.step)
        move.channel.begin(copy, move.source)

    for move, copy in going:
        when(move.going, partial(start, move, copy))
    for move, copy in going:
        when(move.going, copy.wait)


def slot(step: Step) -> Any:
    """Which of the two buffers a step lands in."""
    return step % SLOTS if isinstance(step, int) else lax.rem(step, SLOTS)


def half(which: int, rows: int) -> Any:
    """The first or the second half of the rows of a shard."""
    return pl.ds(which * (rows // 2), rows // 2)


def when(condition: Any, act: Callable[[], None]) -> None:
    """Do it if the condition holds, which may be known at once, or only when the kernel runs."""
    if isinstance(condition, bool):
        if condition:
            act()
    else:
        pl.when(condition)(act)


def repeat(first: Step, after: Step, act: Callable[[jax.Array], None]) -> None:
    """``act`` on each step from ``first`` on, before ``after``."""

    def body(step: jax.Array, nothing: None) -> None:
        act(step)
        return nothing

    if not isinstance(first, int) or after > first:
        lax.fori_loop(first, after, body, None)


def meet(channels: Sequence[Channel]) -> None:
    """Wait until every neighbour is in this kernel: until then, its memory is somebody else's."""
    barrier = pltpu.get_barrier_semaphore()
    rings = {channel.lane.axis: channel for channel in channels}
    neighbours = [channel.device(distance) for channel in rings.values() for distance in (1, -1)]
    for neighbour in neighbours:
        semaphore_signal(barrier, inc=1, device_id=neighbour)
    semaphore_wait(barrier, len(neighbours))
