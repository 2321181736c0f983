"""How a number between two neighbours of a format becomes one of them.

A rounding is a function of the magnitude counted in steps (the distance between neighbours there), a float or a
``Fraction`` of at least 0; it returns a whole number of steps: the one below or the one above.
"""

import math
from collections.abc import Callable
from typing import TypeAlias

from tpu_kernels.models.checked_number import whole_number
from tpu_kernels.models.numerals import Number

Rounding: TypeAlias = Callable[[Number], int]


def nearest_even(steps: Number) -> int:
    """To the nearest; a half goes to the even one. What IEEE 754 and TPU conversions do unless told otherwise."""
    return round(steps)


def toward_zero(steps: Number) -> int:
    """Down in magnitude: what cutting the low bits off does."""
    return math.floor(steps)


def stochastic(seed: int) -> Rounding:
    """Up with the probability of the part that is cut off, so that the expected result is the number itself.

    The draws follow ``seed`` alone, the same on every machine. The uniform draw has 53 bits, so the probability is
    exact to ``2**-53``. Hardware does the same with fewer random bits, added below the last bit kept.
    """
    from random import Random  # slow to import, and few need it

    draw = Random(whole_number("seed", seed)).random

    def rounded(steps: Number) -> int:
        below = math.floor(steps)
        return below + (draw() < steps - below)

    return rounded
