"""What counts as a number that prose may quote."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sistolica.lesson.quoted_values import describe
from tpu_kernels.models.quantity import Quantity


@pytest.mark.parametrize(
    ("value", "number", "unit"),
    [
        (7, 7, None),
        (2**80, 2**80, None),
        (0.5, 0.5, None),
        (True, 1.0, None),
        (Fraction(1, 2), 0.5, None),
        (Decimal("0.5"), 0.5, None),
        (np.float32(2.5), 2.5, None),
        (np.int64(3), 3.0, None),
        (Quantity(3e9, "bytes/s"), 3e9, "bytes/s"),
        (Quantity(4, "count"), 4.0, "count"),
    ],
)
def test_a_number_of_any_kind_comes_out_plain_with_its_unit(value, number, unit):
    found = describe(value)
    assert (found["value"], found["unit"]) == (number, unit)
    assert type(found["value"]) in {int, float}


@pytest.mark.parametrize(
    "value",
    [
        *("12", b"12", bytearray(b"1"), "much", None, [1.5], {}, 1j, print),
        *(float("nan"), float("inf"), -float("inf"), np.array([1.0, 2.0]), Quantity(float("nan"), "bytes")),
    ],
    ids=repr,
)
def test_what_is_not_a_finite_number_says_what_it_was(value):
    found = describe(value)
    assert found["value"] is None
    assert repr(value).startswith(found["got"])


def test_a_unit_that_is_no_text_is_no_unit():
    class Odd(float):
        unit = 3

    assert describe(Odd(1.5)) == {"value": 1.5, "unit": None, "got": "1.5"}


@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_plain_numbers_come_out_unchanged(value):
    assert describe(value)["value"] == value
    assert type(describe(value)["value"]) is type(value)
