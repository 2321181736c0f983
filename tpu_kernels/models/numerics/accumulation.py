"""Adding up a sequence in a format, by several strategies, with the value after each addend.

Every addition and subtraction is rounded once to the accumulator's format. Python computes it in fp64 first, which
changes nothing: both operands are numbers of the format, and 53 bits are at least twice its precision plus two
(Figueroa, "When is double rounding innocuous?", SIGNUM Newsletter 30(3), 1995). fp64 itself needs no second rounding.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from tpu_kernels.models.checked_number import finite_numbers
from tpu_kernels.models.matrix import whole
from tpu_kernels.models.numerals import Number
from tpu_kernels.models.numerics.float_format import FloatFormat
from tpu_kernels.models.numerics.number_formats import float_format
from tpu_kernels.models.numerics.rounding import Rounding, nearest_even
from tpu_kernels.models.numerics.scientific_notation import scientific
from tpu_kernels.phrases import phrase

SEQUENTIAL = "sequential"
PAIRWISE = "pairwise"
BLOCKED = "blocked"
KAHAN = "kahan"
NEUMAIER = "neumaier"
EXACT = "exact"
STRATEGIES = (SEQUENTIAL, PAIRWISE, BLOCKED, KAHAN, NEUMAIER, EXACT)

Add: TypeAlias = Callable[[float, float], float]


class Accumulation(NamedTuple):
    """A sum as a strategy computes it. ``history[i]`` is its result for the first ``i + 1`` of ``values``.

    ``values`` are the addends after rounding to ``inputs``; ``exact`` is their exact sum, so errors here come from the
    additions alone.
    """

    strategy: str
    accumulator: FloatFormat
    inputs: FloatFormat
    block: int | None
    values: tuple[float, ...]
    history: tuple[float, ...]
    exact: Fraction

    @property
    def value(self) -> float:
        """The computed sum."""
        return self.history[-1]

    @property
    def error(self) -> float:
        """Computed minus exact, to the nearest float; infinite or NaN when the accumulator overflowed."""
        return difference(self.value, self.exact)

    @property
    def relative_error(self) -> float:
        """``abs(error) / abs(exact)``; infinite when the exact sum is zero and the computed one is not."""
        return relative(self.error, self.exact)

    def errors(self) -> list[float]:
        """The error of each entry of ``history`` against the exact sum of as many addends."""
        return [difference(run, exact) for run, exact in zip(self.history, prefix_sums(self.values), strict=True)]

    def __repr__(self) -> str:
        return phrase(
            "accumulation.summary",
            strategy=strategy_name(self.strategy),
            count=len(self.values),
            dtype=self.accumulator.name,
            value=scientific(self.value, digits=9),
            error=scientific(self.error, digits=3),
        )


def accumulate(
    values: object,
    strategy: str = SEQUENTIAL,
    *,
    accumulator: str | FloatFormat = "fp32",
    inputs: str | FloatFormat | None = None,
    block: int | None = None,
    rounding: Rounding = nearest_even,
) -> Accumulation:
    """The sum of finite ``values``, first rounded to ``inputs`` (default: the accumulator's format).

    ``strategy``: ``"sequential"`` (one running sum), ``"pairwise"`` (a binary tree), ``"blocked"`` (``block`` addends
    at a time down the column of a matrix unit, then one addition to the accumulator), ``"kahan"``, ``"neumaier"``
    (both carry what each addition loses) or ``"exact"`` (one rounding, at the end). A tree needs ``len(values) - 1``
    additions; its history about ``log2`` times as many.
    ``rounding`` is that of the additions, as ``stochastic(seed)``; the inputs are rounded to nearest.
    ``ValueError`` for an empty sequence, for an addend that overflows ``inputs``, and for an accumulator that does not
    hold every number of ``inputs``. Sources: Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed.,
    chapter 4; Neumaier, ZAMM 54 (1974).
    """
    wide, given = accumulator_and_inputs(accumulator, inputs)
    rounded = fitted("values", finite_numbers("values", values), given)
    return accumulate_rounded(rounded, strategy, wide, given, block, rounding)


def accumulator_and_inputs(
    accumulator: str | FloatFormat, inputs: str | FloatFormat | None
) -> tuple[FloatFormat, FloatFormat]:
    """Both formats, the inputs' that of the accumulator by default; ``ValueError`` if it does not hold them all."""
    wide = float_format(accumulator)
    given = wide if inputs is None else float_format(inputs)
    if not wide.holds_all_of(given):
        raise ValueError(phrase("accumulation.narrow", accumulator=wide.name, inputs=given.name))
    return wide, given


def accumulate_rounded(
    values: Sequence[float],
    strategy: str,
    accumulator: FloatFormat,
    inputs: FloatFormat,
    block: int | None,
    rounding: Rounding,
) -> Accumulation:
    """:func:`accumulate` of numbers that are in ``inputs`` already; only the strategy and the block are checked."""
    if strategy not in STRATEGIES:
        raise ValueError(phrase("accumulation.strategy", got=repr(strategy), known=", ".join(STRATEGIES)))
    if (strategy == BLOCKED) != (block is not None):
        raise ValueError(phrase("accumulation.block", strategy=strategy, got=repr(block)))

    def add(one: float, other: float) -> float:
        return accumulator.rounded(one + other, rounding=rounding)

    if strategy == EXACT:
        history = tuple(accumulator.rounded(total, rounding=rounding) for total in prefix_sums(values))
    elif strategy == BLOCKED:
        block = whole("block", block)
        history = tuple(_blocked(values, add, block))
    else:
        history = tuple(_RUNNING[strategy](values, add))
    return Accumulation(strategy, accumulator, inputs, block, tuple(values), history, exact_sum(values))


def fitted(name: str, values: Iterable[Number], dtype: FloatFormat) -> list[float]:
    """Each number rounded to ``dtype``; ``ValueError`` for one that overflows there."""
    rounded = []
    for place, value in enumerate(values):
        rounded.append(dtype.rounded(value))
        if not math.isfinite(rounded[-1]):
            got = scientific(value)
            raise ValueError(
                phrase("accumulation.overflow", name=f"{name}[{place}]", got=got, dtype=dtype.name, max=repr(dtype.max))
            )
    return rounded


def exact_sum(values: Iterable[float]) -> Fraction:
    """The sum of finite floats without any rounding."""
    return sum(map(Fraction, values), Fraction(0))


def prefix_sums(values: Iterable[float]) -> Iterator[Fraction]:
    """The exact sum after each value."""
    total = Fraction(0)
    for value in values:
        total += Fraction(value)
        yield total


def difference(computed: float, exact: Fraction) -> float:
    """``computed - exact`` to the nearest float; infinities and NaN stay."""
    return float(Fraction(computed) - exact) if math.isfinite(computed) else computed


def relative(error: float, exact: Fraction) -> float:
    """``abs(error / exact)``, infinite when only ``exact`` is zero."""
    if exact == 0:
        return 0.0 if error == 0 else math.inf
    # Rounded as a format would, because float() of a ratio out of range raises.
    return float_format("fp64").rounded(abs(Fraction(error) / exact)) if math.isfinite(error) else abs(error)


def strategy_name(strategy: str) -> str:
    """The strategy in the language in force."""
    if strategy == SEQUENTIAL:
        return phrase("accumulation.sequential")
    if strategy == PAIRWISE:
        return phrase("accumulation.pairwise")
    if strategy == BLOCKED:
        return phrase("accumulation.blocked")
    if strategy == KAHAN:
        return phrase("accumulation.kahan")
    return phrase("accumulation.neumaier") if strategy == NEUMAIER else phrase("accumulation.exact")


def _sequential(values: Iterable[float], add: Add) -> Iterator[float]:
    total: float | None = None
    for value in values:
        total = value if total is None else add(total, value)
        yield total


def _pairwise(values: Iterable[float], add: Add) -> Iterator[float]:
    # The sums of blocks of 2**level addends that are complete, largest first: a binary counter.
    complete: list[tuple[int, float]] = []
    for value in values:
        level, total = 0, value
        while complete and complete[-1][0] == level:
            total = add(complete.pop()[1], total)
            level += 1
        complete.append((level, total))
        for _, larger in reversed(complete[:-1]):
            total = add(larger, total)
        yield total


def _blocked(values: Iterable[float], add: Add, block: int) -> Iterator[float]:
    accumulator: float | None = None
    partial = total = 0.0
    for place, value in enumerate(values):
        if place % block == 0:
            accumulator = total if place else None
            partial = value
        else:
            partial = add(partial, value)
        total = partial if accumulator is None else add(accumulator, partial)
        yield total


def _kahan(values: Iterable[float], add: Add) -> Iterator[float]:
    total = lost = 0.0
    for value in values:
        addend = add(value, -lost)
        grown = add(total, addend)
        lost = add(add(grown, -total), -addend)
        total = grown
        yield total


def _neumaier(values: Iterable[float], add: Add) -> Iterator[float]:
    total = lost = 0.0
    for value in values:
        grown = add(total, value)
        larger, smaller = (total, value) if abs(total) >= abs(value) else (value, total)
        lost = add(lost, add(add(larger, -grown), smaller))
        total = grown
        yield add(total, lost)


_RUNNING: dict[str, Callable[[Iterable[float], Add], Iterator[float]]] = {
    SEQUENTIAL: _sequential,
    PAIRWISE: _pairwise,
    KAHAN: _kahan,
    NEUMAIER: _neumaier,
}
