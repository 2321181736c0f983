"""Error bounds: never exceeded whatever the sequence, and near enough to what can happen to be worth stating."""

import math
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tpu_kernels import messages
from tpu_kernels.models import numerics
from tpu_kernels.models.numerics.error_bounds import rounded_up

STRATEGIES = ["sequential", "pairwise", "blocked", "kahan", "neumaier", "exact"]


def longest(strategy: str, dtype: str) -> int:
    """How many addends the bound of a strategy still covers, 43 at most."""
    within = int(1 / numerics.float_format(dtype).unit_roundoff)
    return min(43, {"kahan": within // 8, "neumaier": within, "blocked": within}.get(strategy, 43))


@st.composite
def sequences(draw: Callable[..., Any], dtype: str, most: int = 43) -> list[float]:
    """Numbers of the format: few exponents, so that sums cancel and ties abound, or many, or one with a twin."""
    chosen = numerics.float_format(dtype)
    spread = draw(st.sampled_from([0, 2, chosen.fraction_bits, 3 * chosen.fraction_bits]))
    low = max(-spread, chosen.min_exponent)
    fraction = st.integers(0, chosen.fraction_mask)
    number = st.builds(
        lambda sign, steps, exponent: sign * (1 + steps * chosen.epsilon) * 2.0**exponent,
        st.sampled_from([-1, 1]) if draw(st.booleans()) else st.just(1),
        st.one_of(st.sampled_from([0, 1, chosen.fraction_mask]), fraction),
        st.integers(low, 0),
    )
    values = draw(st.lists(number, min_size=1, max_size=most))
    twins = [-value for value in values[: draw(st.integers(0, 3))]]
    return [chosen.rounded(value) for value in (*values, *twins)][-most:]


@pytest.mark.parametrize("dtype", ["fp8_e4m3fn", "fp8_e5m2", "bf16", "fp16", "tf32", "fp32", "fp64"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_no_sequence_exceeds_the_bound(strategy: str, dtype: str) -> None:
    @settings(deadline=None, max_examples=100)
    @given(sequences(dtype, longest(strategy, dtype)), st.integers(1, 16))
    def check(values: list[float], width: int) -> None:
        block = width if strategy == "blocked" else None
        bound = numerics.error_bound(values, strategy, accumulator=dtype, block=block)
        run = numerics.accumulate(values, strategy, accumulator=dtype, block=block)
        assert abs(Fraction(run.value) - run.exact) <= Fraction(bound)

    check()


@settings(deadline=None)
@given(sequences("bf16"))
def test_an_fp32_accumulator_is_held_to_the_bound_of_fp32(values: list[float]) -> None:
    run = numerics.accumulate(values, accumulator="fp32", inputs="bf16")
    assert abs(run.error) <= numerics.error_bound(values, accumulator="fp32", inputs="bf16")


@pytest.mark.parametrize("dtype", ["bf16", "fp16", "fp32"])
def test_the_sequential_bound_is_reached(dtype: str) -> None:
    u = numerics.float_format(dtype).unit_roundoff
    for count in (2, 5, 40):
        values = [1.0] + [u] * (count - 1)  # each is half a step of 1, and the tie goes back to 1
        run = numerics.accumulate(values, accumulator=dtype)
        assert run.value == 1
        bound = numerics.error_bound(values, accumulator=dtype)
        assert abs(run.error) <= bound <= abs(run.error) * (1 + count * u) * (1 + 1e-12)


@pytest.mark.parametrize(("strategy", "least"), [("pairwise", 0.2), ("kahan", 0.3), ("neumaier", 0.3), ("exact", 0.45)])
def test_the_other_bounds_are_not_far_from_what_happens(strategy: str, least: float) -> None:
    # Seeded search in bf16 among short sequences: a bound several times too large could not be told from none.
    generator, worst = random.Random(6), 0.0
    for _ in range(4000):
        values = [generator.choice((1, 1, 1, -1)) * generator.uniform(1, 2) for _ in range(generator.choice((2, 3, 4)))]
        run = numerics.accumulate(values, strategy, accumulator="bf16")
        bound = numerics.error_bound(values, strategy, accumulator="bf16")
        worst = max(worst, abs(run.error) / bound if bound else 0)
    assert least < worst <= 1


@pytest.mark.parametrize("strategy", ["sequential", "pairwise", "blocked"])
@pytest.mark.parametrize("block", [1, 3, 8, 100])
def test_the_depth_is_the_most_additions_that_an_addend_meets(strategy: str, block: int) -> None:
    class Counted(float):
        """A number that knows how many additions it went through at most."""

        depth = 0

    def add(one: float, other: float) -> float:
        total = Counted(0)
        total.depth = 1 + max(getattr(one, "depth", 0), getattr(other, "depth", 0))
        return total

    from tpu_kernels.models.numerics.accumulation import _blocked, _pairwise, _sequential

    for count in range(1, 40):
        addends = [Counted(1) for _ in range(count)]
        if strategy == "blocked":
            *_, last = _blocked(addends, add, block)
        else:
            *_, last = {"sequential": _sequential, "pairwise": _pairwise}[strategy](addends, add)
        width = block if strategy == "blocked" else None
        assert getattr(last, "depth", 0) == numerics.rounding_depth(count, strategy, block=width)


def test_gamma_of_higham() -> None:
    u = Fraction(1, 2**24)
    for n in (1, 10, 1000, 2**24 - 1):
        exact = n * u / (1 - n * u)
        assert Fraction(numerics.gamma(n, "fp32")) >= exact
        assert numerics.gamma(n, "fp32") == pytest.approx(float(exact), rel=1e-15)
    assert numerics.gamma(128, "bf16") == 1  # half of it: 128 / 256
    with pytest.raises(ValueError, match=r"Con 256 sumandos en bf16 .* vale para 255"):
        numerics.gamma(256, "bf16")
    for wrong in (0, -1, 1.5, True, None):
        with pytest.raises(ValueError, match="n: se recibió"):
            numerics.gamma(wrong, "fp32")  # type: ignore[arg-type]


@given(st.fractions(min_value=0, max_value=10**30))
def test_bounds_are_rounded_up(bound: Fraction) -> None:
    assert Fraction(rounded_up(bound)) >= bound
    assert Fraction(math.nextafter(rounded_up(bound), 0)) < bound or bound == 0


def test_better_strategies_promise_more() -> None:
    values = [1.0] * 1000
    bounds = {s: numerics.error_bound(values, s, block=32 if s == "blocked" else None) for s in STRATEGIES}
    assert sorted(bounds, key=lambda s: bounds[s], reverse=True) == [
        "sequential",
        "blocked",
        "pairwise",
        "kahan",
        "neumaier",
        "exact",
    ]


@settings(deadline=None)
@given(sequences("fp16"), st.floats(0.001, 0.5), st.floats(0.001, 0.5))
def test_more_certainty_costs_a_larger_bound(values: list[float], one: float, other: float) -> None:
    one, other = min(one, other), max(one, other)
    assert numerics.probabilistic_bound(values, one) >= numerics.probabilistic_bound(values, other)
    ratio = math.sqrt(math.log(2 / one) / math.log(2 / other))
    loose, tight = (numerics.probabilistic_bound(values, failure) for failure in (one, other))
    assert loose == pytest.approx(tight * ratio)


def test_stochastic_rounding_exceeds_its_bound_no_more_often_than_stated() -> None:
    generator = random.Random(12)
    values = [numerics.rounded(generator.uniform(0, 1), "bf16") for _ in range(60)]
    errors = []
    for seed in range(600):
        run = numerics.accumulate(values, accumulator="bf16", rounding=numerics.stochastic(seed))
        errors.append(run.error)
    for failure in (0.5, 0.2, 0.05):
        bound = numerics.probabilistic_bound(values, failure, accumulator="bf16", stochastic=True)
        assert sum(abs(error) > bound for error in errors) / len(errors) <= failure
    spread = math.sqrt(sum(error**2 for error in errors) / len(errors))
    assert abs(sum(errors) / len(errors)) < 4 * spread / math.sqrt(len(errors))  # unbiased
    assert bound < 16 * spread  # and the bound is not idle


def test_it_grows_as_the_square_root_and_the_certain_one_as_the_count() -> None:
    def ratio(count: int) -> float:
        values = [1.0] * count
        return numerics.error_bound(values) / numerics.probabilistic_bound(values)

    assert ratio(10_000) == pytest.approx(10 * ratio(100), rel=0.02)
    assert numerics.probabilistic_bound([5.0]) == 0  # no addition, no error


def test_random_data_keeps_within_the_probabilistic_bound() -> None:
    # The model of random roundings is only a model for rounding to nearest; on such data it holds.
    generator, beyond = random.Random(9), 0
    for _ in range(100):
        values = [generator.gauss(0, 1) for _ in range(200)]
        run = numerics.accumulate(values, accumulator="bf16")
        beyond += abs(run.error) > numerics.probabilistic_bound(values, 0.05, accumulator="bf16")
    assert beyond <= 5
    stuck = [256.0] + [1.0] * 255  # and here it does not: every rounding goes the same way
    run = numerics.accumulate(stuck, accumulator="bf16")
    assert abs(run.error) > numerics.probabilistic_bound(stuck, 0.05, accumulator="bf16")
    assert abs(run.error) <= numerics.error_bound(stuck, accumulator="bf16")


def test_the_table_of_strategies() -> None:
    values = [256.0] + [1.0] * 63
    table = numerics.accumulation_table(values, accumulator="bf16")
    assert [row[0].text for row in table.rows] == [
        "secuencial",
        "por pares",
        "de Kahan",
        "de Neumaier",
        "exacta, redondeada al final",
    ]
    assert [row[1].text for row in table.rows] == ["256", "318", "320", "320", "320"]
    assert [row[2].text for row in table.rows] == ["−63", "−1", "1", "1", "1"]  # 319 is a tie in bf16
    assert table.rows[2][3].text == "no dice nada"  # 64 u is over an eighth
    messages.use("pt")
    named = numerics.accumulation_table(values, ["blocked"], accumulator="bf16", block=16)
    assert named.caption == "A soma de 64 números com acumulador bf16, segundo a estratégia"
    assert named.headings == ("Soma", "Resultado", "Erro", "Limite do erro")


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: numerics.error_bound([]), "values: secuencia vacía"),
        (lambda: numerics.error_bound([1.0], "magic"), "'magic'"),
        (lambda: numerics.error_bound([1.0], "blocked"), "block: se recibió None"),
        (lambda: numerics.error_bound([60000.0, 60000.0], accumulator="fp16"), "fp16 es 65504.* podría desbordarse"),
        (lambda: numerics.error_bound([1.0] * 33, "kahan", accumulator="bf16"), "33 sumandos.* vale para 32"),
        (lambda: numerics.error_bound([1.0] * 300, "neumaier", accumulator="bf16"), "299 sumandos.* vale para 255"),
        (lambda: numerics.error_bound([1.0], accumulator="bf16", inputs="fp32"), "bf16 no puede guardar"),
        (lambda: numerics.probabilistic_bound([1.0], accumulator="bf16", inputs="fp32"), "bf16 no puede guardar"),
        (lambda: numerics.rounding_depth(4, "kahan"), "'kahan'.*sequential, pairwise, blocked"),
        (lambda: numerics.rounding_depth(0, "pairwise"), "count: se recibió 0"),
        (lambda: numerics.probabilistic_bound([1.0], 0), "failure: se recibió 0"),
        (lambda: numerics.probabilistic_bound([1.0], 1.0), "failure: se recibió 1.0"),
        (lambda: numerics.probabilistic_bound([1.0], math.nan), "failure: se recibió nan"),
        (lambda: numerics.probabilistic_bound([math.inf]), r"values\[0\].*finito"),
    ],
)
def test_wrong_input_is_refused_with_what_to_do(ask: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ask()


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=2, max_size=30), st.floats(0.01, 100))
def test_bounds_scale_with_the_values(values: list[float], factor: float) -> None:
    power = 2.0 ** round(math.log2(factor))
    assume(all(value == 0 or value > 1e-20 for value in values))
    for strategy in ("sequential", "pairwise", "kahan", "neumaier", "exact"):
        scaled = numerics.error_bound([value * power for value in values], strategy)
        assert scaled == pytest.approx(numerics.error_bound(values, strategy) * power)
