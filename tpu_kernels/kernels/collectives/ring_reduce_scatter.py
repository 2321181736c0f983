"""Reduce-scatter on rings: the all-gather backwards. Sums travel to their owner, and grow by one device a step.

What arrives lands in one of two buffers, this device adds its own shard to it there, and it goes on into the other
buffer of the neighbour. The two take turns: the one that was just sent from is free for the step after the next.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from tpu_kernels.kernels.collectives.accumulate import Combine, Workspace, accumulate
from tpu_kernels.kernels.collectives.channel import (
    Channel,
    Move,
    Ref,
    Step,
    exchange,
    half,
    meet,
    repeat,
    slot,
    when,
)


def kernel(
    arrays: Sequence[Ref],
    results: Sequence[Ref],
    buffers: Sequence[Ref],
    channels: Sequence[Sequence[Channel]],
    own: Ref,
    *room: Ref,
    combine: Combine,
    piece: Sequence[int],
) -> None:
    """``arrays[r]`` [devices, rows, 128] of every device on ring ``r``, added up, to ``results[r]`` [rows, 128].

    Place ``i`` is for device ``i``. ``buffers``: [2, rows, 128] for each lane. ``piece[r]`` rows are added at a time,
    which divide half of the rows.
    """
    lanes = []
    remaining = iter(buffers)
    for array, rows, ring in zip(arrays, piece, channels, strict=True):
        lanes += [(channel, array, next(remaining), rows) for channel in ring]

    def chunk(channel: Channel, array: Ref, step: Step) -> Ref:
        """What this device sends in a step: the sum for the one who will get it when the lane ends."""
        return array.at[channel.place(channel.lane.sends - step)]

    with jax.named_scope("barrier"):
        meet([channel for channel, *_ in lanes])

    with jax.named_scope("send_own"):
        moves = []
        for channel, array, buffer, _ in lanes:
            source, target = chunk(channel, array, 0), buffer.at[0]
            if channel.lane.half is not None:
                first = half(channel.lane.half, array.shape[1])
                source, target = source.at[first], target.at[first]
            moves.append(Move(channel, source, target, 0, True))
        exchange(moves)

    with jax.named_scope("whole"):  # where half a sum came, this device's own shard is the other half of what goes on
        for channel, array, buffer, _ in lanes:
            if channel.lane.half is not None and channel.lane.steps:
                other = half(1 - channel.lane.half, array.shape[1])
                copy = pltpu.make_async_copy(chunk(channel, array, 1).at[other], buffer.at[0, other], own)
                copy.start()
                copy.wait()

    def add_and_pass_on(step: Step) -> None:
        moves = []
        for channel, array, buffer, rows in lanes:
            going = step < channel.lane.sends
            arrived, mine = buffer.at[slot(step - 1)], chunk(channel, array, step)
            came = landed(channel, array.shape[1], step - 1)
            when(going, partial(accumulate, arrived.at[came], mine.at[came], combine, rows, Workspace(*room)))
            moves.append(Move(channel, arrived, buffer.at[slot(step)], step, going))
        exchange(moves)
        for channel, *_ in lanes:
            channel.release(step - 1)

    with jax.named_scope("add_and_pass_on"):
        after = max(channel.lane.sends for channel, *_ in lanes)
        halves = any(channel.lane.half is not None for channel, *_ in lanes)
        if halves and after > 1:
            add_and_pass_on(1)
        repeat(2 if halves else 1, after, add_and_pass_on)

    with jax.named_scope("own_shard"):
        for array, result, ring in zip(arrays, results, channels, strict=True):
            copy = pltpu.make_async_copy(array.at[ring[0].place(0)], result, own)
            copy.start()
            copy.wait()
        targets = [result for result, ring in zip(results, channels, strict=True) for _ in ring]
        for (channel, array, buffer, rows), result in zip(lanes, targets, strict=True):
            last = channel.lane.sends - 1
            came = landed(channel, array.shape[1], last)
            if channel.lane.sends:
                accumulate(result.at[came], buffer.at[slot(last), came], combine, rows, Workspace(*room))


def landed(channel: Channel, rows: int, step: Step) -> Any:
    """Which rows of a shard come in a step."""
    first_half = isinstance(step, int) and step == 0 and channel.lane.half is not None
    return half(channel.lane.half or 0, rows) if first_half else pl.ds(0, rows)
