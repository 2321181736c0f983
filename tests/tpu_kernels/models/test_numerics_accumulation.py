"""Sums by every strategy against numpy's own arithmetic in the same format, addition by addition."""

import math
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_kernels import messages
from tpu_kernels.models import numerics

KINDS: dict[str, Any] = {
    "fp32": np.float32,
    "fp16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "fp8_e5m2": ml_dtypes.float8_e5m2,
    "fp8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "fp64": np.float64,
}
DTYPES = st.sampled_from([*KINDS])
SUMS = st.lists(st.floats(min_value=-3, max_value=3), min_size=1, max_size=40)
WIDE = st.lists(
    st.builds(lambda m, e: m * 2.0**e, st.floats(min_value=-1, max_value=1), st.integers(-30, 6)),
    min_size=1,
    max_size=40,
)
VALUES = st.one_of(SUMS, WIDE)


def in_format(values: list[float], dtype: str) -> list[Any]:
    return [KINDS[dtype](numerics.rounded(value, dtype)) for value in values]


def same(history: tuple[float, ...], oracle: list[Any]) -> None:
    assert [str(value) for value in history] == [str(float(value)) for value in oracle]


@settings(deadline=None)
@given(VALUES, DTYPES)
def test_a_running_sum_is_that_of_numpy(values: list[float], dtype: str) -> None:
    numbers = in_format(values, dtype)
    running = [numbers[0]]
    for number in numbers[1:]:
        running.append(running[-1] + number)
        assert isinstance(running[-1], KINDS[dtype])
    same(numerics.accumulate(values, accumulator=dtype).history, running)


@settings(deadline=None)
@given(VALUES)
def test_bf16_inputs_in_an_fp32_accumulator(values: list[float]) -> None:
    numbers = np.array(in_format(values, "bf16")).astype(np.float32)
    run = numerics.accumulate(values, accumulator="fp32", inputs="bf16")
    same(run.history, list(np.add.accumulate(numbers)))
    assert run.values == tuple(numbers.tolist())


def tree(numbers: list[Any]) -> Any:
    """Pairwise by recursion: the largest power of two below the length on the left."""
    if len(numbers) == 1:
        return numbers[0]
    half = 1 << ((len(numbers) - 1).bit_length() - 1)
    return tree(numbers[:half]) + tree(numbers[half:])


@settings(deadline=None)
@given(VALUES, DTYPES)
def test_pairwise_is_a_tree(values: list[float], dtype: str) -> None:
    numbers = in_format(values, dtype)
    prefixes = [tree(numbers[: length + 1]) for length in range(len(numbers))]
    same(numerics.accumulate(values, "pairwise", accumulator=dtype).history, prefixes)


@settings(deadline=None)
@given(VALUES, DTYPES, st.integers(1, 45))
def test_blocks_add_up_alone_and_then_into_the_accumulator(values: list[float], dtype: str, block: int) -> None:
    numbers = in_format(values, dtype)
    prefixes = []
    for length in range(1, len(numbers) + 1):
        chunks = [numbers[start : min(start + block, length)] for start in range(0, length, block)]
        partials = [sum(chunk[1:], chunk[0]) for chunk in chunks]
        prefixes.append(sum(partials[1:], partials[0]))
    same(numerics.accumulate(values, "blocked", accumulator=dtype, block=block).history, prefixes)


def kahan(numbers: list[Any], zero: Any) -> list[Any]:
    total, lost, history = zero, zero, []
    for number in numbers:
        y = number - lost
        t = total + y
        lost = (t - total) - y
        total = t
        history.append(total)
    return history


def neumaier(numbers: list[Any], zero: Any) -> list[Any]:
    total, lost, history = zero, zero, []
    for number in numbers:
        t = total + number
        lost += (total - t) + number if abs(total) >= abs(number) else (number - t) + total
        total = t
        history.append(total + lost)
    return history


@settings(deadline=None)
@given(VALUES, DTYPES)
def test_kahan_and_neumaier_step_by_step(values: list[float], dtype: str) -> None:
    numbers, zero = in_format(values, dtype), KINDS[dtype](0)
    for strategy, oracle in (("kahan", kahan), ("neumaier", neumaier)):
        same(numerics.accumulate(values, strategy, accumulator=dtype).history, oracle(numbers, zero))


@settings(deadline=None)
@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=30))
def test_exact_in_fp64_is_fsum(values: list[float]) -> None:
    run = numerics.accumulate(values, "exact", accumulator="fp64")
    assert run.history == tuple(math.fsum(values[: length + 1]) for length in range(len(values)))


@settings(deadline=None)
@given(VALUES, st.sampled_from(["fp32", "bf16", "fp16"]))
def test_the_exact_sum_is_rounded_once_and_errors_are_against_it(values: list[float], dtype: str) -> None:
    numbers = [Fraction(float(number)) for number in in_format(values, dtype)]
    for strategy in ("sequential", "pairwise", "kahan", "neumaier", "exact"):
        run = numerics.accumulate(values, strategy, accumulator=dtype)
        assert run.exact == sum(numbers)
        assert run.error == float(Fraction(run.value) - run.exact)
        errors = run.errors()
        assert errors[-1] == run.error
        assert errors[0] == 0
        if run.exact:
            assert run.relative_error == pytest.approx(abs(run.error) / abs(float(run.exact)), rel=1e-12)
    assert run.value == numerics.rounded(sum(numbers), dtype)


# ml_dtypes 0.6.0, README, "Quirks of low-precision Arithmetic" (read 2026-11-30): the sum of 10 000 uniform values is
# 256 in bf16, near 5000 in truth, and 4992 when it is accumulated in float32 and then made bf16.
def test_the_published_sum_that_gets_stuck() -> None:
    values = np.random.default_rng(seed=0).uniform(size=10_000)
    stuck = numerics.accumulate(values, accumulator="bf16")
    assert stuck.value == 256
    assert stuck.history.index(256) < 600  # and there it stays
    assert abs(float(stuck.exact) - 5000) < 50
    wide = numerics.accumulate(values, accumulator="fp32", inputs="bf16")
    assert numerics.rounded(wide.value, "bf16") == 4992
    assert float(np.array(wide.values).astype(ml_dtypes.bfloat16).sum()) == stuck.value
    assert numerics.rounded(256 + 1, "bf16") == 256
    assert numerics.accumulate(values, "pairwise", accumulator="bf16").value == 4992
    unbiased = numerics.accumulate(values, accumulator="bf16", rounding=numerics.stochastic(1))
    assert abs(unbiased.error) < abs(stuck.error) / 4  # chance carries it on where rounding to nearest stands still


def test_the_exact_sum_does_not_pass_through_fp64() -> None:
    values = [1.0, 2.0**-24, 2.0**-80]  # a hair over half a step of fp32, which fp64 cannot see
    assert sum(values) == 1 + 2**-24
    assert numerics.accumulate(values, "exact").value == 1 + 2**-23


def test_neumaier_keeps_what_kahan_loses() -> None:
    values = [1.0, 1e100, 1.0, -1e100]
    assert numerics.accumulate(values, "kahan", accumulator="fp64").value == 0
    assert numerics.accumulate(values, "neumaier", accumulator="fp64").value == 2
    assert numerics.accumulate(values, "sequential", accumulator="fp64").relative_error == 1


def test_an_accumulator_that_overflows_says_so() -> None:
    run = numerics.accumulate([60000, 60000, -60000], accumulator="fp16")
    assert list(run.history) == [60000, math.inf, math.inf]
    assert [run.error, run.relative_error] == [math.inf, math.inf]
    assert run.errors()[0] == 0
    assert math.isnan(numerics.accumulate([60000, 60000, 1], "kahan", accumulator="fp16").error)


def test_a_sum_of_nothing_left_has_no_relative_error_to_speak_of() -> None:
    assert numerics.accumulate([1, -1]).relative_error == 0
    run = numerics.accumulate([256, 1, 1, -258], accumulator="bf16")  # neither 1 is seen
    assert [run.exact, run.value, run.relative_error] == [0, -2, math.inf]
    tiny = numerics.accumulate([1e300, 5e-324, -1e300, 1e285], accumulator="fp64")
    assert tiny.relative_error == 0
    lost = numerics.accumulate([1e300, 1e280, -1e300, -1e280, 5e-324], accumulator="fp64")
    assert lost.relative_error == math.inf  # 10**603, which no float holds


def test_a_sum_says_what_it_is() -> None:
    run = numerics.accumulate([256, 1, 1], accumulator="bf16")
    assert repr(run) == "Suma secuencial de 3 números en bf16: 256 (error −2)"
    messages.use("pt")
    texts = [repr(numerics.accumulate([1], s, block=1 if s == "blocked" else None)) for s in numerics.STRATEGIES]
    assert [text.partition(" de 1 ")[0] for text in texts] == [
        "Soma sequencial",
        "Soma por pares",
        "Soma por blocos",
        "Soma de Kahan",
        "Soma de Neumaier",
        "Soma exata, arredondada no fim",
    ]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: numerics.accumulate([]), "values: secuencia vacía"),
        (lambda: numerics.accumulate(3), "values: se recibió int"),
        (lambda: numerics.accumulate([1, math.nan]), r"values\[1\].*nan.* finito"),
        (lambda: numerics.accumulate([1, True]), r"values\[1\].*True"),
        (lambda: numerics.accumulate([1e6], accumulator="fp16"), r"values\[0\].*se desborda en fp16.*65504"),
        (lambda: numerics.accumulate([500], accumulator="fp8_e4m3fn"), "se desborda en fp8_e4m3fn"),
        (lambda: numerics.accumulate([1], "magic"), "'magic'.*sequential, pairwise"),
        (lambda: numerics.accumulate([1], "blocked"), "block: se recibió None.*blocked"),
        (lambda: numerics.accumulate([1], "blocked", block=0), "block: se recibió 0"),
        (lambda: numerics.accumulate([1], block=4), "block: se recibió 4.*sequential"),
        (lambda: numerics.accumulate([1], accumulator="fp99"), "'fp99'"),
        (lambda: numerics.accumulate([1], accumulator="bf16", inputs="fp32"), "bf16 no puede guardar.* fp32"),
        (lambda: numerics.accumulate([1], accumulator="bf16", inputs="fp16"), "bf16 no puede guardar.* fp16"),
    ],
)
def test_wrong_input_is_refused_with_what_to_do(ask: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ask()
