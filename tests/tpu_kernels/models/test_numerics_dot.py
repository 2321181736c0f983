"""Dot products as a matrix unit computes them, and float32 ones out of bf16 passes, against numpy in those formats."""

import math
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_kernels.models import numerics

PAIRS = st.lists(st.tuples(st.floats(-8, 8), st.floats(-8, 8)), min_size=1, max_size=24)
FP32 = st.floats(min_value=-(2.0**100), max_value=2.0**100, width=32)


def random_vectors(length: int, seed: int = 4) -> tuple[list[float], list[float]]:
    generator = np.random.default_rng(seed)
    a, b = generator.normal(size=(2, length)).astype(np.float32).astype(np.float64)
    return a.tolist(), b.tolist()


def products_added_up(a: Any, b: Any) -> Any:
    """fp32 products added in order in fp32, as numpy rounds them."""
    return np.add.accumulate(a.astype(np.float32) * b.astype(np.float32))


@settings(deadline=None)
@given(PAIRS, st.sampled_from(["bf16", "fp16", "fp8_e4m3fn", "fp8_e5m2"]))
def test_narrow_inputs_in_an_fp32_accumulator(pairs: list[tuple[float, float]], dtype: str) -> None:
    kinds: dict[str, Any] = {
        "bf16": ml_dtypes.bfloat16,
        "fp16": np.float16,
        "fp8_e4m3fn": ml_dtypes.float8_e4m3fn,
        "fp8_e5m2": ml_dtypes.float8_e5m2,
    }
    a, b = map(list, zip(*pairs, strict=True))
    left, right = (np.array([numerics.rounded(x, dtype) for x in vector]).astype(kinds[dtype]) for vector in (a, b))
    found = numerics.dot(a, b, inputs=dtype)
    assert found.sum.history == tuple(products_added_up(left, right).tolist())
    exact = sum(Fraction(x) * Fraction(y) for x, y in pairs)
    assert found.exact == exact
    assert found.error == float(Fraction(found.value) - exact)
    parts = found.input_error + found.product_error + found.sum.error
    assert found.error == pytest.approx(parts, abs=1e-12)


def test_products_of_bf16_are_exact_in_fp32_and_those_of_fp32_are_not() -> None:
    a, b = random_vectors(256)
    assert numerics.dot(a, b).product_error == 0
    assert numerics.dot(a, b).input_error != 0
    narrow = numerics.dot(a, b, inputs="fp32")
    assert narrow.product_error != 0
    assert narrow.input_error == 0
    assert narrow.error == pytest.approx(narrow.product_error + narrow.sum.error, rel=1e-9)
    rounded = sum(Fraction(float(np.float32(x) * np.float32(y))) for x, y in zip(a, b, strict=True))
    assert narrow.product_error == float(rounded - narrow.exact)
    assert abs(narrow.error) < abs(numerics.dot(a, b).error) / 1000


def test_every_strategy_adds_the_same_products() -> None:
    a, b = random_vectors(200)
    products = numerics.dot(a, b).sum.values
    for strategy in numerics.STRATEGIES:
        block = 128 if strategy == "blocked" else None
        found = numerics.dot(a, b, strategy=strategy, block=block)
        assert found.value == numerics.accumulate(products, strategy, block=block).value
        assert abs(found.sum.error) <= numerics.sum_bound(found.sum.values, strategy, found.sum.accumulator, block)


def test_a_bf16_accumulator_loses_more() -> None:
    a, b = [abs(x) for x in random_vectors(512)[0]], [1.0] * 512
    wide, narrow = numerics.dot(a, b), numerics.dot(a, b, accumulator="bf16")
    assert narrow.relative_error > 100 * wide.relative_error


@settings(deadline=None)
@given(FP32)
def test_three_parts_give_a_float32_back(value: float) -> None:
    high, middle, low = numerics.split(value)
    bf16 = numerics.float_format("bf16")
    assert all(map(bf16.contains, (high, middle, low)))
    if value == 0 or abs(value) >= 2.0 ** (-133 + 23):
        assert Fraction(high) + Fraction(middle) + Fraction(low) == Fraction(value)
    else:  # bits under the least bf16 are rounded off
        assert abs(Fraction(high) + Fraction(middle) + Fraction(low) - Fraction(value)) <= Fraction(2) ** -134
    assert abs(Fraction(middle)) < abs(Fraction(high)) / 2**7 or middle == 0 or high == 0
    assert high == numerics.rounded(value, "bf16", rounding=numerics.toward_zero)


@settings(deadline=None)
@given(FP32.filter(lambda value: abs(value) > 1e-30))
def test_each_part_more_takes_eight_bits_of_the_error(value: float) -> None:
    for parts, bits in ((1, 9), (2, 17), (3, 24)):
        left = abs(sum(map(Fraction, numerics.split(value, parts))) - Fraction(value))
        assert left <= abs(Fraction(value)) / 2 ** (bits - 1)
    assert numerics.split(value, 1) == (numerics.rounded(value, "bf16"),)


def parts_by_bits(vector: list[float], parts: int) -> list[Any]:
    """The split of XLA's emitter, with a mask on the uint32 and casts of numpy."""
    rest = np.array(vector, dtype=np.float32)
    found = []
    for _ in range(parts - 1):
        found.append((rest.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32))
        rest = rest - found[-1]
    return [*found, rest.astype(ml_dtypes.bfloat16).astype(np.float32)]


# XLA: Emit3xBfloat16MatMul and Emit6xBfloat16MatMul, the order of their dots (read 2026-11-30); 0 is the high part.
XLA_PASSES = {
    "default": (1, [(0, 0)]),
    "high": (2, [(1, 0), (0, 1), (0, 0)]),
    "highest": (3, [(1, 1), (2, 0), (0, 2), (1, 0), (0, 1), (0, 0)]),
}


@pytest.mark.parametrize("precision", XLA_PASSES)
def test_the_passes_are_those_of_xla(precision: str) -> None:
    a, b = random_vectors(37)
    parts, order = XLA_PASSES[precision]
    left, right = parts_by_bits(a, parts), parts_by_bits(b, parts)
    accumulator, after = np.float32(0), []
    for i, j in order:
        for x, y in zip(left[i], right[j], strict=True):
            accumulator = accumulator + x * y
        after.append(float(accumulator))
    found = numerics.dot_at_precision(a, b, precision)
    assert found.passes == tuple(after)
    assert found.exact == sum(Fraction(x) * Fraction(y) for x, y in zip(a, b, strict=True))


def test_default_is_a_single_bf16_product() -> None:
    a, b = random_vectors(64)
    assert numerics.dot_at_precision(a, b, "default").value == numerics.dot(a, b).value


def test_more_passes_come_nearer_and_six_are_as_good_as_fp32() -> None:
    errors: dict[str, list[float]] = {"default": [], "high": [], "highest": [], "fp32": []}
    for seed in range(12):
        a, b = ([abs(x) + 0.1 for x in vector] for vector in random_vectors(64, seed))
        for precision in ("default", "high", "highest"):
            errors[precision].append(numerics.dot_at_precision(a, b, precision).relative_error)
        errors["fp32"].append(numerics.dot(a, b, inputs="fp32").relative_error)
    mean = {name: sum(found) / len(found) for name, found in errors.items()}
    assert mean["default"] > 20 * mean["high"]
    assert mean["high"] > 2 * mean["highest"]
    assert mean["highest"] < 3 * mean["fp32"]
    # Bounds in units of the format: two significands of 8 bits, then of 16, then of 24.
    assert max(errors["default"]) < 2 * 2**-8
    assert max(errors["high"]) < 2**-14
    assert max(errors["highest"]) < 2**-20


def test_results_say_what_they_are() -> None:
    assert repr(numerics.dot([1, 2], [3, 4])) == (
        "Producto escalar de 2 términos con acumulador fp32: 11 (error 0, relativo 0)"
    )
    assert repr(numerics.dot_at_precision([1], [2], "high")) == (
        "Producto escalar float32 con precisión high (pasadas en bf16: 3): 2 (error relativo 0)"
    )
    assert numerics.dot([1, 1], [1, -1]).relative_error == 0
    assert numerics.dot([257, -256], [1, 1], accumulator="bf16").relative_error == 1
    assert numerics.dot([257, -257], [1, 1]).relative_error == 0
    assert numerics.dot([256, 1, -257], [1, 1, 1]).relative_error == math.inf  # 257 is 256 in bf16


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: numerics.dot([1], [1, 2]), "a tiene 1 elementos y b tiene 2"),
        (lambda: numerics.dot([], []), "a: secuencia vacía"),
        (lambda: numerics.dot([1], ["x"]), r"b\[0\]: se recibió 'x'"),
        (lambda: numerics.dot([1], [math.inf]), r"b\[0\].*finito"),
        (lambda: numerics.dot([1e39], [1]), r"a\[0\].*se desborda en bf16"),
        (lambda: numerics.dot([1e30], [1e30]), r"a \* b\[0\].*se desborda en fp32"),
        (lambda: numerics.dot([1], [1], inputs="fp32", accumulator="bf16"), "bf16 no puede guardar"),
        (lambda: numerics.dot([1], [1], strategy="magic"), "'magic'"),
        (lambda: numerics.dot([1], [1], inputs="int8"), "'int8'"),
        (lambda: numerics.dot_at_precision([1], [1], "extreme"), "'extreme'.*default, high, highest"),
        (lambda: numerics.dot_at_precision([1], [1, 1]), "a tiene 1 elementos y b tiene 2"),
        (lambda: numerics.dot_at_precision([1e39], [1]), r"a\[0\].*se desborda en fp32"),
        (lambda: numerics.split(1.0, 4), "parts: se recibió 4 y se esperaba de 1 a 3"),
        (lambda: numerics.split(1.0, 0), "parts: se recibió 0"),
        (lambda: numerics.split(math.nan), "value: se recibió nan"),
        (lambda: numerics.split(1e39), "se desborda en fp32"),
        (lambda: numerics.split(3.4e38, 1), "se desborda en bf16"),
    ],
)
def test_wrong_input_is_refused_with_what_to_do(ask: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ask()
