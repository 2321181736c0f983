"""Where a step's tensors lie and how its sums cross devices: on one device here, on several in two other modules.

:mod:`.spmd` and :mod:`.processes` are the two forms that PyTorch/XLA has of data parallelism, as
:mod:`tpu_kernels.training.data_parallel` has the two of JAX.
"""

from typing import Protocol

import torch
from torch import Tensor, nn

from tpu_kernels.training.pytorch.batch import Batch, filled


class Layout(Protocol):
    """What a step asks of the devices that it runs on."""

    @property
    def device(self) -> torch.device:
        """What tensors and modules are moved to."""

    def settle(self, model: nn.Module) -> None:
        """Runs what was recorded for ``model``, so that its first step is the same program as the others."""

    def place(self, batch: Batch, accumulate: int) -> dict[str, Tensor]:
        """The batch on the devices, with a weight for each row, filled up to what they and the microbatches divide."""

    def sum(self, tensors: list[Tensor]) -> None:
        """Replaces each tensor by its sum over all devices, where these do not hold that already."""

    def sync(self) -> None:
        """Lets the devices start on what was recorded. Does not wait for them."""


class OneDevice:
    """All of it on ``device``, as :func:`tpu_kernels.training.pytorch.device.device` found it."""

    def __init__(self, device: torch.device) -> None:
        self.device = device

    def settle(self, model: nn.Module) -> None:
        """Sends the parameters to the device."""
        self.sync()

    def place(self, batch: Batch, accumulate: int) -> dict[str, Tensor]:
        """Filled up to a multiple of ``accumulate``. Raises ``ValueError`` as :func:`.batch.filled` does."""
        return {name: torch.tensor(array).to(self.device) for name, array in filled(batch, accumulate).items()}

    def sum(self, tensors: list[Tensor]) -> None:
        """Nothing: one device has all of the sum."""

    def sync(self) -> None:
        """Under torch_xla compiles and starts what was recorded since the last time; elsewhere nothing waits."""
        if self.device.type == "xla":
            import torch_xla

            torch_xla.sync()
