"""A two's complement integer format: encode, decode and round, saturating or wrapping on overflow."""

import math
from collections.abc import Mapping
from typing import Any

from tpu_kernels.models.checked_number import checked_number, whole_number
from tpu_kernels.models.numerals import Number
from tpu_kernels.models.numerics.float_format import SATURATE
from tpu_kernels.models.numerics.rounding import Rounding, nearest_even
from tpu_kernels.phrases import phrase

WRAP = "wrap"


class IntegerFormat:
    """One format; get it by name from ``number_formats.integer_format``.

    ``name``, ``title``, ``bits``, ``min`` (``-2**(bits - 1)``) and ``max`` (``2**(bits - 1) - 1``).
    """

    def __init__(self, name: str, entry: Mapping[str, Any]) -> None:
        self.name = name
        self.title: str = entry["title"]
        self.bits: int = entry["bits"]
        self.aliases: tuple[str, ...] = tuple(entry["aliases"])
        self.note: str | None = entry.get("note")
        self.source_keys: tuple[str, ...] = tuple(entry["sources"])
        self.min: int = -(1 << (self.bits - 1))
        self.max: int = (1 << (self.bits - 1)) - 1

    def __repr__(self) -> str:
        return f"numerics.integer_format({self.name!r})"

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        from tpu_kernels.models.numerics.number_formats import integer_format

        return (integer_format, (self.name,))

    @property
    def weights(self) -> tuple[int, ...]:
        """What each bit is worth, the sign first: ``(-8, 4, 2, 1)`` for four bits."""
        return (self.min, *(1 << bit for bit in reversed(range(self.bits - 1))))

    def rounded(self, value: object, *, overflow: str = SATURATE, rounding: Rounding = nearest_even) -> int:
        """The integer that ``value`` becomes: rounded, then brought into range.

        ``overflow``: ``"saturate"`` (the nearest end, as quantisation does) or ``"wrap"`` (the low bits stay, as adding
        two integers does). ``ValueError`` for NaN, which no integer format can hold, and for an infinity that wraps.
        """
        number: Number = checked_number("value", value)
        if overflow not in (SATURATE, WRAP):
            raise ValueError(phrase("integer_format.overflow", got=repr(overflow), known=f"{SATURATE}, {WRAP}"))
        if isinstance(number, float) and not math.isfinite(number):
            if number != number or overflow == WRAP:
                raise ValueError(phrase("integer_format.no_number", got=repr(number), dtype=self.name))
            return self.max if number > 0 else self.min
        whole = rounding(number) if number >= 0 else -rounding(-number)
        if overflow == SATURATE:
            return min(max(whole, self.min), self.max)
        return (whole - self.min) % (1 << self.bits) + self.min

    def encode(self, value: object, *, overflow: str = SATURATE, rounding: Rounding = nearest_even) -> int:
        """The code (``bits`` wide, unsigned) of ``value``: :meth:`rounded`, in two's complement."""
        return self.rounded(value, overflow=overflow, rounding=rounding) % (1 << self.bits)

    def decode(self, code: object) -> int:
        """The value of a code from 0 to under ``2**bits``; ``ValueError`` for what is not one."""
        whole = whole_number("code", code)
        if not 0 <= whole < 1 << self.bits:
            raise ValueError(
                phrase("float_format.code_range", got=whole, dtype=self.name, last=hex((1 << self.bits) - 1))
            )
        return whole if whole <= self.max else whole - (1 << self.bits)

    def pattern(self, code: object) -> str:
        """The code in binary, the sign apart: ``"1 0000000"``."""
        digits = f"{self.decode(code) % (1 << self.bits):0{self.bits}b}"
        return f"{digits[0]} {digits[1:]}"
