"""A collective kernel called: its semaphores made, its arrays left in HBM, the bytes that it sends counted if asked."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from tpu_kernels.kernels.collectives import places
from tpu_kernels.kernels.collectives.channel import SLOTS, Channel, Ref
from tpu_kernels.kernels.collectives.lanes import Ring
from tpu_kernels.kernels.gemm.manual_axes import result_shape

Shape = tuple[int, ...]
HBM = pl.BlockSpec(memory_space=pl.ANY)
SCALARS = pl.BlockSpec(memory_space=pltpu.SMEM)


def launch(
    kernel: Callable[..., None],
    rings: Sequence[Ring],
    arrays: Sequence[jax.Array],
    results: Sequence[Shape],
    buffers: Sequence[Shape] = (),
    scratch: Sequence[Any] = (),
    *,
    name: str,
    collective_id: int,
    interpret: Any,
    count: bool = False,
) -> tuple[list[jax.Array], jax.Array | None]:
    """Results of ``kernel(arrays, results, buffers, channels, own, *scratch)`` on all ``rings`` at once.

    ``results`` and ``buffers`` are shapes in the arrays' dtype. ``channels[r]`` has one for each lane of ring ``r``.
    The second result is ``None``, or bytes sent on each lane, int32 [lanes], when they are to ``count``.
    """
    lanes = [lane for ring in rings for lane in ring]
    given, made, kept = len(arrays), len(results), len(buffers)
    axes = places.axes()

    def body(place: Ref, *refs: Ref) -> None:
        here = {axis: place[number] for number, axis in enumerate(axes)}
        ends = [given, given + made, given + made + kept, given + made + kept + count]
        inputs, outputs, landing, counter, rest = (refs[i:j] for i, j in pairwise([0, *ends, len(refs)]))
        (counted,) = counter or (None,)
        own, sending, arriving, credit, *room = rest
        if counted is not None:
            for number in range(len(lanes)):
                counted[number] = 0
        numbered: Iterator[int] = iter(range(len(lanes)))

        def channel(lane: Any) -> Channel:
            number = next(numbered)
            counter = None if counted is None else counted.at[pl.ds(number, 1)]
            return Channel(lane, here, sending.at[number], arriving.at[number], credit.at[number], counter)

        kernel(inputs, outputs, landing, [[channel(lane) for lane in ring] for ring in rings], own, *room)

    like = arrays[0]
    shapes = [result_shape(shape, np.dtype(like.dtype), like) for shape in (*results, *buffers)]
    spaces = [HBM] * len(shapes)
    if count:
        shapes.append(result_shape((len(lanes),), np.dtype(jnp.int32), like))
        spaces.append(SCALARS)
    found = pl.pallas_call(
        body,
        out_shape=shapes,
        in_specs=[SCALARS, *[HBM] * given],
        out_specs=spaces,
        scratch_shapes=[
            pltpu.SemaphoreType.DMA,
            pltpu.SemaphoreType.DMA((len(lanes),)),
            pltpu.SemaphoreType.DMA((len(lanes), SLOTS)),
            pltpu.SemaphoreType.REGULAR((len(lanes),)),
            *scratch,
        ],
        compiler_params=pltpu.CompilerParams(collective_id=collective_id, has_side_effects=not interpret),
        interpret=interpret,
        name=name,
    )(places.here(), *arrays)
    return list(found[:made]), found[-1] if count else None
