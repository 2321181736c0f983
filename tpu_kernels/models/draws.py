"""Random numbers that a seed fixes for good: the same in every Python and on every machine, a browser's included.

The uniforms are those of ``random.Random(seed).random()``, whose sequence Python promises to keep; the other
distributions come from them through :mod:`tpu_kernels.models.portable_math`, and never from a C library's ``log``.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import SupportsIndex

from tpu_kernels.models.checked_number import positive_number
from tpu_kernels.models.matrix import whole
from tpu_kernels.models.portable_math import exp, log
from tpu_kernels.models.roofline.amounts import not_negative
from tpu_kernels.phrases import phrase


class Draws:
    """A stream of random numbers from an integer ``seed``; ``ValueError`` for a seed that is no integer.

    ``uniform()`` is in [0, 1).
    """

    def __init__(self, seed: int) -> None:
        from random import Random  # it brings hashlib along, which a model that draws nothing should not pay for

        if isinstance(seed, bool) or not isinstance(seed, SupportsIndex):
            raise ValueError(phrase("draws.seed", got=repr(seed)))
        self.uniform = Random(seed.__index__()).random

    def exponential(self, mean: float) -> float:
        """A waiting time of a Poisson process with this ``mean``."""
        return -mean * log(1.0 - self.uniform())

    def weibull(self, scale: float, shape: float) -> float:
        """A Weibull variate: ``scale * E**(1/shape)`` with ``E`` exponential of mean one."""
        hazard = -log(1.0 - self.uniform())
        return scale * exp(log(hazard) / shape) if hazard > 0 else 0.0

    def normal(self) -> float:
        """A standard normal variate (Marsaglia's polar method)."""
        while True:
            u, v = 2 * self.uniform() - 1, 2 * self.uniform() - 1
            square = u * u + v * v
            if 0 < square < 1:
                return u * math.sqrt(-2 * log(square) / square)

    def gamma(self, shape: float, mean: float) -> float:
        """A gamma variate (Marsaglia and Tsang, 2000); its coefficient of variation is ``1 / sqrt(shape)``."""
        if shape < 1:
            boost = log(1.0 - self.uniform()) / shape
            return self.gamma(shape + 1, mean * (shape + 1) / shape) * exp(boost)
        d = shape - 1 / 3
        c = 1 / math.sqrt(9 * d)
        while True:
            x = self.normal()
            root = 1 + c * x
            v = root * root * root  # not **: that is the C library's pow
            if v > 0 and log(1.0 - self.uniform()) < 0.5 * x * x + d * (1 - v + log(v)):
                return d * v * mean / shape

    def lognormal(self, mu: float, sigma: float) -> float:
        """``exp(mu + sigma * N)`` with ``N`` standard normal."""
        return exp(mu + sigma * self.normal())

    def below(self, count: int) -> int:
        """A whole number from 0 to ``count - 1``, each as likely."""
        return int(self.uniform() * count)

    def shuffled(self, count: int) -> list[int]:
        """The numbers from 0 to ``count - 1`` in random order (Fisher and Yates)."""
        order = list(range(count))
        for last in range(count - 1, 0, -1):
            other = self.below(last + 1)
            order[last], order[other] = order[other], order[last]
        return order


class Popularity:
    """Which of ``count`` things is asked for: each as likely, or as Zipf's law has it (``1 / rank**exponent``).

    Raises ``ValueError`` for a ``count`` under one and a negative ``exponent``.
    """

    def __init__(self, count: int, exponent: float = 0.0) -> None:
        self.count, self.exponent = whole("count", count), not_negative("exponent", exponent)
        self._edges: Sequence[float] = ()
        if self.exponent:
            weights = [exp(-self.exponent * log(float(rank))) for rank in range(1, self.count + 1)]
            total, edges = 0.0, []
            for weight in weights:
                total += weight
                edges.append(total)
            self._edges = edges

    def draw(self, draws: Draws) -> int:
        """The index of one thing, the most popular being 0."""
        if not self._edges:
            return draws.below(self.count)
        return min(bisect_right(self._edges, draws.uniform() * self._edges[-1]), self.count - 1)


class Length:
    """How many tokens: always ``mean``, or lognormal with this mean and ``deviation``, cut to ``[least, most]``.

    The mean and deviation are those of the lognormal before the cut, as load generators give them. Raises
    ``ValueError`` for a mean under one, a negative deviation and limits that leave nothing.
    """

    def __init__(self, mean: float, deviation: float = 0.0, *, least: int = 1, most: int | None = None) -> None:
        self.mean, self.deviation = positive_number("mean", mean), not_negative("deviation", deviation)
        self.least = whole("least", least)
        self.most = None if most is None else whole("most", most)
        if self.most is not None and self.most < self.least:
            raise ValueError(phrase("draws.limits", least=self.least, most=self.most))
        variance = log(1 + (self.deviation / self.mean) ** 2)
        self._mu, self._sigma = log(self.mean) - variance / 2, math.sqrt(variance)

    def __repr__(self) -> str:
        return f"Length({self.mean}, {self.deviation}, least={self.least}, most={self.most})"

    def draw(self, draws: Draws) -> int:
        """A whole number of tokens."""
        tokens = self.mean if not self._sigma else draws.lognormal(self._mu, self._sigma)
        tokens = max(round(tokens), self.least)
        return tokens if self.most is None else min(tokens, self.most)


def as_length(name: str, value: float | Length) -> Length:
    """A :class:`Length` as it is, a number as the length that never varies."""
    return value if isinstance(value, Length) else Length(whole(name, value))
