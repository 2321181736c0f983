"""Real numbers as small integers with a scale and a zero point, one pair per tensor or one per channel.

``q = saturate(round(x / scale) + zero_point)`` and back ``x = (q - zero_point) * scale``; a half rounds to even.
Source: ONNX operators QuantizeLinear, version 25, and DynamicQuantizeLinear, version 11 (the fit of the asymmetric
scale), as the data file of the number formats records.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from tpu_kernels.models.checked_number import (
    checked_number,
    finite_number,
    finite_numbers,
    positive_number,
    whole_number,
)
from tpu_kernels.models.matrix import Matrix, checked_matrix
from tpu_kernels.models.numerals import Number, number
from tpu_kernels.models.numerics.integer_format import IntegerFormat
from tpu_kernels.models.numerics.number_formats import integer_format
from tpu_kernels.models.numerics.scientific_notation import scientific
from tpu_kernels.models.table import Table, TableCell
from tpu_kernels.phrases import phrase

ROWS, COLUMNS = 0, 1


class Quantisation(NamedTuple):
    """A scale (above zero) and a zero point (an integer of the format): how one tensor or channel becomes integers.

    Make one with :func:`quantisation` or :func:`fit_quantisation`.
    """

    dtype: IntegerFormat
    scale: float
    zero_point: int

    @property
    def lowest(self) -> float:
        """The least value that does not saturate: what the format's ``min`` stands for."""
        return (self.dtype.min - self.zero_point) * self.scale

    @property
    def highest(self) -> float:
        """The greatest value that does not saturate: what the format's ``max`` stands for."""
        return (self.dtype.max - self.zero_point) * self.scale

    def quantise(self, value: object) -> int:
        """The integer of ``value``; infinities saturate. ``ValueError`` for NaN and for what is not a number.

        Rounded once: a quotient that comes out as a half in floats is looked at exactly.
        """
        given = checked_number("value", value)
        steps: Number = float(given) / self.scale if isinstance(given, float) else given / Fraction(self.scale)
        if isinstance(steps, float) and steps % 1 == 0.5:
            # Rounding is monotone, so a quotient on either side of a half stays there or lands on it.
            steps = Fraction(given) / Fraction(self.scale)
        if isinstance(steps, float) and not abs(steps) < 2**53:
            return self.dtype.rounded(steps)
        return self.dtype.rounded(round(steps) + self.zero_point)

    def dequantise(self, quantised: object) -> float:
        """The value that an integer of the format stands for, to the nearest float; ``ValueError`` out of range."""
        whole = whole_number("quantised", quantised)
        if not self.dtype.min <= whole <= self.dtype.max:
            raise ValueError(
                phrase("quantisation.range", got=whole, dtype=self.dtype.name, min=self.dtype.min, max=self.dtype.max)
            )
        return (whole - self.zero_point) * self.scale

    def rounded(self, value: object) -> float:
        """What is left of ``value``: quantised and back."""
        return self.dequantise(self.quantise(value))

    def table(self, values: object) -> Table:
        """Each value, its integer, what that stands for, and the error, in the language in force."""
        rows = []
        for given in finite_numbers("values", values):
            whole = self.quantise(given)
            back = self.dequantise(whole)
            cells = (number(given), number(whole), number(back), scientific(Fraction(back) - Fraction(given), digits=3))
            rows.append([TableCell(text, numeric=True) for text in cells])
        headings = [
            phrase("quantisation.value"),
            phrase("quantisation.integer"),
            phrase("quantisation.back"),
            phrase("quantisation.error"),
        ]
        caption = phrase(
            "quantisation.caption", dtype=self.dtype.name, scale=number(self.scale), zero_point=number(self.zero_point)
        )
        return Table(caption, headings, rows)


class ChannelQuantisation(NamedTuple):
    """One :class:`Quantisation` per row (``axis`` 0) or per column (``axis`` 1) of a matrix."""

    channels: tuple[Quantisation, ...]
    axis: int

    def quantise(self, matrix: object) -> list[list[int]]:
        """The integers of a matrix, each with its channel's scale; ``ValueError`` for another number of channels."""
        rows = self._checked(matrix)
        return [[self._of(row, column).quantise(x) for column, x in enumerate(xs)] for row, xs in enumerate(rows)]

    def dequantise(self, quantised: object) -> list[list[float]]:
        """What a matrix of integers stands for, each with its channel's scale."""
        rows = self._checked(quantised)
        return [[self._of(row, column).dequantise(q) for column, q in enumerate(qs)] for row, qs in enumerate(rows)]

    def _of(self, row: int, column: int) -> Quantisation:
        return self.channels[row if self.axis == ROWS else column]

    def _checked(self, matrix: object) -> Matrix:
        rows = checked_matrix("matrix", matrix)
        found = len(rows) if self.axis == ROWS else len(rows[0])
        if found != len(self.channels):
            raise ValueError(
                phrase("quantisation.channels", got=found, expected=len(self.channels), axis=str(self.axis))
            )
        return rows


def quantisation(dtype: str | IntegerFormat, *, scale: float, zero_point: int = 0) -> Quantisation:
    """A quantisation of ``dtype`` with this ``scale`` (above zero) and ``zero_point`` (an integer of the format)."""
    chosen = integer_format(dtype)
    zero = whole_number("zero_point", zero_point)
    if not chosen.min <= zero <= chosen.max:
        raise ValueError(phrase("quantisation.range", got=zero, dtype=chosen.name, min=chosen.min, max=chosen.max))
    return Quantisation(chosen, positive_number("scale", scale), zero)


def fit_quantisation(values: object, dtype: str | IntegerFormat, *, symmetric: bool = True) -> Quantisation:
    """The quantisation of finite ``values`` that saturates none of them.

    Symmetric: zero point 0 and ``scale = max(abs(x)) / max`` (the format's ``min`` goes unused). Otherwise the range
    of the values, stretched to hold 0, is spread over all codes: ``scale = (high - low) / (max - min)`` and
    ``zero_point = saturate(round(min - low / scale))``, which may clip half a step. Values that are all zero get
    scale 1. ``ValueError`` when the range is too narrow or too wide for a float scale.
    """
    return _fit(finite_numbers("values", values), integer_format(dtype), symmetric)


def fit_channels(
    matrix: object, dtype: str | IntegerFormat, *, axis: int = ROWS, symmetric: bool = True
) -> ChannelQuantisation:
    """A quantisation fitted to each row (``axis=0``) or column (``axis=1``) of a matrix of finite numbers."""
    rows = checked_matrix("matrix", matrix)
    if isinstance(axis, bool) or axis not in (ROWS, COLUMNS):
        raise ValueError(phrase("quantisation.axis", got=repr(axis)))
    channels: Sequence[Sequence[Number]] = rows if axis == ROWS else list(zip(*rows, strict=True))
    chosen = integer_format(dtype)
    fitted = (_fit([finite_number("matrix", x) for x in channel], chosen, symmetric) for channel in channels)
    return ChannelQuantisation(tuple(fitted), axis)


def _fit(values: Sequence[Number], dtype: IntegerFormat, symmetric: bool) -> Quantisation:
    low, high = Fraction(min(*values, 0)), Fraction(max(*values, 0))
    if low == high:
        return Quantisation(dtype, 1.0, 0)
    if symmetric:
        return Quantisation(dtype, positive_number("scale", max(-low, high) / dtype.max), 0)
    scale = positive_number("scale", (high - low) / (dtype.max - dtype.min))
    return Quantisation(dtype, scale, dtype.rounded(dtype.min - low / Fraction(scale)))
