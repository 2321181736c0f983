"""What a product is, once it is stripped to three axes and a batch: sizes, types, work and traffic."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Problem:
    """``[g, m, k] @ [g, k, n] -> [g, m, n]``, every size 1 or more.

    ``dtype`` is that of both operands, ``accumulator`` that of the running sums and ``out_dtype`` that of the result.
    ``a_transposed``: the array in memory is ``[g, k, m]``; ``b_transposed``: ``[g, n, k]``. Only an implementation that
    says that it can read them (``READS_TRANSPOSED``) is given such arrays.
    """

    g: int
    m: int
    k: int
    n: int
    dtype: np.dtype
    accumulator: np.dtype
    out_dtype: np.dtype
    a_transposed: bool = False
    b_transposed: bool = False

    @property
    def flops(self) -> int:
        """Multiplications and additions, in FLOP (OP for integers): ``2 g m k n``."""
        return 2 * self.g * self.m * self.k * self.n

    @property
    def bytes(self) -> int:
        """The least that must cross the memory's pins, in bytes: each operand read once, the result written once."""
        operands = self.g * (self.m * self.k + self.k * self.n) * self.dtype.itemsize
        return operands + self.g * self.m * self.n * self.out_dtype.itemsize
