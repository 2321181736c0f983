"""The own log and exp against exact arithmetic; and the bits that every machine must give."""

import math
from decimal import Decimal, localcontext

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_kernels.models.portable_math import exp, log

POSITIVE = st.floats(min_value=5e-324, allow_infinity=False)


def ulps(got: float, exact: Decimal) -> Decimal:
    return abs(Decimal(got) - exact) / Decimal(math.ulp(float(exact)))


@settings(deadline=None)
@given(POSITIVE)
def test_log_is_within_two_units_in_the_last_place(x: float) -> None:
    with localcontext() as context:
        context.prec = 60
        exact = Decimal(x).ln()
        assert log(x) == 0 if exact == 0 else ulps(log(x), exact) <= 2


@settings(deadline=None)
@given(st.floats(min_value=-700, max_value=709))
def test_exp_is_within_two_units_in_the_last_place(x: float) -> None:
    with localcontext() as context:
        context.prec = 60
        assert ulps(exp(x), Decimal(x).exp()) <= 2


@pytest.mark.parametrize(("x", "value"), [(1.0, 0.0), (math.e, 1.0), (2.0**-1074, -744.4400719213812)])
def test_log_at_the_edges(x: float, value: float) -> None:
    assert log(x) == value


@pytest.mark.parametrize(("x", "value"), [(0.0, 1.0), (710.0, math.inf), (-746.0, 0.0)])
def test_exp_at_the_edges(x: float, value: float) -> None:
    assert exp(x) == value


def test_the_bits_are_those_of_any_machine() -> None:
    # Written down once: a Python whose arithmetic is IEEE 754 gives these, whatever its C library.
    assert [log(x).hex() for x in (0.1, 3.0, 1e300)] == [
        "-0x1.26bb1bbb55515p+1",
        "0x1.193ea7aad030bp+0",
        "0x1.5963447f87fb5p+9",
    ]
    assert [exp(x).hex() for x in (-0.3, 0.5, 40.0)] == [
        "0x1.7b4c869c37c05p-1",
        "0x1.a61298e1e069cp+0",
        "0x1.a220d397972ebp+57",
    ]
