"""A batch on the host: a dictionary of arrays with one row an example, filled up to what shares it."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tpu_kernels.training.examples import WEIGHT, rows

Batch: TypeAlias = Mapping[str, npt.ArrayLike]
"""Arrays whose leading dimension is the example. "weight", if there, is [B] float32: 0 means padding."""


def filled(batch: Batch, parts: int) -> dict[str, npt.NDArray[Any]]:
    """The batch with "weight", [B] float32, and as many more rows as make B a multiple of ``parts``.

    The rows that fill repeat the last one with weight 0: a copy of a real row has a finite loss and gradient where the
    real one has, while zeros might not, and 0 times infinity is not 0. Raises ``ValueError`` for a batch without
    examples, and when two arrays disagree about how many there are.
    """
    arrays = {name: np.asarray(leaf) for name, leaf in batch.items()}
    count = rows(arrays)
    missing = -count % parts
    weight = np.pad(arrays.get(WEIGHT, np.ones(count)).astype(np.float32), (0, missing))
    full = {name: np.concatenate([array, np.repeat(array[-1:], missing, axis=0)]) for name, array in arrays.items()}
    return {**full, WEIGHT: weight}
