"""Numbers as the reader gives them, checked at the edge: floats as they are, everything else as an exact fraction."""

import math
from collections.abc import Iterable
from fractions import Fraction
from numbers import Integral, Rational, Real
from operator import index
from typing import SupportsIndex

from tpu_kernels.models.numerals import Number
from tpu_kernels.phrases import phrase


def checked_number(name: str, value: object) -> Number:
    """``value`` as a plain float, or exactly as a ``Fraction`` when it is an int or a ratio; NaN and infinities pass.

    Takes any real number (a float of numpy too, through its own exact conversion); raises ``ValueError`` for a
    ``bool`` and for everything else.
    """
    if isinstance(value, float):
        return float(value)
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ValueError(phrase("number.not_real", name=name, got=repr(value)[:60]))
    if isinstance(value, Integral):
        return Fraction(int(value))
    return Fraction(value) if isinstance(value, Rational) else float(value)


def finite_number(name: str, value: object) -> Number:
    """A checked number that is neither infinite nor NaN; ``ValueError`` otherwise."""
    number = checked_number(name, value)
    if isinstance(number, float) and not math.isfinite(number):
        raise ValueError(phrase("number.not_finite", name=name, got=repr(number)))
    return number


def positive_number(name: str, value: object) -> float:
    """A finite number above zero, as a float; ``ValueError`` otherwise, also where no float is that near to zero."""
    number = finite_number(name, value)
    try:
        number = float(number)
    except OverflowError:
        raise ValueError(phrase("number.not_finite", name=name, got=repr(value)[:60])) from None
    if number <= 0:
        raise ValueError(phrase("number.not_positive", name=name, got=repr(value)))
    return number


def whole_number(name: str, value: object) -> int:
    """``value`` as an int of any sign; ``ValueError`` for a ``bool`` and for what has no index."""
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise ValueError(phrase("number.not_whole", name=name, got=repr(value)[:60]))
    return index(value)


def finite_numbers(name: str, values: object) -> list[Number]:
    """At least one finite number, from any iterable; a numpy array is taken through its ``tolist``."""
    tolist = getattr(values, "tolist", None)
    values = tolist() if callable(tolist) else values
    if isinstance(values, str | bytes | dict) or not isinstance(values, Iterable):
        raise ValueError(phrase("number.not_a_sequence", name=name, got=type(values).__name__))
    numbers = [finite_number(f"{name}[{place}]", value) for place, value in enumerate(values)]
    if not numbers:
        raise ValueError(phrase("number.empty", name=name))
    return numbers
