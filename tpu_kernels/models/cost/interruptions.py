"""When a machine is taken away or fails: times between interruptions, from a seed."""

import math
from collections.abc import Iterator

from tpu_kernels.models.checked_number import positive_number
from tpu_kernels.models.draws import Draws


class Interruptions:
    """Times from one start of a machine to its next interruption: independent, with mean ``mtti``.

    ``shape`` 1: exponential, a Poisson process, as for failures of many independent parts. Below 1 the Weibull hazard
    falls with age (a machine that has lived long is likely to live on), above 1 it rises (spot capacity that is wanted
    back after a while). Raises ``ValueError`` unless both are positive.
    """

    def __init__(self, mtti: float, *, shape: float = 1.0, seed: int = 0) -> None:
        self.mtti, self.shape, self.seed = positive_number("mtti", mtti), positive_number("shape", shape), seed
        self._scale = self.mtti / math.gamma(1 + 1 / self.shape)
        Draws(seed)  # refuses a seed that is none

    def __repr__(self) -> str:
        return f"Interruptions(mtti={self.mtti:g}, shape={self.shape:g}, seed={self.seed})"

    def lives(self) -> Iterator[float]:
        """The times, without end; the same from each call."""
        draws = Draws(self.seed)
        while True:
            if self.shape == 1:
                yield draws.exponential(self.mtti)
            else:
                yield draws.weibull(self._scale, self.shape)
