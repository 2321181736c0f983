"""A binary floating-point format, bit by bit: encode, decode and round with one rounding, from any real number.

A number is ``steps * 2**(exponent - fraction_bits)``, and its code counts the numbers of the format from zero up:
``(exponent - min_exponent) * 2**fraction_bits + steps``. So the code of a rounded number is exact integer arithmetic,
a carry into the next exponent included, and subnormals are not a special case.
Source: IEEE 754-2019, sections 3.4 (encoding), 4.3 (rounding) and 7.4 (overflow).
"""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Never

from tpu_kernels.models.checked_number import checked_number, whole_number
from tpu_kernels.models.numerals import Number
from tpu_kernels.models.numerics.rounding import Rounding, nearest_even, toward_zero
from tpu_kernels.phrases import phrase

AS_SPECIFIED = "as_specified"
INFINITY = "infinity"
NAN = "nan"
SATURATE = "saturate"
OVERFLOWS = (AS_SPECIFIED, INFINITY, NAN, SATURATE)

ZERO = "zero"
SUBNORMAL = "subnormal"
NORMAL = "normal"


class FloatFormat:
    """One format. Immutable; get it by name from ``number_formats.float_format``.

    ``name``, ``title``, ``bits``, ``exponent_bits``, ``fraction_bits``, ``bias``; ``has_infinity``;
    ``max_exponent`` and ``min_exponent`` of normal numbers; and as floats, all exact: ``max`` (largest finite),
    ``min_normal``, ``min_subnormal``, ``epsilon`` (the distance from 1 to the next number) and ``unit_roundoff``
    (half of it: the largest relative error of rounding to nearest a number in the normal range).
    """

    def __init__(self, name: str, entry: Mapping[str, Any]) -> None:
        self.name = name
        self.title: str = entry["title"]
        self.exponent_bits: int = entry["exponent_bits"]
        self.fraction_bits: int = entry["fraction_bits"]
        self.bias: int = entry["bias"]
        self.has_infinity: bool = entry["specials"] == "ieee"
        self.aliases: tuple[str, ...] = tuple(entry["aliases"])
        self.note: str | None = entry.get("note")
        self.source_keys: tuple[str, ...] = tuple(entry["sources"])
        self.bits: int = 1 + self.exponent_bits + self.fraction_bits
        self.sign_mask: int = 1 << (self.bits - 1)
        self.fraction_mask: int = (1 << self.fraction_bits) - 1
        self.exponent_mask: int = (1 << self.exponent_bits) - 1
        top = self.exponent_mask << self.fraction_bits  # the magnitude whose exponent field is all ones
        self.max_code: int = top - 1 if self.has_infinity else self.sign_mask - 2
        self.infinity_code: int | None = top if self.has_infinity else None
        self.nan_code: int = top | 1 << (self.fraction_bits - 1) if self.has_infinity else self.sign_mask - 1
        self.min_exponent: int = 1 - self.bias
        self.max_exponent: int = (self.max_code >> self.fraction_bits) - self.bias
        self.max = self._finite(self.max_code)
        self.min_normal = math.ldexp(1.0, self.min_exponent)
        self.min_subnormal = math.ldexp(1.0, self.min_exponent - self.fraction_bits)
        self.epsilon = math.ldexp(1.0, -self.fraction_bits)
        self.unit_roundoff = self.epsilon / 2
        object.__setattr__(self, "_sealed", True)

    def __setattr__(self, name: str, value: object) -> None:
        if hasattr(self, "_sealed"):
            self._refuse(name)
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> Never:
        self._refuse(name)

    def _refuse(self, name: str) -> Never:
        raise AttributeError(phrase("float_format.immutable", dtype=self.name, name=name))

    def __repr__(self) -> str:
        return f"numerics.float_format({self.name!r})"

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        from tpu_kernels.models.numerics.number_formats import float_format

        return (float_format, (self.name,))

    def encode(
        self,
        value: object,
        *,
        overflow: str = AS_SPECIFIED,
        rounding: Rounding = nearest_even,
        flush_subnormals: bool = False,
    ) -> int:
        """The code (``bits`` wide, unsigned) of ``value``, rounded once however it is given: float, int or Fraction.

        ``overflow`` says what becomes of a value that rounds beyond ``max``, and of infinities: ``"as_specified"``
        (infinity where the format has one, else NaN; the largest number when rounding toward zero a finite value),
        ``"infinity"``, ``"nan"`` or ``"saturate"`` (the largest number). Zero keeps its sign; a NaN becomes the quiet
        NaN of its sign. ``flush_subnormals``: a result below ``min_normal`` becomes zero, as bf16 on Cloud TPU does.
        ``ValueError`` for what is not a real number and for an infinity asked of a format without one.
        """
        if overflow != AS_SPECIFIED:
            self._check_overflow(overflow)
        number = value if type(value) is float else checked_number("value", value)
        sign = self.sign_mask if number < 0 else 0
        if not number or not -math.inf < number < math.inf:  # zero, infinite or NaN
            return self._special(float(number), overflow)
        exponent = max(exponent_of(number), self.min_exponent)
        steps = rounding(scaled(-number if sign else number, self.fraction_bits - exponent))
        magnitude = ((exponent - self.min_exponent) << self.fraction_bits) + steps
        if magnitude > self.max_code:
            if overflow == AS_SPECIFIED and rounding is toward_zero:
                overflow = SATURATE
            return sign | self._overflowed(overflow)
        if flush_subnormals and magnitude <= self.fraction_mask:
            return sign
        return sign | magnitude

    def decode(self, code: object) -> float:
        """The value of a code, exactly, as a float; a NaN keeps its sign. ``ValueError`` for what is not a code."""
        checked = self.checked_code(code)
        magnitude = checked & ~self.sign_mask
        if magnitude <= self.max_code:
            value = self._finite(magnitude)
        else:
            value = math.inf if magnitude == self.infinity_code else math.nan
        return math.copysign(value, -1 if checked & self.sign_mask else 1)

    def rounded(
        self,
        value: object,
        *,
        overflow: str = AS_SPECIFIED,
        rounding: Rounding = nearest_even,
        flush_subnormals: bool = False,
    ) -> float:
        """The number of the format that ``value`` becomes: ``decode(encode(value, ...))``."""
        code = self.encode(value, overflow=overflow, rounding=rounding, flush_subnormals=flush_subnormals)
        magnitude = code & ~self.sign_mask
        if magnitude > self.max_code:
            return self.decode(code)
        return -self._finite(magnitude) if code & self.sign_mask else self._finite(magnitude)

    def contains(self, value: object) -> bool:
        """Whether the format holds ``value`` as it is; infinities and NaN where it has them."""
        number = checked_number("value", value)
        if number != number:
            return True
        return self.rounded(number) == number

    def spacing(self, value: object) -> float:
        """The distance between neighbours at the magnitude of ``value`` (its ulp), as a float.

        At a power of two it is the distance upward. ``ValueError`` for what is not finite or rounds beyond ``max``.
        """
        number = self.rounded(value)
        if not math.isfinite(number):
            raise ValueError(phrase("float_format.no_spacing", dtype=self.name, got=repr(value), max=repr(self.max)))
        exponent = max(exponent_of(number), self.min_exponent) if number else self.min_exponent
        return math.ldexp(1.0, exponent - self.fraction_bits)

    def next_up(self, code: object) -> int | None:
        """The code of the next larger value: -0 and +0 count as one; ``None`` at the top and for NaN."""
        checked = self.checked_code(code)
        magnitude = checked & ~self.sign_mask
        top = self.max_code if self.infinity_code is None else self.infinity_code
        if magnitude > top:
            return None
        if magnitude == 0:
            return 1
        if checked & self.sign_mask:
            return checked - 1
        return None if magnitude == top else checked + 1

    def next_down(self, code: object) -> int | None:
        """The code of the next smaller value; ``None`` at the bottom and for NaN."""
        above = self.next_up(self.checked_code(code) ^ self.sign_mask)
        return None if above is None else above ^ self.sign_mask

    def kind(self, code: object) -> str:
        """What a code stands for: ``"zero"``, ``"subnormal"``, ``"normal"``, ``"infinity"`` or ``"nan"``."""
        magnitude = self.checked_code(code) & ~self.sign_mask
        if magnitude > self.max_code:
            return INFINITY if magnitude == self.infinity_code else NAN
        if magnitude > self.fraction_mask:
            return NORMAL
        return SUBNORMAL if magnitude else ZERO

    def pattern(self, code: object) -> str:
        """The code in binary, its fields apart: ``"0 10000000 1001001"``."""
        digits = f"{self.checked_code(code):0{self.bits}b}"
        return f"{digits[0]} {digits[1 : 1 + self.exponent_bits]} {digits[1 + self.exponent_bits :]}"

    def holds_all_of(self, other: "FloatFormat") -> bool:
        """Whether every finite number of ``other`` is one of this format."""
        wide = self.fraction_bits >= other.fraction_bits and self.max >= other.max
        return wide and self.min_subnormal <= other.min_subnormal

    def checked_code(self, code: object) -> int:
        """``code`` as an int from 0 to under ``2**bits``; ``ValueError`` otherwise."""
        whole = whole_number("code", code)
        if not 0 <= whole < 1 << self.bits:
            raise ValueError(
                phrase("float_format.code_range", got=whole, dtype=self.name, last=hex((1 << self.bits) - 1))
            )
        return whole

    def _finite(self, magnitude: int) -> float:
        field = magnitude >> self.fraction_bits
        if field == 0:
            return math.ldexp(magnitude, self.min_exponent - self.fraction_bits)
        steps = (magnitude & self.fraction_mask) | 1 << self.fraction_bits
        return math.ldexp(steps, field - self.bias - self.fraction_bits)

    def _special(self, number: float, overflow: str) -> int:
        sign = self.sign_mask if math.copysign(1, number) < 0 else 0
        if number == 0:
            return sign
        return sign | (self.nan_code if number != number else self._overflowed(overflow))

    def _overflowed(self, overflow: str) -> int:
        if overflow == SATURATE:
            return self.max_code
        if overflow == NAN or self.infinity_code is None:
            return self.nan_code
        return self.infinity_code

    def _check_overflow(self, overflow: str) -> None:
        if overflow not in OVERFLOWS:
            raise ValueError(phrase("float_format.overflow", got=repr(overflow), known=", ".join(OVERFLOWS)))
        if overflow == INFINITY and not self.has_infinity:
            raise ValueError(phrase("float_format.no_infinity", dtype=self.name))


def exponent_of(number: Number) -> int:
    """``floor(log2(abs(number)))`` of a finite number other than zero, exactly."""
    if isinstance(number, float):
        return math.frexp(number)[1] - 1
    above, below = abs(number.numerator), number.denominator
    exponent = above.bit_length() - below.bit_length()
    return exponent - (above << max(-exponent, 0) < below << max(exponent, 0))


def scaled(number: Number, exponent: int) -> Number:
    """``number * 2**exponent``, exactly.

    For a float too: the encoder scales so that at most 53 bits stand before the point and none falls off the end.
    """
    if isinstance(number, float):
        return math.ldexp(number, exponent)
    return number * Fraction(2) ** exponent
