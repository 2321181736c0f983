"""Data parallelism as one program over all devices: the batch is split, the compiler puts in the sums.

The counterpart of JAX's ``jit`` form. One process sees one device that stands for all; a tensor says over which axis of
a mesh its rows lie, and a sum over rows is, by that, a sum over devices.
"""

import numpy as np
import torch
from torch import Tensor, nn

from tpu_kernels.training.pytorch import libraries
from tpu_kernels.training.pytorch.batch import Batch, filled
from tpu_kernels.training.pytorch.simulation import require_unclaimed

AXIS = "data"


class Spmd:
    """A :class:`~.layout.Layout` over all of torch_xla's devices: parameters on each, rows split. ``count``: devices.

    Changes what torch_xla's devices are, for good, so it is made before anything lies on them. Raises ``RuntimeError``
    when they were taken before, and :class:`~.libraries.LibraryError` without torch_xla.
    """

    def __init__(self) -> None:
        require_unclaimed()
        torch_xla = libraries.torch_xla()
        from torch_xla import runtime
        from torch_xla.distributed import spmd

        runtime.use_spmd()
        self.device: torch.device = torch_xla.device()
        self.count = int(runtime.global_runtime_device_count())
        self.mesh = spmd.Mesh(np.arange(self.count), (self.count,), (AXIS,))

    def settle(self, model: nn.Module) -> None:
        """Sends the parameters to every device, and says that they stay: else the second step is another program."""
        from torch_xla.distributed import spmd

        for parameter in model.parameters():
            spmd.mark_sharding(parameter, self.mesh, (None,) * parameter.ndim)
        self.sync()

    def place(self, batch: Batch, accumulate: int) -> dict[str, Tensor]:
        """Filled up to a multiple of ``count * accumulate``; each device is sent a run of the rows, and only that.

        Raises ``ValueError`` as :func:`.batch.filled` does.
        """
        from torch_xla.distributed import spmd

        placed = {}
        for name, array in filled(batch, self.count * accumulate).items():
            placed[name] = torch.tensor(array).to(self.device)
            spmd.mark_sharding(placed[name], self.mesh, (AXIS, *[None] * (array.ndim - 1)))
        return placed

    def sum(self, tensors: list[Tensor]) -> None:
        """Nothing: a sum over the rows of a tensor that is split is that of all devices."""

    def sync(self) -> None:
        """Compiles what was recorded, for all devices at once, and starts it."""
        import torch_xla

        torch_xla.sync()
