"""Rates as the reader gives them. Networks are sold in bit/s and collectives counted in bytes/s: a factor of eight to
trip on.

A plain number is taken in the unit that the function asks for; a :class:`Quantity` in the other unit is converted.
"""

from tpu_kernels.models.checked_number import positive_number
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.phrases import phrase

BITS, BYTES = "bit/s", "bytes/s"


def bits_per_second(name: str, value: float) -> float:
    """``value`` in bit/s; ``ValueError`` for what is not positive and finite, and for a quantity that is no rate."""
    rate = positive_number(name, value)
    return rate * 8 if _unit(name, value, BITS) == BYTES else rate


def bytes_per_second(name: str, value: float) -> float:
    """``value`` in bytes/s; ``ValueError`` for what is not positive and finite, and for a quantity that is no rate."""
    rate = positive_number(name, value)
    return rate / 8 if _unit(name, value, BYTES) == BITS else rate


def _unit(name: str, value: float, expected: str) -> str:
    unit = value.unit if isinstance(value, Quantity) else expected
    if unit not in (BITS, BYTES):
        raise ValueError(phrase("rate.not_a_rate", name=name, got=str(value), expected=expected))
    return unit
