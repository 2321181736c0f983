from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpu_kernels.models.numerals import number, significant

NARROW = "\N{NARROW NO-BREAK SPACE}"


@pytest.mark.parametrize(
    ("value", "spanish"),
    [
        (0, "0"),
        (7, "7"),
        (-7, "−7"),
        (-0.5, "−0,5"),
        (615.1875, "615,2"),
        (12345.678, f"12{NARROW}346"),
        (1e-7, "0,0000001"),
        (1 / 3, "0,3333"),
        (Fraction(1, 3), "0,3333"),
        (Fraction(-8, 2), "−4"),
        (9999.96, "10" + NARROW + "000"),
        (2**100, "1267650600228229401496703205376"),
    ],
)
def test_a_plain_number(value: float | Fraction, spanish: str) -> None:
    assert number(value, "es").replace(NARROW, "") == spanish.replace(NARROW, "")
    assert (NARROW in number(value, "es")) == (abs(value) >= 9999.5)
    assert number(value, "pt") == number(value, "es").replace(NARROW, ".")


@given(st.floats(min_value=1e-300, max_value=1e300), st.integers(min_value=1, max_value=12))
def test_significant_figures_are_the_nearest_ones(value: float, digits: int) -> None:
    mantissa, exponent = significant(value, digits)
    assert len(str(mantissa)) == digits
    error = abs(Fraction(mantissa) * Fraction(10) ** exponent - Fraction(value))
    assert error <= Fraction(10) ** exponent / 2
