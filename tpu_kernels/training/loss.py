"""Sums first, division last: what a batch split over devices and microbatches needs to have the loss of the whole.

A mean of means is not the mean when the parts weigh differently, as a padded part does. So every part gives two sums
and the gradient of the first; sums of parts are sums of the whole, and only the whole is divided.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import jax
import jax.numpy as jnp

from tpu_kernels.phrases import phrase
from tpu_kernels.training.batch import Batch
from tpu_kernels.training.examples import WEIGHT
from tpu_kernels.training.precision import Policy
from tpu_kernels.training.state import Params

REDUCTIONS = ("sum", "mean")

Losses: TypeAlias = Callable[[Params, Batch, jax.Array], jax.Array]
"""A model: ``losses(params, batch, keys) -> [B]``, a loss for each example; ``keys`` [B]: a PRNG key for each."""


class Sums(NamedTuple):
    """Over some rows, in float32: the sum of ``w l``, the sum of ``w``, and the gradient of the first of them."""

    loss: jax.Array
    weight: jax.Array
    gradient: Params


SumGradients: TypeAlias = Callable[[Params, Batch, jax.Array], Sums]
"""``(params, batch, keys) -> Sums``, of a batch that has weights."""


def weighted_sums(losses: Losses, policy: Policy) -> SumGradients:
    """The :class:`Sums` of one batch on one device. ``ValueError`` if ``losses`` gives anything but one a row."""

    def sums(params: Params, batch: Batch, keys: jax.Array) -> Sums:
        weight, inputs = batch[WEIGHT], {name: leaf for name, leaf in batch.items() if name != WEIGHT}

        def weighted_loss(params: Params) -> jax.Array:
            each = losses(policy.cast(params), policy.cast(inputs), keys)
            if each.shape != weight.shape:
                raise ValueError(phrase("training.losses", got=each.shape, expected=weight.shape))
            return jnp.sum(weight * each.astype(jnp.float32))

        loss, gradient = jax.value_and_grad(weighted_loss)(params)
        return Sums(loss, jnp.sum(weight), gradient)

    return sums


def reduce(sums: Sums, reduction: str) -> tuple[jax.Array, Params]:
    """Loss and gradient of the whole batch: as they are ("sum") or over the sum of weights ("mean").

    A batch that is all padding has loss and gradient 0 in both.
    """
    if reduction == "sum":
        return sums.loss, sums.gradient
    divisor = jnp.where(sums.weight == 0, 1, sums.weight)
    return sums.loss / divisor, jax.tree.map(lambda leaf: leaf / divisor, sums.gradient)


def check_reduction(reduction: str) -> None:
    """``ValueError`` for a name that is no reduction."""
    if reduction not in REDUCTIONS:
        raise ValueError(phrase("training.unknown", argument="reduction", got=reduction, known=", ".join(REDUCTIONS)))
