"""The examples of a batch: how many, and which of them count. NumPy only, so that JAX and PyTorch share it."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from tpu_kernels.phrases import phrase

WEIGHT = "weight"  # the entry of a batch that says how much each example counts, [B] float32: 0 means padding


def rows(batch: Mapping[str, npt.ArrayLike]) -> int:
    """The number of examples. ``ValueError`` when two leaves disagree, and for a batch without any."""
    counts = {name: np.shape(leaf)[0] if np.ndim(leaf) else 0 for name, leaf in batch.items()}
    first = next(iter(counts), None)
    if first is None or not counts[first]:
        raise ValueError(phrase("training.empty", name=first))
    for name, count in counts.items():
        if count != counts[first]:
            raise ValueError(phrase("training.leading", name=name, got=count, first=first, expected=counts[first]))
    return counts[first]
