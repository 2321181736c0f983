"""Dot products as a matrix unit computes them: narrow inputs, a wide accumulator; and float32 ones out of bf16 passes.

The product of two numbers of ``p`` bits has ``2p``, so products of bf16 (16 bits) are exact in an fp32 accumulator
(24) as long as they stay in its range. By default a TPU multiplies in bf16 and adds in fp32
(:func:`~tpu_kernels.models.numerics.number_formats.cited` with ``"gdoc_bfloat16"``).
"""

from fractions import Fraction
from typing import NamedTuple

from tpu_kernels.models.checked_number import finite_number, finite_numbers
from tpu_kernels.models.matrix import whole
from tpu_kernels.models.numerals import Number
from tpu_kernels.models.numerics.accumulation import (
    SEQUENTIAL,
    Accumulation,
    accumulate_rounded,
    accumulator_and_inputs,
    difference,
    fitted,
    relative,
)
from tpu_kernels.models.numerics.float_format import FloatFormat
from tpu_kernels.models.numerics.number_formats import document, float_format
from tpu_kernels.models.numerics.rounding import nearest_even, toward_zero
from tpu_kernels.models.numerics.scientific_notation import scientific
from tpu_kernels.phrases import phrase


class DotProduct(NamedTuple):
    """A dot product and where its error comes from. ``exact`` is that of the vectors as they were given.

    ``rounded_inputs`` is the exact dot product of the vectors after rounding to the input format; ``sum`` is the
    accumulation of their products, each rounded to the accumulator.
    """

    sum: Accumulation
    exact: Fraction
    rounded_inputs: Fraction

    @property
    def value(self) -> float:
        """The computed dot product."""
        return self.sum.value

    @property
    def error(self) -> float:
        """Computed minus exact: ``input_error + product_error + sum.error``, up to the rounding to floats."""
        return difference(self.value, self.exact)

    @property
    def relative_error(self) -> float:
        """``abs(error) / abs(exact)``; infinite when the exact result is zero and the computed one is not."""
        return relative(self.error, self.exact)

    @property
    def input_error(self) -> float:
        """What rounding the inputs changed."""
        return float(self.rounded_inputs - self.exact)

    @property
    def product_error(self) -> float:
        """What rounding the products to the accumulator changed; 0 for bf16 products in fp32 that stay in range."""
        return float(self.sum.exact - self.rounded_inputs)

    def __repr__(self) -> str:
        return phrase(
            "dot_product.summary",
            count=len(self.sum.values),
            accumulator=self.sum.accumulator.name,
            value=scientific(self.value, digits=9),
            error=scientific(self.error, digits=3),
            relative=scientific(self.relative_error, digits=3),
        )


def dot(
    a: object,
    b: object,
    *,
    inputs: str | FloatFormat = "bf16",
    accumulator: str | FloatFormat = "fp32",
    strategy: str = SEQUENTIAL,
    block: int | None = None,
) -> DotProduct:
    """``sum(a[i] * b[i])`` of two equally long vectors of finite numbers, rounded to ``inputs`` first.

    Each product is rounded to ``accumulator``, then added there by ``strategy`` (see
    :func:`~tpu_kernels.models.numerics.accumulation.accumulate`; ``block`` is the length of a matrix unit's column).
    ``ValueError`` for vectors of unequal length, values or products that overflow, and an accumulator narrower than
    the inputs.
    """
    wide, given = accumulator_and_inputs(accumulator, inputs)
    left, right = _vectors(a, b)
    rounded = list(zip(fitted("a", left, given), fitted("b", right, given), strict=True))
    products = fitted("a * b", [x * y for x, y in rounded], wide)
    total = accumulate_rounded(products, strategy, wide, wide, block, nearest_even)
    exact = sum((Fraction(x) * Fraction(y) for x, y in zip(left, right, strict=True)), Fraction(0))
    return DotProduct(total, exact, sum((Fraction(x) * Fraction(y) for x, y in rounded), Fraction(0)))


def split(value: object, parts: int = 3) -> tuple[float, ...]:
    """A finite number as a sum of bf16 numbers, largest first: each takes the next 8 significant bits.

    Every part but the last is cut toward zero, the last is rounded to nearest, as XLA does. Three parts give a float32
    back exactly if its lowest bit is worth ``2**-133`` (the least bf16) or more; two keep 16 bits or more of its 24.
    The value is rounded to fp32 first. ``ValueError`` when it overflows there, and for parts that are not 1 to 3.
    """
    count = whole("parts", parts)
    if count > MOST_PARTS:
        raise ValueError(phrase("dot_product.parts", got=count, most=MOST_PARTS))
    bf16 = float_format("bf16")
    (rest,) = fitted("value", [finite_number("value", value)], float_format("fp32"))
    found = []
    for _ in range(count - 1):
        found.append(bf16.rounded(rest, rounding=toward_zero))
        rest -= found[-1]  # exact: the bits that were cut off
    return (*found, *fitted("value", [rest], bf16))


MOST_PARTS = 3  # 3 * 8 bits are all that a float32 has


class PassedDotProduct(NamedTuple):
    """A float32 dot product computed in passes over bf16 parts; ``passes[i]`` is the accumulator after each pass."""

    precision: str
    passes: tuple[float, ...]
    exact: Fraction

    @property
    def value(self) -> float:
        """The computed dot product."""
        return self.passes[-1]

    @property
    def error(self) -> float:
        """Computed minus the exact dot product of the vectors rounded to fp32."""
        return difference(self.value, self.exact)

    @property
    def relative_error(self) -> float:
        """``abs(error) / abs(exact)``; infinite when the exact result is zero and the computed one is not."""
        return relative(self.error, self.exact)

    def __repr__(self) -> str:
        return phrase(
            "dot_product.passed",
            precision=self.precision,
            passes=len(self.passes),
            value=scientific(self.value, digits=9),
            relative=scientific(self.relative_error, digits=3),
        )


def dot_at_precision(a: object, b: object, precision: str = "highest") -> PassedDotProduct:
    """A float32 dot product as JAX's ``precision`` asks of a TPU: ``"default"`` (one bf16 pass), ``"high"`` (3 passes
    over 2 parts) or ``"highest"`` (6 passes over 3 parts).

    Each pass multiplies one part of ``a`` by one of ``b`` and adds every product to the same fp32 accumulator, the
    small parts first. The number of passes is JAX's; which they are and in what order is XLA's for GPU, for the TPU's
    is not public (``precisions`` in the data file). ``ValueError`` as :func:`dot`, and for another precision.
    """
    recipes = document()["precisions"]
    if precision not in recipes:
        raise ValueError(phrase("dot_product.precision", got=repr(precision), known=", ".join(recipes)))
    recipe, fp32 = recipes[precision], float_format("fp32")
    left, right = ([*fitted(name, vector, fp32)] for name, vector in zip("ab", _vectors(a, b), strict=True))
    left_parts = [split(x, recipe["parts"]) for x in left]
    right_parts = [split(y, recipe["parts"]) for y in right]
    products: list[float] = []
    for i, j in recipe["passes"]:
        pairs = [(x[i], y[j]) for x, y in zip(left_parts, right_parts, strict=True)]
        products += fitted("a * b", [x * y for x, y in pairs], fp32)
    history = accumulate_rounded(products, SEQUENTIAL, fp32, fp32, None, nearest_even).history
    exact = sum((Fraction(x) * Fraction(y) for x, y in zip(left, right, strict=True)), Fraction(0))
    return PassedDotProduct(precision, history[len(left) - 1 :: len(left)], exact)


def _vectors(a: object, b: object) -> tuple[list[Number], list[Number]]:
    left, right = finite_numbers("a", a), finite_numbers("b", b)
    if len(left) != len(right):
        raise ValueError(phrase("dot_product.lengths", a=len(left), b=len(right)))
    return left, right
