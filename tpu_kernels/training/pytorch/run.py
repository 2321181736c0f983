"""A training run in PyTorch: the things that change while it trains, held together."""

from dataclasses import dataclass

import torch
from torch import nn

from tpu_kernels.training.pipeline import Batches


@dataclass
class Run:
    """``step``: how many steps ``model`` and ``optimizer`` have behind them; ``batches``: what the next ones are given.

    ``writes``: whether this process saves; of several that run the same program, one does.
    """

    model: nn.Module
    optimizer: torch.optim.Optimizer
    batches: Batches
    step: int = 0
    writes: bool = True

    @property
    def device(self) -> torch.device:
        """Where the parameters are."""
        device: torch.device = next(self.model.parameters()).device
        return device
