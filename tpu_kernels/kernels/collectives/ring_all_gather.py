"""All-gather on rings: in every step a device passes on the shard that it got in the step before.

A shard lands where it will stay, in its own place of the neighbour's result, and goes on from there: nothing is copied
twice, and no buffer is written twice.
"""

from collections.abc import Sequence

import jax
from jax.experimental.pallas import tpu as pltpu

from tpu_kernels.kernels.collectives.channel import Channel, Move, Ref, Step, exchange, half, meet, repeat


def kernel(
    shards: Sequence[Ref], results: Sequence[Ref], _: Sequence[Ref], channels: Sequence[Sequence[Channel]], own: Ref
) -> None:
    """``shards[r]`` [rows, 128] of every device on ring ``r`` to ``results[r]`` [devices, rows, 128], in order.

    ``channels[r]`` has one for each way round ring ``r``; ``own`` is the semaphore of a device's copy of its own shard.
    """
    lanes = [(channel, result) for ring, result in zip(channels, results, strict=True) for channel in ring]

    with jax.named_scope("barrier"):
        meet([channel for channel, _ in lanes])

    with jax.named_scope("own_shard"):
        for shard, result, ring in zip(shards, results, channels, strict=True):
            copy = pltpu.make_async_copy(shard, result.at[ring[0].place(0)], own)
            copy.start()
            copy.wait()

    def pass_on(step: Step) -> None:
        moves = []
        for channel, result in lanes:
            shard = result.at[channel.place(-step)]  # of the device ``step`` places back
            moves.append(Move(channel, shard, shard, step, step < channel.lane.steps))
        exchange(moves)
        for channel, _ in lanes:
            channel.release(step)

    with jax.named_scope("pass_on"):
        repeat(0, max(channel.lane.steps for channel, _ in lanes), pass_on)

    with jax.named_scope("pass_on_halves"):
        moves = []
        for channel, result in lanes:
            if channel.lane.half is not None:
                rows = half(channel.lane.half, result.shape[1])
                shard = result.at[channel.place(-channel.lane.steps), rows]
                moves.append(Move(channel, shard, shard, channel.lane.steps, True))
        exchange(moves)
