"""Amounts checked at the edge of the performance models, and the bytes that an element of each number format takes."""

from collections.abc import Mapping

from tpu_kernels.models.checked_number import finite_number
from tpu_kernels.phrases import phrase

# Bits in memory. tf32 is a way to multiply: its operands are stored as fp32.
BITS: Mapping[str, int] = {
    "fp64": 64,
    "fp32": 32,
    "tf32": 32,
    "int32": 32,
    "bf16": 16,
    "fp16": 16,
    "fp8": 8,
    "int8": 8,
    "fp4": 4,
    "int4": 4,
}


def itemsize(dtype: str) -> float:
    """Bytes of one element of ``dtype`` (a name of :data:`BITS`; ``int4`` takes half a byte).

    Raises ``ValueError`` for any other name.
    """
    return BITS[known_format(dtype)] / 8


def known_format(dtype: str) -> str:
    """``dtype`` itself when it is a name of :data:`BITS`; else ``ValueError``."""
    if dtype not in BITS:
        raise ValueError(phrase("amount.unknown_format", got=repr(dtype), known=", ".join(BITS)))
    return dtype


def not_negative(name: str, value: object) -> float:
    """``value`` as a finite float of zero or more; ``ValueError`` for anything else, a ``bool`` included."""
    number = float(finite_number(name, value))
    if number < 0:
        raise ValueError(phrase("amount.negative", name=name, got=repr(value)))
    return number


def one_of(name: str, value: str, known: tuple[str, ...]) -> str:
    """``value`` itself when it is one of ``known``; else ``ValueError``."""
    if value not in known:
        raise ValueError(phrase("amount.unknown_choice", name=name, got=repr(value), known=", ".join(known)))
    return value
