"""All-to-all on rings: every message travels to its target, one device a step.

A step sends on all messages that have not arrived. Those at their last step are written to their place in the result of
the next device; the others wait for the step after in one of its two buffers, ordered by how far they go in all.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
from jax.experimental.pallas import tpu as pltpu

from tpu_kernels.kernels.collectives.channel import Channel, Ref, Step, half, meet, repeat, slot, when


def kernel(
    arrays: Sequence[Ref],
    results: Sequence[Ref],
    buffers: Sequence[Ref],
    channels: Sequence[Sequence[Channel]],
    own: Ref,
) -> None:
    """``arrays[r]`` [devices, rows, 128], place ``i`` for device ``i``; place ``i`` of ``results[r]`` came from it.

    ``buffers``: [2, messages, rows, 128] for each lane: a message for each distance from two on, or one at least.
    """
    lanes = []
    remaining = iter(buffers)
    for array, result, ring in zip(arrays, results, channels, strict=True):
        lanes += [(channel, array, result, next(remaining)) for channel in ring]

    with jax.named_scope("barrier"):
        meet([channel for channel, *_ in lanes])

    with jax.named_scope("own_message"):
        for array, result, ring in zip(arrays, results, channels, strict=True):
            mine = ring[0].place(0)
            copy = pltpu.make_async_copy(array.at[mine], result.at[mine], own)
            copy.start()
            copy.wait()

    def travel(step: Step) -> None:
        for channel, *_ in lanes:
            when(step < channel.lane.sends, partial(channel.admit, step))
        for lane in lanes:
            each_message(*lane, step, lane[0].begin)
        for lane in lanes:
            each_message(*lane, step, lambda copy, _: copy.wait())
        for channel, *_ in lanes:
            when(step > 0, partial(channel.release, step - 1))  # what came before has now gone on

    with jax.named_scope("travel"):
        travel(0)
        repeat(1, max(channel.lane.sends for channel, *_ in lanes), travel)


def each_message(
    channel: Channel, array: Ref, result: Ref, buffer: Ref, step: Step, act: Callable[[Any, Ref], None]
) -> None:
    """``act(copy, source)`` for every message that this device sends on in a step."""
    lane = channel.lane

    def message(distance: Step, arrives: bool, rows: Any) -> None:
        first = isinstance(step, int)  # step 0: it is still where the caller put it
        source = array.at[channel.place(distance)] if first else buffer.at[slot(step - 1), distance - 2]
        target = result.at[channel.place(-step)] if arrives else buffer.at[slot(step), distance - 2]
        act(channel.copy(source.at[rows], target.at[rows], step), source.at[rows])

    whole = slice(None)
    when(step < lane.steps, lambda: message(step + 1, True, whole))
    repeat(step + 2, lane.steps + 1, lambda distance: message(distance, False, whole))
    if lane.half is not None:
        rows, opposite = half(lane.half, array.shape[1]), lane.steps + 1
        when(step < lane.steps, lambda: message(opposite, False, rows))
        when(step == lane.steps, lambda: message(opposite, True, rows))
