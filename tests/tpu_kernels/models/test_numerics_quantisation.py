"""Quantisation against exact arithmetic and numpy: rounded once, saturated, and back within half a step."""

import math
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_kernels import messages
from tpu_kernels.models import numerics

SCALES = st.floats(min_value=1e-6, max_value=1e6)
VALUES = st.floats(min_value=-1e9, max_value=1e9)
DTYPES = st.sampled_from(["int8", "int4"])


@settings(deadline=None)
@given(VALUES, SCALES, st.integers(-8, 7), DTYPES)
def test_an_integer_is_the_exact_quotient_rounded_once(value: float, scale: float, zero: int, dtype: str) -> None:
    chosen = numerics.quantisation(dtype, scale=scale, zero_point=zero)
    exact = round(Fraction(value) / Fraction(scale)) + zero
    assert chosen.quantise(value) == min(max(exact, chosen.dtype.min), chosen.dtype.max)
    assert chosen.quantise(Fraction(value)) == chosen.quantise(value)


def test_the_half_is_made_even_before_the_zero_point_is_added() -> None:
    # ONNX QuantizeLinear: it is (x / y_scale) that is rounded to nearest even.
    chosen = numerics.quantisation("int8", scale=2.0, zero_point=1)
    assert [chosen.quantise(value) for value in (1, 3, -1, -3, 5)] == [1, 3, 1, -1, 3]


@pytest.mark.parametrize(("value", "once", "twice"), [(0.75, 7, 8), (0.8500000000000001, 9, 8)])
def test_a_quotient_that_only_looks_like_a_half_is_not_a_tie(value: float, once: int, twice: int) -> None:
    scale = 0.1  # the float is a little more than a tenth
    assert value / scale % 1 == 0.5
    assert np.rint(value / scale) == twice
    assert (
        numerics.quantisation("int8", scale=scale).quantise(value) == once == round(Fraction(value) / Fraction(scale))
    )


@settings(deadline=None)
@given(st.lists(VALUES, min_size=1, max_size=30), DTYPES, st.booleans())
def test_a_fitted_range_comes_back_within_half_a_step(values: list[float], dtype: str, symmetric: bool) -> None:
    chosen = numerics.fit_quantisation(values, dtype, symmetric=symmetric)
    # Half a step of rounding; another half when the zero point had to be rounded; and the last bit of fp64.
    allowed = chosen.scale * (0.5 if symmetric else 1.0) * (1 + 1e-12)
    for value in values:
        assert abs(chosen.rounded(value) - value) <= allowed
    assert chosen.rounded(0) == 0  # zero is exact in both
    if symmetric:
        assert chosen.zero_point == 0
        assert max(abs(chosen.quantise(value)) for value in values) == (chosen.dtype.max if any(values) else 0)


@given(st.integers(-128, 127), SCALES, st.integers(-128, 127))
def test_integers_come_back_as_they_were(whole: int, scale: float, zero: int) -> None:
    chosen = numerics.quantisation("int8", scale=scale, zero_point=zero)
    assert chosen.quantise(chosen.dequantise(whole)) == whole


def test_many_values_as_numpy_quantises_them() -> None:
    values = np.random.default_rng(3).normal(size=20_000).astype(np.float32)
    chosen = numerics.quantisation("int8", scale=2.0**-6, zero_point=-3)
    expected = np.clip(np.rint(values / np.float32(2**-6)) - 3, -128, 127)
    assert [chosen.quantise(value) for value in values.tolist()] == expected.tolist()
    assert (expected == 127).any()
    assert (expected == -128).any()


def test_the_fit_of_onnx_dynamic_quantisation() -> None:
    # DynamicQuantizeLinear 11: scale = (max - min) / (qmax - qmin), zero_point = saturate(round(qmin - min / scale)).
    values = np.array([0.0, 2.0, -3.0, -2.5, 1.34, 0.5])
    chosen = numerics.fit_quantisation(values, "int8", symmetric=False)
    assert chosen.scale == pytest.approx((2.0 + 3.0) / 255, rel=1e-15)
    assert chosen.zero_point == round(-128 + 3.0 / (5.0 / 255)) == 25
    assert numerics.fit_quantisation([3.0, 5.0], "int8", symmetric=False).zero_point == -128  # stretched to hold zero
    assert numerics.fit_quantisation([-3.0, -5.0], "int8", symmetric=False).zero_point == 127


def test_the_range_that_does_not_saturate() -> None:
    chosen = numerics.quantisation("int4", scale=0.5, zero_point=3)
    assert (chosen.lowest, chosen.highest) == (-5.5, 2.0)
    assert chosen.quantise(chosen.lowest) == -8
    assert chosen.quantise(chosen.highest) == 7
    assert (chosen.quantise(math.inf), chosen.quantise(-1e300), chosen.quantise(1e308)) == (7, -8, 7)
    assert numerics.quantisation("int8", scale=1e-300).quantise(-1e300) == -128  # the quotient overflows fp64


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("symmetric", [True, False])
def test_each_channel_has_a_scale_of_its_own(axis: int, symmetric: bool) -> None:
    matrix = np.random.default_rng(11).normal(size=(4, 6)) * np.array([1, 100, 0.01, 1, 7, 0.3])
    fitted = numerics.fit_channels(matrix, "int8", axis=axis, symmetric=symmetric)
    lines = matrix if axis == 0 else matrix.T
    assert fitted.channels == tuple(numerics.fit_quantisation(line, "int8", symmetric=symmetric) for line in lines)
    whole = fitted.quantise(matrix)
    expected = np.array([[one.quantise(x) for x in line] for one, line in zip(fitted.channels, lines, strict=True)])
    assert np.array_equal(whole, expected if axis == 0 else expected.T)
    scales = np.array([one.scale for one in fitted.channels])
    back = np.abs(np.array(fitted.dequantise(whole)) - matrix)
    assert (back <= 1.0001 * (scales[:, None] if axis == 0 else scales)).all()


def test_channels_lose_less_than_one_scale_for_all() -> None:
    matrix = [[0.01, -0.02, 0.015], [1.0, -2.0, 1.5]]
    together = numerics.fit_quantisation([x for row in matrix for x in row], "int8")
    apart = numerics.fit_channels(matrix, "int8")
    back = apart.dequantise(apart.quantise(matrix))
    lost_apart = max(abs(x - y) for x, y in zip(matrix[0], back[0], strict=True))
    lost_together = max(abs(x - together.rounded(x)) for x in matrix[0])
    assert lost_apart < lost_together / 20


def test_values_that_are_all_zero_have_a_scale_too() -> None:
    for symmetric in (True, False):
        chosen = numerics.fit_quantisation([0.0, -0.0], "int4", symmetric=symmetric)
        assert (chosen.scale, chosen.zero_point) == (1.0, 0)
    assert pickle.loads(pickle.dumps(chosen)) == chosen._replace(dtype=pickle.loads(pickle.dumps(chosen)).dtype)


def test_the_table() -> None:
    chosen = numerics.quantisation("int4", scale=0.2, zero_point=-3)
    table = chosen.table([0.3, 5])
    assert [[cell.text for cell in row] for row in table.rows] == [["0,3", "−2", "0,2", "−0,1"], ["5", "7", "2", "−3"]]
    assert table.caption == "Cuantización a int4: escala 0,2, punto cero −3"
    messages.use("pt")
    assert chosen.table([1]).caption == "Quantização para int4: escala 0,2, ponto zero −3"


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: numerics.quantisation("int8", scale=0), "scale: se recibió 0 .* mayor que cero"),
        (lambda: numerics.quantisation("int8", scale=-1.0), "scale"),
        (lambda: numerics.quantisation("int8", scale=math.nan), "scale: se recibió nan"),
        (lambda: numerics.quantisation("int8", scale=True), "scale: se recibió True"),
        (lambda: numerics.quantisation("int8", scale=10**400), "scale.* finito"),
        (lambda: numerics.quantisation("int8", scale=1.0, zero_point=128), "128 .* de -128 a 127"),
        (lambda: numerics.quantisation("int8", scale=1.0, zero_point=0.5), "zero_point: se recibió 0.5"),  # type: ignore[arg-type]
        (lambda: numerics.quantisation("bf16", scale=1.0), "'bf16'.*int8, int4"),
        (lambda: numerics.quantisation("int8", scale=1.0).quantise(math.nan), "nan no tiene un entero"),
        (lambda: numerics.quantisation("int8", scale=1.0).quantise("1"), "value"),
        (lambda: numerics.quantisation("int4", scale=1.0).dequantise(8), "8 .* de -8 a 7"),
        (lambda: numerics.fit_quantisation([], "int8"), "values: secuencia vacía"),
        (lambda: numerics.fit_quantisation([1, math.inf], "int8"), r"values\[1\].* finito"),
        (lambda: numerics.fit_quantisation(5, "int8"), "values: se recibió int"),
        (lambda: numerics.fit_quantisation("12", "int8"), "values: se recibió str"),
        (lambda: numerics.fit_quantisation([5e-324], "int8"), "scale"),
        (lambda: numerics.fit_channels([[1.0]], "int8", axis=2), "axis: se recibió 2"),
        (lambda: numerics.fit_channels([[1.0]], "int8", axis=True), "axis: se recibió True"),
        (lambda: numerics.fit_channels([[1.0], [1.0, 2.0]], "int8"), "matrix: la fila 1"),
        (lambda: numerics.fit_channels([[math.nan]], "int8"), "matrix: se recibió nan"),
        (lambda: numerics.fit_channels([[1.0]], "int8").quantise([[1.0], [2.0]]), "2 canales en el eje 0"),
    ],
)
def test_wrong_input_is_refused_with_what_to_do(ask: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ask()
