"""One step of training: sums first, division last, and one place where the device is told to start.

Under torch_xla nothing runs while the step is written down. Forward, backward, the sums over devices and the update are
recorded, and ``sync`` at the end turns them into one program: compiled at the first step, taken from a cache at the
others. A second ``sync`` in between would cut it in two; reading a number would do the same, and wait for it besides.
"""

from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Tensor, nn

from tpu_kernels.phrases import phrase
from tpu_kernels.training.examples import WEIGHT
from tpu_kernels.training.pytorch.batch import Batch
from tpu_kernels.training.pytorch.layout import Layout
from tpu_kernels.training.pytorch.precision import FLOAT32, Policy
from tpu_kernels.training.pytorch.randomness import random_state, set_random_state

REDUCTIONS = ("sum", "mean")

Metrics: TypeAlias = dict[str, Tensor]
"""Scalars, float32, on the device: "loss" (reduced), "grad_norm" (of the whole gradient), "weight" (their sum)."""

Step: TypeAlias = Callable[[Batch], Metrics]


def make_step(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    layout: Layout,
    *,
    reduction: str = "mean",
    accumulate: int = 1,
    policy: Policy = FLOAT32,
) -> Step:
    """``step(batch) -> metrics``, which changes ``model`` and ``optimizer`` where they are, on ``layout.device``.

    ``model(batch) -> [B]``: one loss an example. ``batch``: the whole of it, on the host. ``reduction``: "sum" of
    weighted losses, or that over the sum of weights, "mean", both over all devices and the ``accumulate`` microbatches,
    which follow each other. A batch that is all padding has loss and gradient 0.

    Raises ``ValueError`` for an unknown reduction, for fewer than one microbatch, for a model that does not give one
    loss an example, and as :func:`.batch.filled` does.
    """
    if reduction not in REDUCTIONS:
        raise ValueError(phrase("training.unknown", argument="reduction", got=reduction, known=", ".join(REDUCTIONS)))
    if accumulate < 1:
        raise ValueError(phrase("training.size", name="accumulate", got=accumulate))

    # Each sync moves torch_xla's generator on; a run that goes on from a file is not to notice this one.
    random = random_state(layout.device)
    layout.settle(model)
    set_random_state(layout.device, random)

    def step(batch: Batch) -> Metrics:
        placed = layout.place(batch, accumulate)
        optimizer.zero_grad()
        loss = torch.zeros((), device=layout.device)
        for i in range(accumulate):
            part = {name: _microbatch(tensor, i, accumulate) for name, tensor in placed.items()}
            with policy.autocast(layout.device):
                each = model(part)
            of_part = _weighted_sum(each, part[WEIGHT])
            of_part.backward()  # adds to the gradients of the parts before
            loss += of_part.detach()
        weight = placed[WEIGHT].sum()
        gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
        layout.sum([loss, weight, *gradients])
        divisor = torch.where(weight == 0, 1, weight) if reduction == "mean" else torch.ones_like(weight)
        for gradient in gradients:
            gradient /= divisor
        # Asked for before ``sync``, so that they are part of the same program and cost no other.
        metrics = {"loss": loss / divisor, "grad_norm": _norm(gradients), "weight": weight}
        optimizer.step()
        layout.sync()
        return metrics

    return step


def _microbatch(tensor: Tensor, i: int, accumulate: int) -> Tensor:
    """The rows ``i, i + accumulate, ...``: of a tensor whose rows are split over devices, a share of each device's."""
    return tensor.unflatten(0, (-1, accumulate))[:, i]


def _weighted_sum(each: Tensor, weight: Tensor) -> Tensor:
    if each.shape != weight.shape:
        raise ValueError(phrase("training.losses", got=tuple(each.shape), expected=tuple(weight.shape)))
    return (weight * each.float()).sum()


def _norm(gradients: list[Tensor]) -> Tensor:
    squares = [gradient.square().sum() for gradient in gradients]
    return torch.stack(squares).sum().sqrt()
