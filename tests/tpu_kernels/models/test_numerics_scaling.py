"""Loss scaling against numpy's fp16, and the scale that is the last one without overflow."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_kernels import messages
from tpu_kernels.models import numerics

GRADIENTS = np.random.default_rng(8).normal(size=20_000) * 2.0 ** np.random.default_rng(9).integers(-40, -10, 20_000)


@pytest.mark.parametrize("exponent", [-3, 0, 8, 16, 24, 30, 40])
def test_counts_are_those_of_numpy_in_fp16(exponent: int) -> None:
    scale = 2.0**exponent
    with np.errstate(over="ignore", under="ignore"):
        half = (GRADIENTS * scale).astype(np.float16).astype(np.float64)
    found = numerics.scale_gradients(GRADIENTS, scale)
    size = np.abs(half)
    assert found.underflow == ((half == 0) & (GRADIENTS != 0)).sum()
    assert found.subnormal == ((size > 0) & (size < 2.0**-14)).sum()
    assert found.normal == ((size >= 2.0**-14) & np.isfinite(half)).sum()
    assert found.overflow == np.isinf(half).sum()
    assert found.underflow + found.subnormal + found.normal + found.overflow + found.zero == found.total == 20_000
    assert found.underflow_share == found.underflow / 20_000
    assert found.overflow_share == found.overflow / 20_000


@settings(deadline=None)
@given(st.lists(st.floats(-1, 1), min_size=1, max_size=20), st.floats(1e-6, 1e6), st.floats(1, 100))
def test_a_larger_scale_never_underflows_more_nor_overflows_less(
    gradients: list[float], scale: float, more: float
) -> None:
    small, large = numerics.scale_gradients(gradients, scale), numerics.scale_gradients(gradients, scale * more)
    assert large.underflow <= small.underflow
    assert large.overflow >= small.overflow
    assert large.zero == small.zero == gradients.count(0)


def test_any_scale_is_multiplied_exactly_and_rounded_once() -> None:
    least = 2.0**-25  # half of the least fp16: a tie that goes to zero
    assert numerics.scale_gradients([least], 1.0).underflow == 1
    assert numerics.scale_gradients([math.nextafter(least, 1)], 1.0).subnormal == 1
    fifth = least / 5  # the float is a little more
    assert fifth * 5 == least
    assert Fraction(fifth) * 5 > Fraction(least)
    assert numerics.scale_gradients([fifth], 5.0).subnormal == 1  # two roundings would make it zero
    assert numerics.scale_gradients([1], 65519.99).overflow == 0
    assert numerics.scale_gradients([Fraction(1)], 65520).overflow == 1


def test_bf16_needs_no_scale() -> None:
    assert numerics.scale_gradients(GRADIENTS, dtype="bf16").underflow == 0
    assert numerics.scale_gradients(GRADIENTS, dtype="fp16").underflow_share > 0.4
    assert numerics.scale_gradients([500.0], dtype="fp8_e4m3fn").overflow == 1  # NaN, as the format has no infinity


@settings(deadline=None)
@given(
    st.lists(st.floats(-1e20, 1e20).filter(bool), min_size=1, max_size=10),
    st.sampled_from(["fp16", "bf16", "fp8_e4m3fn", "fp8_e5m2"]),
)
def test_the_largest_safe_scale_is_the_last_that_is(gradients: list[float], dtype: str) -> None:
    chosen = numerics.float_format(dtype)
    scale = Fraction(numerics.largest_safe_scale([g for g in gradients if abs(g) > 1e-200] or [1.0], dtype))
    largest = max(abs(Fraction(g)) for g in ([g for g in gradients if abs(g) > 1e-200] or [1.0]))
    assert math.isfinite(chosen.rounded(largest * scale))
    assert not math.isfinite(chosen.rounded(largest * scale * 2))
    assert scale.numerator == 1 or scale.denominator == 1
    assert (scale.numerator * scale.denominator).bit_count() == 1


def test_the_table() -> None:
    table = numerics.loss_scale_table([2.0**-26, 2.0**-20, 1.0, 0.0], [1, 2**10, 2**17])
    texts = [[cell.text.replace("\N{NO-BREAK SPACE}", " ") for cell in row] for row in table.rows]
    assert [row[1:] for row in texts] == [
        ["25 %", "25 %", "0 %"],
        ["0 %", "25 %", "0 %"],
        ["0 %", "0 %", "25 %"],
    ]
    assert texts[1][0] == "1024"
    found = numerics.scale_gradients([2.0**-26, 1.0])
    assert (
        repr(found)
        == "Gradientes en fp16 con escala 1: 50\N{NO-BREAK SPACE}% se anulan, 0\N{NO-BREAK SPACE}% se desbordan"
    )
    messages.use("pt")
    assert "viram zero" in repr(found)
    assert numerics.loss_scale_table([1.0], [1]).headings == ("Escala", "Viram zero", "Subnormais", "Estouram")


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: numerics.scale_gradients([]), "gradients: secuencia vacía"),
        (lambda: numerics.scale_gradients([1.0], 0), "scale: se recibió 0"),
        (lambda: numerics.scale_gradients([1.0], -8), "scale: se recibió -8"),
        (lambda: numerics.scale_gradients([1.0], math.inf), "scale: se recibió inf"),
        (lambda: numerics.scale_gradients([math.nan]), r"gradients\[0\]"),
        (lambda: numerics.scale_gradients([1.0], dtype="int8"), "'int8'"),
        (lambda: numerics.loss_scale_table([1.0], [True]), "scale: se recibió True"),
        (lambda: numerics.largest_safe_scale([0.0, -0.0]), "Todos los gradientes son cero"),
    ],
)
def test_wrong_input_is_refused_with_what_to_do(ask: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ask()
