"""``log`` and ``exp`` from additions, products and divisions alone, so that every machine gives the same bits.

IEEE 754 fixes the result of ``+``, ``*``, ``/`` and ``sqrt``; it does not fix ``log`` and ``exp``, and the C libraries
of CPython and of Pyodide differ in their last bit. A simulator that must give the same answers in both draws its random
numbers through these. Error: at most 2 units in the last place (the tests compare with exact arithmetic).
"""

import math
from typing import Final

LN2_HIGH: Final = 0.6931471803691238  # its last 21 bits are zero: times any exponent it is exact
LN2_LOW: Final = 1.9082149292705877e-10
SQRT_HALF: Final = 0.7071067811865476
# log(m) = 2 atanh(s) = 2 s (1 + s^2/3 + s^4/5 + …) with |s| <= 0.1716: what is left out is under 2**-55.
L1, L2, L3, L4, L5, L6, L7, L8, L9, L10, L11 = (1 / (2 * k + 1) for k in range(1, 12))
# exp(r) = 1 + r + r^2/2 + … with |r| <= ln(2)/2, likewise.
E2, E3, E4, E5, E6, E7, E8, E9, E10, E11, E12, E13 = (1 / math.factorial(k) for k in range(2, 14))


def log(x: float) -> float:
    """The natural logarithm of ``x > 0``."""
    mantissa, exponent = math.frexp(x)
    if mantissa < SQRT_HALF:
        mantissa, exponent = 2 * mantissa, exponent - 1
    s = (mantissa - 1) / (mantissa + 1)
    q = s * s
    series = q * (
        L1 + q * (L2 + q * (L3 + q * (L4 + q * (L5 + q * (L6 + q * (L7 + q * (L8 + q * (L9 + q * (L10 + q * L11)))))))))
    )
    tail = 2 * s * series
    return exponent * LN2_HIGH + (2 * s + (tail + exponent * LN2_LOW))


def exp(x: float) -> float:
    """e to the ``x``; 0 and infinity beyond what a float holds."""
    if x > 709.782712893384:
        return math.inf
    if x < -745.1332191019411:
        return 0.0
    exponent = math.floor(x / (LN2_HIGH + LN2_LOW) + 0.5)
    r = (x - exponent * LN2_HIGH) - exponent * LN2_LOW
    series = E9 + r * (E10 + r * (E11 + r * (E12 + r * E13)))
    series = E2 + r * (E3 + r * (E4 + r * (E5 + r * (E6 + r * (E7 + r * (E8 + r * series))))))
    return math.ldexp(1 + (r + r * r * series), exponent)
