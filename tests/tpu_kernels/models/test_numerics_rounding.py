"""Rounding: once, to nearest even, from whatever precision the number comes; and the two other ways."""

import math
import struct
from bisect import bisect_right
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_kernels.models import numerics
from tpu_kernels.models.numerics.float_format import exponent_of

MILLION = 10**6
SMALL = ["bf16", "fp16", "fp8_e4m3fn", "fp8_e5m2"]
ALL = ["fp32", "tf32", *SMALL]


@cache
def magnitudes(dtype: str) -> list[Fraction]:
    """Every finite magnitude in order, and one step beyond the last, as the bits say: the index is the code."""
    chosen = numerics.float_format(dtype)
    values = [
        Fraction(fraction + (1 << chosen.fraction_bits if field else 0), 1 << chosen.fraction_bits)
        * Fraction(2) ** (max(field, 1) - chosen.bias)
        for field in range(1 << chosen.exponent_bits)
        for fraction in range(1 << chosen.fraction_bits)
    ]
    return values[: chosen.max_code + 2]


def nearest_code(value: Fraction, dtype: str) -> int | None:
    """The code of the nearest magnitude, the even one on a tie; ``None`` beyond the largest. By search, not by bits."""
    known = magnitudes(dtype)
    place = min(bisect_right(known, abs(value)) - 1, len(known) - 2)
    below, above = abs(value) - known[place], known[place + 1] - abs(value)
    if above < 0:
        return None
    code = place + (above < below or (above == below and place % 2 == 1))
    return None if code == len(known) - 1 else code


def expected(value: Fraction, dtype: str) -> int:
    chosen = numerics.float_format(dtype)
    code = nearest_code(value, dtype)
    if code is None:
        code = chosen.nan_code if chosen.infinity_code is None else chosen.infinity_code
    return code | (chosen.sign_mask if value < 0 else 0)


@st.composite
def near_borders(draw: Callable[..., Any], dtype: str) -> Fraction:
    """A number of the format or halfway to the next, moved by nothing, by a hair, or by less than fp64 can see."""
    chosen = numerics.float_format(dtype)
    code = draw(st.integers(0, chosen.max_code))
    value: Fraction = magnitudes(dtype)[code]
    if draw(st.booleans()):
        value = (value + magnitudes(dtype)[code + 1]) / 2
    hair = Fraction(1, 1 << draw(st.sampled_from([160, 200, 1500])))
    moved: Fraction = value + hair * draw(st.integers(-1, 1))
    return -moved if draw(st.booleans()) else moved


@pytest.mark.parametrize("dtype", SMALL)
def test_borders_and_ties_of_the_small_formats(dtype: str) -> None:
    @settings(deadline=None, max_examples=300)
    @given(near_borders(dtype))
    def check(value: Fraction) -> None:
        if value == 0:
            return
        assert numerics.encode(value, dtype) == expected(value, dtype)
        as_float = float(value)
        if Fraction(as_float) == value:
            assert numerics.encode(as_float, dtype) == expected(value, dtype)

    check()


@pytest.mark.parametrize("dtype", SMALL)
def test_any_fp64_is_rounded_once(dtype: str) -> None:
    @settings(deadline=None, max_examples=300)
    @given(st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.floats(-1e3, 1e3), st.floats(-1e-4, 1e-4)))
    def check(value: float) -> None:
        if value:
            assert numerics.encode(value, dtype) == expected(Fraction(value), dtype)

    check()


def fp32_by_struct(value: float) -> int:
    try:
        return int.from_bytes(struct.pack(">f", value))
    except OverflowError:
        return 0x7F800000 | (0x80000000 if value < 0 else 0)


def tf32_by_bits(value: float) -> int:
    """Integer arithmetic on the bits of the fp64: subnormal results apart, add just under half and the odd bit."""
    bits = int.from_bytes(struct.pack(">d", value))
    sign, magnitude = bits >> 63, bits & ~(1 << 63)
    exponent = (magnitude >> 52) - 1023
    if exponent >= -126:
        kept = (magnitude + (1 << 41) - 1 + (magnitude >> 42 & 1)) >> 42
        code = min(kept - ((1023 - 127) << 10), 0xFF << 10)
    elif exponent < -137 or magnitude >> 52 == 0:  # under half of the least
        code = 0
    else:
        whole, cut = (magnitude & ((1 << 52) - 1)) | 1 << 52, 42 + (-126 - exponent)
        code = (whole + (1 << (cut - 1)) - 1 + (whole >> cut & 1)) >> cut
    return sign << 18 | code


@pytest.mark.parametrize(("dtype", "oracle"), [("fp32", fp32_by_struct), ("tf32", tf32_by_bits)])
def test_any_fp64_becomes_fp32_and_tf32(dtype: str, oracle: Callable[[float], int]) -> None:
    chosen = numerics.float_format(dtype)

    @settings(deadline=None, max_examples=1000)
    @given(
        st.one_of(
            st.floats(allow_nan=False, allow_infinity=False),
            st.floats(-4e38, 4e38, width=64),
            st.floats(-1e-36, 1e-36, width=64),
            st.integers(1, chosen.max_code).map(
                lambda code: (chosen.decode(code - 1) + chosen.decode(code)) / 2  # a tie, exact in fp64
            ),
            st.integers(1, chosen.max_code).map(
                lambda code: math.nextafter((chosen.decode(code - 1) + chosen.decode(code)) / 2, math.inf)
            ),
        )
    )
    def check(value: float) -> None:
        assert chosen.encode(value) == oracle(value)

    check()


@settings(deadline=None, max_examples=500)
@given(st.floats(-65519, 65519))
def test_fp16_is_structs(value: float) -> None:
    assert numerics.encode(value, "fp16") == int.from_bytes(struct.pack(">e", value))


@given(st.floats())
def test_fp64_is_itself(value: float) -> None:
    code = numerics.encode(value, "fp64")
    if math.isnan(value):
        assert math.isnan(numerics.decode(code, "fp64"))
    else:
        assert code == int.from_bytes(struct.pack(">d", value))
        assert str(numerics.decode(code, "fp64")) == str(value)


def test_a_number_that_two_roundings_would_get_wrong() -> None:
    value = 1 + 2**-8 + 2**-40  # over half a step above 1 in bf16; fp32 on the way would lose what is over
    through_fp32 = numerics.rounded(numerics.rounded(value, "fp32"), "bf16")
    assert numerics.rounded(value, "bf16") == 1 + 2**-7
    assert through_fp32 == 1
    assert float(ml_dtypes.bfloat16(value)) == through_fp32  # so ml_dtypes is no oracle for fp64 to bf16
    unseen = Fraction(1) + Fraction(2) ** -53 + Fraction(2) ** -2000
    assert float(unseen) == numerics.rounded(unseen, "fp64") == 1 + 2**-52


def to_tf32(bits: Any) -> Any:
    """Round to nearest even by adding just under half and the odd bit to the uint32 of an fp32."""
    magnitude = bits & 0x7FFFFFFF
    kept = (magnitude.astype(np.uint64) + 0xFFF + (magnitude >> 13 & 1)) >> 13
    return np.where(magnitude > 0x7F800000, 0x3FE00, kept).astype(np.int64) | (bits >> 31).astype(np.int64) << 18


def saturated(values: Any, low: int, high: int) -> Any:
    return np.clip(np.rint(values), low, high).astype(np.int64)


def test_a_million_random_fp32_values_in_every_format() -> None:
    generator = np.random.default_rng(2026)
    bits = generator.integers(0, 1 << 32, MILLION, dtype=np.uint32)  # every exponent alike, NaN and infinities too
    # A third of them where the narrow formats have their numbers, so that these are not all zeros and infinities.
    bits[::3] = (
        (generator.normal(size=len(bits[::3])) * 2.0 ** generator.integers(-20, 18, len(bits[::3])))
        .astype(np.float32)
        .view(np.uint32)
    )
    with np.errstate(all="ignore"):
        fp32 = bits.view(np.float32)
        given_values = fp32.astype(np.float64).tolist()
        codes: dict[str, Any] = {
            "bf16": fp32.astype(ml_dtypes.bfloat16).view(np.uint16),
            "fp16": fp32.astype(np.float16).view(np.uint16),
            "fp8_e4m3fn": fp32.astype(ml_dtypes.float8_e4m3fn).view(np.uint8),
            "fp8_e5m2": fp32.astype(ml_dtypes.float8_e5m2).view(np.uint8),
            "tf32": to_tf32(bits),
            "fp32": bits,
        }
    nan = np.isnan(fp32)
    assert 1000 < nan.sum() < MILLION / 10
    for dtype, oracle in codes.items():
        chosen = numerics.float_format(dtype)
        got = np.fromiter(map(chosen.encode, given_values), dtype=np.int64, count=MILLION)
        is_nan = nan | (dtype == "fp8_e4m3fn") & ((oracle & 0x7F) == 0x7F)
        assert np.array_equal(got[~is_nan], oracle[~is_nan].astype(np.int64))
        # A NaN is a NaN; which one is the format's own affair.
        assert set((got[is_nan] & ~chosen.sign_mask).tolist()) == {chosen.nan_code}
    numbers = fp32[~nan]
    finite_values = numbers.astype(np.float64).tolist()
    for dtype, low, high, kind in (("int8", -128, 127, np.int8), ("int4", -8, 7, ml_dtypes.int4)):
        whole = saturated(numbers, low, high)
        rounded = np.fromiter(map(numerics.integer_format(dtype).rounded, finite_values), np.int64, len(numbers))
        assert np.array_equal(rounded, whole.astype(kind).astype(np.int64))


@pytest.mark.parametrize("dtype", ALL)
def test_rounding_never_turns_the_order_around_and_moves_by_half_a_step_at_most(dtype: str) -> None:
    chosen = numerics.float_format(dtype)

    @settings(deadline=None)
    @given(st.floats(-chosen.max, chosen.max), st.floats(-chosen.max, chosen.max))
    def check(one: float, other: float) -> None:
        one, other = min(one, other), max(one, other)
        assert chosen.rounded(one) <= chosen.rounded(other)
        for value in (one, other):
            moved = abs(Fraction(chosen.rounded(value)) - Fraction(value))
            assert moved <= Fraction(chosen.spacing(value)) / 2
            if abs(value) >= chosen.min_normal:
                assert moved <= Fraction(chosen.unit_roundoff) * abs(Fraction(value))
            assert chosen.rounded(-value) == -chosen.rounded(value)

    check()


@pytest.mark.parametrize("dtype", SMALL)
def test_toward_zero_takes_the_largest_magnitude_that_is_not_larger(dtype: str) -> None:
    @settings(deadline=None)
    @given(near_borders(dtype))
    def check(value: Fraction) -> None:
        known = magnitudes(dtype)[:-1]
        cut = known[bisect_right(known, abs(value)) - 1]
        got = numerics.rounded(value, dtype, rounding=numerics.toward_zero)
        assert Fraction(got) == (-cut if value < 0 else cut)

    check()


@given(st.integers(-(10**40), 10**40), st.integers(1, 10**40))
def test_the_exponent_of_a_fraction(numerator: int, denominator: int) -> None:
    value = Fraction(numerator, denominator)
    if value:
        assert Fraction(2) ** exponent_of(value) <= abs(value) < Fraction(2) ** (exponent_of(value) + 1)
        assert exponent_of(float(2**70)) == exponent_of(Fraction(2**70)) == 70


@pytest.mark.parametrize(
    "value", [3, np.int64(3), np.float32(3), np.float16(3), np.float64(3), Fraction(3), True + 2, 3.0]
)
def test_numbers_of_any_kind_are_taken_exactly(value: object) -> None:
    assert numerics.rounded(value, "fp8_e5m2") == 3
    assert numerics.rounded(10**400, "fp16") == math.inf
    assert numerics.rounded(-(10**400), "fp16", overflow="saturate") == -65504
    assert numerics.rounded(2**53 + 1, "fp64") == 2**53


# Stochastic rounding


@pytest.mark.parametrize(
    ("value", "dtype"), [(1 + 2**-10, "bf16"), (-1.3, "fp8_e4m3fn"), (2**-26, "fp16"), (Fraction(1, 3), "fp8_e5m2")]
)
def test_stochastic_rounding_has_the_number_as_its_mean(value: float | Fraction, dtype: str) -> None:
    chosen, draws = numerics.float_format(dtype), 20_000
    rounding = numerics.stochastic(seed=5)
    results = [chosen.rounded(value, rounding=rounding) for _ in range(draws)]
    low, high = sorted(set(results))  # both neighbours and nothing else
    assert low < value < high
    assert chosen.decode(chosen.next_up(chosen.encode(low)) or 0) == high
    chance = (Fraction(value) - Fraction(low)) / (Fraction(high) - Fraction(low))
    mean = sum(map(Fraction, results)) / draws
    deviation = (high - low) * math.sqrt(chance * (1 - chance) / draws)
    assert abs(float(mean - Fraction(value))) < 4 * deviation
    nearest = chosen.rounded(value)
    assert abs(nearest - value) > 4 * deviation  # which rounding to nearest would not pass


@given(st.integers(0, 0x7E), st.integers())
def test_stochastic_rounding_leaves_the_numbers_of_the_format_alone(code: int, seed: int) -> None:
    value = numerics.decode(code, "fp8_e4m3fn")
    assert numerics.encode(value, "fp8_e4m3fn", rounding=numerics.stochastic(seed)) == code


def test_stochastic_rounding_repeats_by_seed() -> None:
    def series(seed: int) -> list[float]:
        rounding = numerics.stochastic(seed)
        return [numerics.rounded(1 + 2**-9, "bf16", rounding=rounding) for _ in range(64)]

    assert series(1) == series(1) != series(2)
    with pytest.raises(ValueError, match=r"seed: se recibió 1\.5"):
        numerics.stochastic(1.5)  # type: ignore[arg-type]
