"""Gradient accumulation: a batch too large for the memory of a device, one microbatch after another."""

import jax
import jax.numpy as jnp

from tpu_kernels.phrases import phrase
from tpu_kernels.training.batch import Batch
from tpu_kernels.training.loss import SumGradients, Sums
from tpu_kernels.training.state import Params


def accumulated(sums: SumGradients, accumulate: int) -> SumGradients:
    """The sums of a batch from those of ``accumulate`` microbatches, of which one at a time is in memory.

    Microbatch ``i`` has the rows ``i, i + accumulate, ...``: where each device holds a run of rows, every microbatch
    has its share of every device's rows, and none of them moves. Raises ``ValueError`` for fewer than one microbatch.
    """
    if accumulate < 1:
        raise ValueError(phrase("training.size", name="accumulate", got=accumulate))
    if accumulate == 1:
        return sums

    def microbatches(leaf: jax.Array) -> jax.Array:
        return leaf.reshape(-1, accumulate, *leaf.shape[1:]).swapaxes(0, 1)

    def over_microbatches(params: Params, batch: Batch, keys: jax.Array) -> Sums:
        def add(total: Sums, part: tuple[Batch, jax.Array]) -> tuple[Sums, None]:
            return jax.tree.map(jnp.add, total, sums(params, *part)), None

        zero = Sums(jnp.float32(0), jnp.float32(0), jax.tree.map(jnp.zeros_like, params))
        total, _ = jax.lax.scan(add, zero, jax.tree.map(microbatches, (batch, keys)))
        return total

    return over_microbatches
