"""Encoding, decoding and rounding by the name of a format."""

from tpu_kernels.models.numerics.float_format import FloatFormat
from tpu_kernels.models.numerics.integer_format import IntegerFormat
from tpu_kernels.models.numerics.number_formats import (
    number_format,
)
from tpu_kernels.models.numerics.rounding import Rounding, nearest_even


def encode(
    value: object,
    dtype: str | FloatFormat | IntegerFormat,
    *,
    overflow: str | None = None,
    rounding: Rounding = nearest_even,
) -> int:
    """The code of ``value`` in a format, an unsigned integer as wide as the format.

    ``overflow``: what the format specifies when ``None``; otherwise see ``FloatFormat.encode`` and
    ``IntegerFormat.rounded``. ``ValueError`` for an unknown format, and for what is not a real number.
    """
    chosen = number_format(dtype)
    if overflow is None:
        return chosen.encode(value, rounding=rounding)
    return chosen.encode(value, overflow=overflow, rounding=rounding)


def decode(code: object, dtype: str | FloatFormat | IntegerFormat) -> float:
    """The value of a code, exactly; ``ValueError`` for an unknown format and for what is not a code of it."""
    return number_format(dtype).decode(code)


def rounded(
    value: object,
    dtype: str | FloatFormat | IntegerFormat,
    *,
    overflow: str | None = None,
    rounding: Rounding = nearest_even,
) -> float:
    """The number of a format that ``value`` becomes: ``decode(encode(value))``, rounded once."""
    chosen = number_format(dtype)
    return chosen.decode(encode(value, chosen, overflow=overflow, rounding=rounding))
