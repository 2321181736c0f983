"""AdamW as optax has it, made so that a step under torch_xla stays one program."""

from collections.abc import Iterable

import torch
from torch import nn


def adamw(parameters: Iterable[nn.Parameter], learning_rate: float, *, weight_decay: float = 1e-4) -> torch.optim.AdamW:
    """AdamW with the defaults of ``optax.adamw``; PyTorch's own ``weight_decay`` is a hundred times as large.

    PyTorch multiplies parameters by ``1 - learning_rate * weight_decay``: in float32 that is 1, and no decay at all,
    where the product is below 2**-25. optax adds the decay to the update, and keeps it.

    Give it parameters that are on their device already: those that ``model.to(device)`` makes may be others.
    """
    parameters = list(parameters)
    # "capturable" keeps the step count on the device, so the rest of the update is worked out there and a program does
    # not get two new numbers from the host at each step. CPUs do not have it, and do not need it.
    capturable = all(parameter.device.type in ("cuda", "xla") for parameter in parameters)
    rule = torch.optim.AdamW(
        parameters, learning_rate, betas=(0.9, 0.999), eps=1e-8, weight_decay=weight_decay, capturable=capturable
    )
    # PyTorch makes these in the first step, which under torch_xla would then be another program than the others.
    for parameter in parameters:
        rule.state[parameter] = {
            "step": torch.zeros((), device=parameter.device if capturable else None),
            "exp_avg": torch.zeros_like(parameter),
            "exp_avg_sq": torch.zeros_like(parameter),
        }
    return rule
