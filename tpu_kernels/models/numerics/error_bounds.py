"""How wrong a sum in floating point can be: bounds that hold for every input, and one that holds almost always.

All are for rounding to nearest with unit roundoff ``u``, without overflow; gradual underflow harms no sum. They are
computed exactly and rounded up, so that a bound in floats is a bound still.
"""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from tpu_kernels.models.checked_number import finite_number, finite_numbers
from tpu_kernels.models.matrix import whole
from tpu_kernels.models.numerics.accumulation import (
    BLOCKED,
    EXACT,
    KAHAN,
    NEUMAIER,
    PAIRWISE,
    SEQUENTIAL,
    STRATEGIES,
    Accumulation,
    accumulate,
    accumulator_and_inputs,
    exact_sum,
    fitted,
    strategy_name,
)
from tpu_kernels.models.numerics.float_format import FloatFormat
from tpu_kernels.models.numerics.number_formats import float_format
from tpu_kernels.models.numerics.scientific_notation import scientific
from tpu_kernels.models.table import Table, TableCell
from tpu_kernels.phrases import phrase

KAHAN_REACH = Fraction(1, 8)  # of n * u, for the second-order term below to hold


def gamma(n: int, dtype: str | FloatFormat) -> float:
    """``n u / (1 - n u)``: the relative error of ``n`` roundings in a row stays within it, if ``n u < 1``.

    ``ValueError`` when ``n u`` is 1 or more: then it bounds nothing. Source: Higham, "Accuracy and Stability of
    Numerical Algorithms", 2nd ed., lemma 3.1.
    """
    return rounded_up(_gamma(whole("n", n), float_format(dtype)))


def rounding_depth(count: int, strategy: str, *, block: int | None = None) -> int:
    """The most additions that one of ``count`` addends goes through: ``count - 1`` in a running sum,
    ``ceil(log2(count))`` in a tree, ``block - 1`` and one per further block when ``"blocked"``.
    """
    count = whole("count", count)
    if strategy == SEQUENTIAL:
        return count - 1
    if strategy == PAIRWISE:
        return (count - 1).bit_length()
    if strategy == BLOCKED:
        length = min(whole("block", block), count)
        return length - 1 + -(-count // length) - 1
    known = ", ".join((SEQUENTIAL, PAIRWISE, BLOCKED))
    raise ValueError(phrase("accumulation.strategy", got=repr(strategy), known=known))


def error_bound(
    values: object,
    strategy: str = SEQUENTIAL,
    *,
    accumulator: str | FloatFormat = "fp32",
    inputs: str | FloatFormat | None = None,
    block: int | None = None,
) -> float:
    """The most by which :func:`~tpu_kernels.models.numerics.accumulate` can miss the exact sum of the inputs.

    With ``S`` the exact sum and ``T`` that of the absolute values, of the ``n`` values after rounding to ``inputs``:

    - ``"sequential"``: ``(n - 1) u T``, for any ``n`` (Rump, "Error estimation of floating-point summation and dot
      product", BIT 52, 2012);
    - ``"pairwise"``, ``"blocked"``: ``gamma(depth) T`` (Higham, 2nd ed., section 4.2), see :func:`rounding_depth`;
    - ``"kahan"``: ``u |S| + (2 u + 17 n u**2) T`` while ``n u <= 1/8``; Higham, section 4.3, to first order, and
      ``_kahan`` proves the rest;
    - ``"neumaier"``: ``u |S| + gamma(n - 1)**2 T`` (Ogita, Rump and Oishi, "Accurate sum and dot product", SIAM J. Sci.
      Comput. 26, 2005, for their Sum2: the same results);
    - ``"exact"``: ``u |S|``, a single rounding.

    ``ValueError`` where the bound says nothing: ``n u`` too large, or a sum that may overflow.
    """
    chosen, given = accumulator_and_inputs(accumulator, inputs)
    rounded = fitted("values", finite_numbers("values", values), given)
    return sum_bound(rounded, strategy, chosen, block)


def sum_bound(values: Sequence[float], strategy: str, accumulator: FloatFormat, block: int | None = None) -> float:
    """:func:`error_bound` of addends that are numbers of the accumulator's format already."""
    if strategy not in STRATEGIES:
        raise ValueError(phrase("accumulation.strategy", got=repr(strategy), known=", ".join(STRATEGIES)))
    count, u = len(values), Fraction(accumulator.unit_roundoff)
    total, absolute = abs(exact_sum(values)), exact_sum(map(abs, values))
    if strategy == EXACT:
        bound = u * total
    elif strategy == SEQUENTIAL:
        bound = (count - 1) * u * absolute
    elif strategy == KAHAN:
        bound = _kahan(count, accumulator, total, absolute)
    elif strategy == NEUMAIER:
        bound = u * total + _gamma(count - 1, accumulator) ** 2 * absolute
    else:
        bound = _gamma(rounding_depth(count, strategy, block=block), accumulator) * absolute
    # Neumaier's running sum and its correction stay under this, far below what the square of a large gamma says.
    reach = absolute * (1 + count * u) ** 3 if strategy == NEUMAIER else absolute + bound
    if reach > Fraction(accumulator.max):
        raise ValueError(
            phrase("error_bounds.overflow", got=scientific(absolute), dtype=accumulator.name, max=repr(accumulator.max))
        )
    return rounded_up(bound)


def probabilistic_bound(
    values: object,
    failure: float = 0.05,
    *,
    accumulator: str | FloatFormat = "fp32",
    inputs: str | FloatFormat | None = None,
    stochastic: bool = False,
) -> float:
    """What the error of a sequential sum exceeds with a probability of at most ``failure`` (above 0, under 1).

    ``u sqrt(2 ln(2 / failure)) sqrt(sum of c[k]**2)``, where ``c[k] = (1 + u)**(k - 2)`` times the sum of the first
    ``k`` absolute values, from ``k = 2``: it grows as ``sqrt(n)`` where :func:`error_bound` grows as ``n``. The error
    after each addition is a martingale if the roundings have mean zero given those before; its steps are at most
    ``u c[k]``, and Azuma's inequality does the rest (Ipsen and Zhou, "Probabilistic error analysis for inner
    products", arXiv:1906.10465). Rounding to nearest is only modelled so; stochastic rounding is so, with twice the
    ``u`` (Connolly, Higham and Mary, SIAM J. Sci. Comput. 43, 2021): ``stochastic=True``.
    """
    chosen, given = accumulator_and_inputs(accumulator, inputs)
    chance = finite_number("failure", failure)
    if not 0 < chance < 1:
        raise ValueError(phrase("error_bounds.failure", got=repr(failure)))
    u = Fraction(chosen.unit_roundoff) * (2 if stochastic else 1)
    rounded = fitted("values", finite_numbers("values", values), given)
    # Every operation on floats below is off by 2**-52 or less, and there are a few per addend.
    slack = 1 + (8 * len(rounded) + 16) * 2.0**-52
    squares = sum(step * step for step in _steps(rounded, float(u)))
    return float(u) * math.sqrt(2 * math.log(2 / float(chance)) * squares) * slack


def accumulation_table(
    values: object,
    strategies: Sequence[str] = (SEQUENTIAL, PAIRWISE, KAHAN, NEUMAIER, EXACT),
    *,
    accumulator: str | FloatFormat = "fp32",
    inputs: str | FloatFormat | None = None,
    block: int | None = None,
) -> Table:
    """The same sum by several strategies: result, error and error bound, in the language in force.

    ``block`` is for ``"blocked"``. A bound that says nothing is left out, with a word.
    """
    numbers = finite_numbers("values", values)
    runs = []
    for strategy in strategies:
        width = block if strategy == BLOCKED else None
        runs.append(accumulate(numbers, strategy, accumulator=accumulator, inputs=inputs, block=width))
    headings = [
        phrase("accumulation.heading"),
        phrase("accumulation.result"),
        phrase("accumulation.error"),
        phrase("accumulation.bound"),
    ]
    caption = phrase("accumulation.caption", count=len(numbers), dtype=float_format(accumulator).name)
    return Table(caption, headings, [_row(run) for run in runs])


def rounded_up(bound: Fraction) -> float:
    """The least float that is not under ``bound``."""
    nearest = float(bound)
    return nearest if Fraction(nearest) >= bound else math.nextafter(nearest, math.inf)


def _row(run: Accumulation) -> list[TableCell]:
    try:
        bound = scientific(sum_bound(run.values, run.strategy, run.accumulator, run.block), digits=3)
    except ValueError:
        bound = phrase("error_bounds.nothing")
    texts = (scientific(run.value, digits=9), scientific(run.error, digits=3), bound)
    return [TableCell(strategy_name(run.strategy)), *(TableCell(text, numeric=True) for text in texts)]


def _gamma(n: int, dtype: FloatFormat) -> Fraction:
    product = n * Fraction(dtype.unit_roundoff)
    if product >= 1:
        raise ValueError(phrase("error_bounds.too_many", got=n, dtype=dtype.name, most=_most(dtype, Fraction(1)) - 1))
    return product / (1 - product)


def _most(dtype: FloatFormat, reach: Fraction) -> int:
    return int(reach / Fraction(dtype.unit_roundoff))


def _kahan(n: int, dtype: FloatFormat, total: Fraction, absolute: Fraction) -> Fraction:
    """A bound without a big O, for rounding to nearest in binary.

    One step is ``y = fl(x - c)``, ``s' = fl(s + y)``, ``c' = fl(fl(s' - s) - y)``. Let ``A`` be the rounding error of
    ``s + y`` and ``E`` that of ``s - c``, as an estimate of the exact sum, before the step.
    If ``|s| >= |y|``, ``c'`` is ``A`` exactly (Dekker), so ``E`` grows by at most ``u |x - c|``. If not, ``|A|`` is at
    most ``2 u |y|`` and ``c'`` misses it by ``u (1 + u) (|y| + |A|) + u |A|`` at most, so ``E`` grows by at most
    ``(2 u + 7 u**2) |x - c|``. Either way ``|c'| <= 3 u (1 + u) max|s|``.
    The last step gives ``|s' - S| <= |E| + u |x - c| + u |s'|``, hence
    ``(1 - u) |s' - S| <= (2 u + 7 u**2) (T + sum|c|) + u |S|``. With ``n u <= 1/8`` and ``n >= 2`` every ``|s|`` is at
    most ``1.32 T``, so ``sum|c| <= 4.2 n u T``, and what is of second order adds up to under ``17 n u**2 T``.
    """
    u = Fraction(dtype.unit_roundoff)
    if n == 1:
        return Fraction(0)
    if n * u > KAHAN_REACH:
        raise ValueError(phrase("error_bounds.too_many", got=n, dtype=dtype.name, most=_most(dtype, KAHAN_REACH)))
    return u * total + (2 * u + 17 * n * u * u) * absolute


def _steps(values: Sequence[float], u: float) -> Iterator[float]:
    absolute, growth = abs(values[0]), 1.0
    for value in values[1:]:
        absolute += abs(value)
        yield absolute * growth
        growth *= 1 + u
