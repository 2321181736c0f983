"""Loss scaling: what happens to gradients in a narrow format, and to those multiplied by a scale.

Source of the method: Micikevicius et al., "Mixed precision training", ICLR 2018 (arXiv:1710.03740), section 3.2.
"""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

from tpu_kernels.models.checked_number import finite_numbers, positive_number
from tpu_kernels.models.numerals import Number
from tpu_kernels.models.numerics.float_format import NORMAL, SUBNORMAL, ZERO, FloatFormat
from tpu_kernels.models.numerics.number_formats import float_format
from tpu_kernels.models.numerics.scientific_notation import scientific
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.models.table import Table, TableCell
from tpu_kernels.phrases import phrase


class ScaledGradients(NamedTuple):
    """What became of gradients multiplied by ``scale`` and rounded to ``dtype``: counts that add up to ``total``.

    ``zero`` were zero before; ``underflow`` became zero; ``subnormal`` lost significant bits; ``normal`` did not;
    ``overflow`` became infinite or NaN.
    """

    dtype: FloatFormat
    scale: float
    total: int
    zero: int
    underflow: int
    subnormal: int
    normal: int
    overflow: int

    @property
    def underflow_share(self) -> Quantity:
        """The share of all gradients that underflowed to zero."""
        return Quantity(self.underflow / self.total, "share")

    @property
    def overflow_share(self) -> Quantity:
        """The share of all gradients that overflowed."""
        return Quantity(self.overflow / self.total, "share")

    def __repr__(self) -> str:
        return phrase(
            "loss_scaling.summary",
            dtype=self.dtype.name,
            scale=scientific(self.scale),
            underflow=self.underflow_share.format(),
            overflow=self.overflow_share.format(),
        )


def scale_gradients(gradients: object, scale: float = 1.0, dtype: str | FloatFormat = "fp16") -> ScaledGradients:
    """Counts what becomes of finite ``gradients`` times ``scale`` (above zero) in ``dtype``.

    The product is exact and rounded once. ``ValueError`` for no gradients and for a scale that is not positive.
    """
    return _scaled(finite_numbers("gradients", gradients), positive_number("scale", scale), float_format(dtype))


def largest_safe_scale(gradients: object, dtype: str | FloatFormat = "fp16") -> float:
    """The largest power of two by which no gradient overflows ``dtype``; ``ValueError`` when all are zero."""
    largest = max(abs(Fraction(gradient)) for gradient in finite_numbers("gradients", gradients))
    if largest == 0:
        raise ValueError(phrase("loss_scaling.all_zero"))
    chosen = float_format(dtype)
    exponent = chosen.max_exponent - math.floor(math.log2(largest)) + 2  # a little too far, whatever log2 rounded to
    while not math.isfinite(chosen.rounded(largest * Fraction(2) ** exponent)):
        exponent -= 1
    return math.ldexp(1.0, exponent)


def loss_scale_table(gradients: object, scales: Iterable[float], dtype: str | FloatFormat = "fp16") -> Table:
    """One row per scale: shares that underflow, turn subnormal and overflow, in the language in force."""
    numbers, chosen = finite_numbers("gradients", gradients), float_format(dtype)
    headings = [
        phrase("loss_scaling.scale"),
        phrase("loss_scaling.underflow"),
        phrase("loss_scaling.subnormal"),
        phrase("loss_scaling.overflow"),
    ]
    rows = []
    for scale in scales:
        found = _scaled(numbers, positive_number("scale", scale), chosen)
        shares = (found.underflow, found.subnormal, found.overflow)
        cells = [TableCell(Quantity(share / found.total, "share").format(), numeric=True) for share in shares]
        rows.append([TableCell(scientific(found.scale), numeric=True), *cells])
    return Table(phrase("loss_scaling.caption", count=len(numbers), dtype=chosen.name), headings, rows)


def _scaled(gradients: Sequence[Number], scale: float, dtype: FloatFormat) -> ScaledGradients:
    exact = math.frexp(scale)[0] == 0.5  # a power of two
    kinds = {ZERO: 0, SUBNORMAL: 0, NORMAL: 0}
    zero = overflow = 0
    for gradient in gradients:
        product = gradient * scale if exact and isinstance(gradient, float) else Fraction(gradient) * Fraction(scale)
        kind = dtype.kind(dtype.encode(product))
        if gradient == 0:
            zero += 1
        elif kind in kinds:
            kinds[kind] += 1
        else:
            overflow += 1
    return ScaledGradients(
        dtype=dtype,
        scale=scale,
        total=len(gradients),
        zero=zero,
        underflow=kinds[ZERO],
        subnormal=kinds[SUBNORMAL],
        normal=kinds[NORMAL],
        overflow=overflow,
    )
