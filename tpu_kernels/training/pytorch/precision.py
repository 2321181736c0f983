"""Which precision the products of a step compute in. Parameters, losses, gradients and sums stay in float32."""

from contextlib import AbstractContextManager
from dataclasses import dataclass

import torch

from tpu_kernels.phrases import phrase

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


@dataclass(frozen=True)
class Policy:
    """``compute_dtype``: "float32" or "bfloat16"; ``ValueError`` for any other.

    Where JAX casts all parameters once, PyTorch casts the operands of each product when it comes to it,
    ``torch.autocast``. There is no float16, whose small gradients would need a loss scale.
    """

    compute_dtype: str = "float32"

    def __post_init__(self) -> None:
        if self.compute_dtype not in DTYPES:
            raise ValueError(phrase("training.dtype", got=self.compute_dtype, known=", ".join(DTYPES)))

    def autocast(self, device: torch.device) -> AbstractContextManager[object]:
        """Around the forward pass on ``device``."""
        casts = self.compute_dtype != "float32"
        chosen: AbstractContextManager[object] = torch.autocast(
            device.type, dtype=DTYPES[self.compute_dtype] if casts else None, enabled=casts
        )
        return chosen


FLOAT32 = Policy()
