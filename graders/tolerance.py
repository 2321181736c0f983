"""How far a right answer may be from the exact one: from the formats and the number of terms, never a loose constant.

The bounds are Higham's (*Accuracy and Stability of Numerical Algorithms*, 2nd ed., SIAM 2002, section 3.1): a sum of
products of length ``k``, in any order, differs from the exact one by at most ``gamma(k, u)`` times the same sum of
absolute values, ``u`` being the unit roundoff of the accumulator.
"""

import math
from typing import Any

import numpy as np

# Significand bits, the hidden one included: unit roundoff to nearest is 2**-bits.
_SIGNIFICAND_BITS = {"bfloat16": 8, "float16": 11, "tf32": 11, "float32": 24, "float64": 53}

_OPERANDS = ("float32", "bfloat16", "float16")

# What a back end rounds float32 operands of a product to when the program asks for no precision.
_DEFAULT_OPERAND = {"cpu": "float32", "gpu": "tf32", "tpu": "bfloat16"}


def unit_roundoff(dtype: str) -> float:
    """Half the distance from 1 to the next number: the largest relative error of one rounding to nearest."""
    return math.ldexp(1.0, -_SIGNIFICAND_BITS[dtype])


def gamma(n: int, u: float) -> float:
    """``n u / (1 - n u)``: the growth of ``n`` roundings in a row. Raises ``ValueError`` unless ``n u < 1``."""
    if not 0 <= n * u < 1:
        raise ValueError(f"no bound for {n} roundings of {u}: their product must stay below 1")
    return n * u / (1 - n * u)


def product_bound(
    a: "np.ndarray[Any, Any]", b: "np.ndarray[Any, Any]", backend: str = "cpu", result: str = "float32"
) -> "np.ndarray[Any, Any]":
    """The largest absolute error of each element of ``a @ b`` accumulated in float32, shape M x N, float64.

    ``a`` is M x K, ``b`` K x N, in float32 or a narrower floating format. Operands narrower than float32 multiply
    exactly in it; float32 operands lose what the back end's default precision takes from them. ``result``: the format
    that the sums are rounded to at the end, in its normal range. Raises ``ValueError`` for operands of another format.
    """
    for name in (a.dtype.name, b.dtype.name):
        if name not in _OPERANDS:
            raise ValueError(f"no bound for a product of {name} in float32: expected one of {', '.join(_OPERANDS)}")
    k = a.shape[1]
    u = unit_roundoff("float32")
    steps = k
    if backend != "cpu":
        # Matrix units align the terms of a group to its largest and cut what falls off: twice the error of rounding to
        # nearest, and the carried sum is one more term of each group (Fasi et al., PeerJ Comput. Sci. 7:e330, 2021).
        u, steps = 2 * u, 2 * k
    relative = gamma(steps, u)
    if "float32" in (a.dtype.name, b.dtype.name):
        operand = _DEFAULT_OPERAND[backend]
        if operand != "float32":
            relative += gamma(2, unit_roundoff(operand)) * (1 + relative)
    if result != "float32":
        relative += unit_roundoff(result) * (1 + relative)
    magnitude: np.ndarray[Any, Any] = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64))
    return relative * magnitude


def within(got: Any, want: "np.ndarray[Any, Any]", bound: "np.ndarray[Any, Any] | float") -> bool:
    """Whether ``got`` has the shape of ``want`` and differs from it by at most ``bound``, element by element.

    A NaN or an infinity where ``want`` is finite never passes.
    """
    if not isinstance(got, np.ndarray) or got.shape != want.shape:
        return False
    with np.errstate(invalid="ignore"):  # inf - inf: the NaN below says it
        difference = np.abs(got.astype(np.float64) - want.astype(np.float64))
    return bool(np.all(difference <= bound))  # a comparison with NaN is false


def equal(got: Any, want: Any) -> bool:
    """Whether two pieces of plain data hold the same numbers in the same places; types of number may differ."""
    if isinstance(want, list):
        return isinstance(got, list) and len(got) == len(want) and all(map(equal, got, want))
    if isinstance(got, list | dict | str) or got is None:
        return type(got) is type(want) and bool(got == want)
    if isinstance(got, np.ndarray) and got.ndim == 0:  # one number of numpy's
        got = got.item()
    if isinstance(got, int | float) and isinstance(want, int | float):
        return got == want  # exact, where numpy compares an int64 with a float as floats
    return bool(np.array_equal(got, want))
