"""The multilayer perceptron of :mod:`tpu_kernels.training.classifier`, in PyTorch: same parameters, same losses."""

from collections.abc import Mapping
from typing import Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from tpu_kernels.training.pytorch.cross_entropy import cross_entropy


class Classifier(nn.Module):
    """Pixels, one hidden layer, classes; parameters "hidden", "hidden_bias", "out", "out_bias", float32.

    Made by :meth:`from_arrays`.
    """

    def __init__(self, pixels: int, hidden: int, classes: int) -> None:
        super().__init__()
        self.hidden = nn.Parameter(torch.empty(pixels, hidden))
        self.hidden_bias = nn.Parameter(torch.empty(hidden))
        self.out = nn.Parameter(torch.empty(hidden, classes))
        self.out_bias = nn.Parameter(torch.empty(classes))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[np.float32]]) -> Self:
        """The model with copies of these parameters: "hidden" [P, H], "hidden_bias" [H], "out" [H, C], "out_bias" [C].

        Raises ``RuntimeError`` for a name that is missing or too much, and for another shape.
        """
        (pixels, hidden), classes = arrays["hidden"].shape, arrays["out"].shape[1]
        model = cls(pixels, hidden, classes)
        model.load_state_dict({name: torch.tensor(array) for name, array in arrays.items()})
        return model

    def logits(self, pixels: Tensor) -> Tensor:
        """Scores of each class, [B, C] float32, for ``pixels`` [B, P]."""
        active = torch.relu((pixels @ self.hidden).float() + self.hidden_bias)
        return (active @ self.out).float() + self.out_bias

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Cross-entropy of each example in nats, [B] float32. ``batch``: "pixels" [B, P], "label" [B] integers.

        A label out of range makes its loss NaN.
        """
        return cross_entropy(self.logits(batch["pixels"]), batch["label"])
