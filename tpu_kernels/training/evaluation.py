"""How good a model is: a mean over all examples of a data set, each counted once whatever the batches are."""

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy.typing as npt

from tpu_kernels.training import classifier, transformer
from tpu_kernels.training.pipeline import Batches
from tpu_kernels.training.state import Params

Examples: TypeAlias = Mapping[str, npt.NDArray[Any]]
Measure: TypeAlias = Callable[[Params, Mapping[str, jax.Array]], jax.Array]
"""``(params, batch) -> [B]``: a number for each example."""


def mean_over(
    examples: Examples, measure: Measure, *, batch_size: int = 64, sharding: jax.sharding.Sharding | None = None
) -> Callable[[Params], float]:
    """A function of ``params``: the weighted mean of ``measure`` over ``examples``.

    ``sharding`` says where batches of ``batch_size`` lie. Compiled once, so make it once and call it often. Calling it
    raises ``ValueError`` as ``Batches`` does.
    """

    @jax.jit
    def sums(params: Params, batch: Mapping[str, jax.Array]) -> tuple[jax.Array, jax.Array]:
        return jnp.sum(batch["weight"] * measure(params, batch)), jnp.sum(batch["weight"])

    def mean(params: Params) -> float:
        with Batches(examples, batch_size, seed=0, sharding=sharding) as batches:
            parts = [sums(params, next(batches)) for _ in range(batches.steps_per_epoch)]
        totals, weights = zip(*jax.device_get(parts), strict=True)
        return math.fsum(map(float, totals)) / math.fsum(map(float, weights))

    return mean


def accuracy(examples: Examples, **options: Any) -> Callable[[Params], float]:
    """The share, 0 to 1, of ``examples`` of digits that the classifier gets right; ``options`` as :func:`mean_over`."""

    def right(params: Params, batch: Mapping[str, jax.Array]) -> jax.Array:
        return jnp.argmax(classifier.logits(params, batch["pixels"]), axis=-1) == batch["label"]

    return mean_over(examples, right, **options)


def bits_per_byte(examples: Examples, config: transformer.Config, **options: Any) -> Callable[[Params], float]:
    """The transformer's cross-entropy on ``examples`` of bytes, without dropout, in bits; ``options`` likewise.

    It is also what a compressor built on the model would need for a byte, so lower than 8 is learned.
    """

    def losses(params: Params, batch: Mapping[str, jax.Array]) -> jax.Array:
        return transformer.losses(params, batch, None, config=config)

    nats = mean_over(examples, losses, **options)
    return lambda params: nats(params) / math.log(2)
