"""Permute: one copy from each source straight to its target, by whatever links the hardware takes it."""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from tpu_kernels.kernels.collectives import places
from tpu_kernels.kernels.collectives.channel import Ref, semaphore_signal, semaphore_wait
from tpu_kernels.kernels.gemm.manual_axes import result_shape

NOBODY = -1


def permute(
    x: jax.Array, sizes: Mapping[str, int], pairs: Sequence[tuple[int, int]], *, collective_id: int, interpret: Any
) -> tuple[jax.Array, jax.Array]:
    """``x`` [rows, 128] of the first of each pair to the second, zeros where nothing comes.

    The second result counts the bytes that this device sent, int32 [1]. Devices are numbered along the mesh axes
    ``sizes``, the last one fastest. No source and no target occurs twice.
    """
    count = int(np.prod(list(sizes.values())))
    peers = np.full((count, 2), NOBODY, np.int32)  # to whom, from whom
    for source, target in pairs:
        peers[source, 0], peers[target, 1] = target, source
    mine = jnp.asarray(peers)[lax.axis_index(tuple(sizes))]
    axes = places.axes()

    def kernel(
        peer_ref: Ref, place_ref: Ref, x_ref: Ref, out_ref: Ref, sent_ref: Ref, sending: Ref, arriving: Ref
    ) -> None:
        def device(number: jax.Array) -> tuple[Any, ...]:
            found = {axis: place_ref[place] for place, axis in enumerate(axes)}
            for axis, size in reversed(list(sizes.items())):
                found[axis], number = lax.rem(number, size), lax.div(number, size)
            return tuple(found.values())

        target, source = peer_ref[0], peer_ref[1]
        sent_ref[0] = 0
        copy = pltpu.make_async_remote_copy(x_ref, out_ref, sending, arriving, device(jnp.maximum(target, 0)))
        barrier = pltpu.get_barrier_semaphore()

        with jax.named_scope("barrier"):  # who will receive says so to the one who sends

            @pl.when(source != NOBODY)
            def _() -> None:
                semaphore_signal(barrier, inc=1, device_id=device(source))

        with jax.named_scope("send"):

            @pl.when(target != NOBODY)
            def _() -> None:
                semaphore_wait(barrier, 1)
                copy.start()
                sent_ref[0] += x_ref.size * x_ref.dtype.itemsize
                copy.wait_send()

        with jax.named_scope("receive"):

            @pl.when(source != NOBODY)
            def _() -> None:
                copy.wait_recv()

    anywhere, scalars = pl.BlockSpec(memory_space=pl.ANY), pl.BlockSpec(memory_space=pltpu.SMEM)
    got, sent = pl.pallas_call(
        kernel,
        out_shape=[result_shape(x.shape, np.dtype(x.dtype), x), result_shape((1,), np.dtype(np.int32), x)],
        in_specs=[scalars, scalars, anywhere],
        out_specs=[anywhere, scalars],
        scratch_shapes=[pltpu.SemaphoreType.DMA, pltpu.SemaphoreType.DMA],
        compiler_params=pltpu.CompilerParams(collective_id=collective_id, has_side_effects=not interpret),
        interpret=interpret,
        name="permute",
    )(mine, places.here(), x)
    return jnp.where(mine[1] == NOBODY, jnp.zeros_like(got), got), sent
