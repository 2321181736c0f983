"""Is a product right? Against float64 NumPy, within what rounding can explain: nothing looser, nothing tighter.

An inner product of ``k`` terms, accumulated in a format of unit roundoff ``u`` in any order, is off by at most
``gamma(k) = k u / (1 - k u)`` times the product of the absolute values (Higham, *Accuracy and Stability of Numerical
Algorithms*, 2nd ed., section 3.1); storing the result rounds once more. Integers must be exact.
"""

from dataclasses import dataclass

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from tpu_kernels.models.numerics import gamma

# A reference for a product of 8192 would take longer than all that is measured: so many rows of it are compared.
MOST_ROWS = 256


@dataclass(frozen=True)
class Correctness:
    """``max_error``: the largest absolute error seen; ``of_bound``: the largest share of its own bound that an element
    used, so that more than 1 is wrong; ``rows``: rows of the result compared."""

    max_error: float
    of_bound: float
    rows: int

    @property
    def right(self) -> bool:
        return self.of_bound <= 1.0


def compare(
    result: NDArray[np.generic], a: NDArray[np.generic], b: NDArray[np.generic], *, accumulator: str, passes: str = ""
) -> Correctness:
    """How far ``result`` [m, n] is from ``a`` [m, k] times ``b`` [k, n].

    ``accumulator``: dtype that sums are kept in. ``passes``: dtype that operands are rounded to before they are
    multiplied, where a device does so (``"bfloat16"`` for float32 at the default precision of a TPU).
    """
    rows = np.linspace(0, len(a) - 1, min(len(a), MOST_ROWS)).astype(int)
    left, right, found = a[rows].astype(np.float64), b.astype(np.float64), result[rows]
    expected = left @ right
    error = np.abs(found.astype(np.float64) - expected)
    if np.issubdtype(found.dtype, np.integer):
        wrong = float(error.max(initial=0.0))
        return Correctness(wrong, np.inf if wrong else 0.0, len(rows))
    relative = gamma(a.shape[1], accumulator)
    if passes:
        relative += 2 * unit_roundoff(passes) + unit_roundoff(passes) ** 2
    bound = relative * (np.abs(left) @ np.abs(right))
    bound += unit_roundoff(found.dtype.name) * (np.abs(expected) + bound) + smallest(found.dtype.name)
    with np.errstate(invalid="ignore"):
        shares = np.where(error == 0, 0.0, error / bound)
    return Correctness(float(error.max(initial=0.0)), float(shares.max(initial=0.0)), len(rows))


def unit_roundoff(dtype: str) -> float:
    """Half the distance from 1 to the next number of ``dtype``."""
    return float(ml_dtypes.finfo(dtype).eps) / 2


def smallest(dtype: str) -> float:
    """The smallest positive number of ``dtype``: what rounding may lose below the normal range."""
    return float(ml_dtypes.finfo(dtype).smallest_subnormal)
