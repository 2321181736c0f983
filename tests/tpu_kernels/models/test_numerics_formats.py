"""Every code of every small format against ml_dtypes and numpy, and the constants against what was published."""

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tpu_kernels.models import numerics
from tpu_kernels.models.numerics.number_formats import document

ORACLES: dict[str, Any] = {
    "fp64": np.float64,
    "fp32": np.float32,
    "bf16": ml_dtypes.bfloat16,
    "fp16": np.float16,
    "fp8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "fp8_e5m2": ml_dtypes.float8_e5m2,
}
SMALL = ["bf16", "fp16", "fp8_e4m3fn", "fp8_e5m2"]
FLOATS = [one.name for one in numerics.float_formats()]


def every_value(dtype: str) -> Any:
    """What the oracle makes of every code, in order, as Python floats."""
    bits = numerics.float_format(dtype).bits
    with np.errstate(invalid="ignore"):  # signalling NaNs
        if dtype == "tf32":  # an fp32 whose low 13 bits are zero
            return (np.arange(1 << bits, dtype=np.uint32) << 13).view(np.float32).astype(np.float64).tolist()
        codes = np.arange(1 << bits, dtype=np.uint8 if bits == 8 else np.uint16)
        return codes.view(ORACLES[dtype]).astype(np.float64).tolist()


@pytest.mark.parametrize("dtype", [*SMALL, "tf32"])
def test_every_code_is_decoded_as_the_oracle_does_and_encodes_back_to_itself(dtype: str) -> None:
    chosen = numerics.float_format(dtype)
    expected = np.array(every_value(dtype))
    values = [chosen.decode(code) for code in range(1 << chosen.bits)]
    found, nan = np.array(values), np.isnan(expected)
    assert np.array_equal(np.isnan(found), nan)
    assert np.array_equal(found[~nan].view(np.int64), expected[~nan].view(np.int64))  # so -0 is not 0
    again = np.array([chosen.encode(value) for value in values])
    codes = np.arange(1 << chosen.bits)
    assert np.array_equal(again[~nan], codes[~nan])
    assert np.array_equal(again[nan], codes[nan] & chosen.sign_mask | chosen.nan_code)  # the quiet one, with its sign
    assert np.array_equal([chosen.rounded(value) for value in found[~nan].tolist()], found[~nan])


@pytest.mark.parametrize(("dtype", "code"), [("fp64", ">d"), ("fp32", ">f"), ("fp16", ">e")])
def test_the_fields_are_those_that_struct_writes(dtype: str, code: str) -> None:
    import struct

    chosen = numerics.float_format(dtype)
    for value in (0.0, -0.0, 1.0, -1.5, chosen.max, -chosen.max, chosen.min_normal, chosen.min_subnormal, math.inf):
        assert chosen.encode(value) == int.from_bytes(struct.pack(code, value))
        assert chosen.decode(chosen.encode(value)) == value


@pytest.mark.parametrize("dtype", SMALL)
def test_every_neighbour_is_the_oracles(dtype: str) -> None:
    chosen, kind = numerics.float_format(dtype), ORACLES[dtype]
    values = np.array(every_value(dtype))
    top = chosen.max if dtype == "fp8_e4m3fn" else math.inf  # where ml_dtypes would go on to NaN
    with np.errstate(over="ignore"):
        above = np.nextafter(values.astype(kind), kind(top)).astype(np.float64)
        below = np.nextafter(values.astype(kind), kind(-top)).astype(np.float64)
    for code, value in enumerate(values.tolist()):
        up, down = chosen.next_up(code), chosen.next_down(code)
        assert (up is None) == (math.isnan(value) or value == top)
        assert (down is None) == (math.isnan(value) or value == -top)
        if up is not None:
            assert chosen.decode(up) == above[code]
        if down is not None:
            assert chosen.decode(down) == below[code]


def test_the_neighbours_of_zero_and_of_the_last() -> None:
    fp8 = numerics.float_format("fp8_e4m3fn")
    assert (fp8.next_up(0), fp8.next_up(0x80), fp8.next_down(0), fp8.next_down(0x80)) == (1, 1, 0x81, 0x81)
    assert (fp8.next_up(0x81), fp8.next_down(1)) == (0x80, 0)
    assert (fp8.next_up(0x7E), fp8.next_up(0x7F), fp8.next_down(0xFE)) == (None, None, None)
    half = numerics.float_format("fp16")
    assert (half.next_up(0x7BFF), half.next_up(0x7C00), half.next_down(0x7C00)) == (0x7C00, None, 0x7BFF)


@pytest.mark.parametrize("dtype", ORACLES)
def test_the_constants_are_those_of_finfo(dtype: str) -> None:
    chosen, info = numerics.float_format(dtype), ml_dtypes.finfo(ORACLES[dtype])  # type: ignore[no-untyped-call]
    assert chosen.bits == info.bits
    assert (chosen.exponent_bits, chosen.fraction_bits) == (info.nexp, info.nmant)
    assert chosen.max == float(info.max)
    assert chosen.min_normal == float(info.smallest_normal)
    assert chosen.min_subnormal == float(info.smallest_subnormal)
    assert chosen.epsilon == float(info.eps)
    assert chosen.unit_roundoff == chosen.epsilon / 2
    assert chosen.max_exponent == info.maxexp - 1
    assert chosen.min_exponent == info.minexp


# The FP8 table of IntelLabs/FP8-Emulation-Toolkit's README, after table 1 of arXiv:2209.05433 (read 2026-11-30).
@pytest.mark.parametrize(
    ("dtype", "bias", "largest", "min_normal", "max_subnormal", "min_subnormal"),
    [
        ("fp8_e5m2", 15, 1.75 * 2**15, 2**-14, 0.75 * 2**-14, 2**-16),
        ("fp8_e4m3fn", 7, 1.75 * 2**8, 2**-6, 0.875 * 2**-6, 2**-9),
    ],
)
def test_the_published_table_of_fp8(
    dtype: str, bias: int, largest: float, min_normal: float, max_subnormal: float, min_subnormal: float
) -> None:
    chosen = numerics.float_format(dtype)
    assert chosen.bias == bias
    assert (chosen.max, chosen.min_normal, chosen.min_subnormal) == (largest, min_normal, min_subnormal)
    below = chosen.next_down(chosen.encode(min_normal))
    assert below is not None
    assert chosen.decode(below) == max_subnormal
    assert chosen.kind(below) == "subnormal"


# C++ working draft, [tab:basic.extended.fp] (read 2026-11-30): storage, precision, largest exponent, exponent width.
@pytest.mark.parametrize(
    ("dtype", "storage", "precision", "emax", "width"),
    [("fp16", 16, 11, 15, 5), ("fp32", 32, 24, 127, 8), ("fp64", 64, 53, 1023, 11), ("bf16", 16, 8, 127, 8)],
)
def test_the_published_table_of_the_cpp_types(dtype: str, storage: int, precision: int, emax: int, width: int) -> None:
    chosen = numerics.float_format(dtype)
    assert (chosen.bits, chosen.fraction_bits + 1, chosen.max_exponent, chosen.exponent_bits) == (
        storage,
        precision,
        emax,
        width,
    )


def test_tf32_has_the_range_of_fp32_and_the_precision_of_fp16() -> None:  # TensorFlow RFC, pull request 247
    tf32, fp32, fp16 = map(numerics.float_format, ("tf32", "fp32", "fp16"))
    assert tf32.bits == 19
    assert (tf32.exponent_bits, tf32.epsilon) == (fp32.exponent_bits, fp16.epsilon)
    assert tf32.min_normal == fp32.min_normal


# ONNX, "Float stored in 8 bits", section Cast (read 2026-11-30): E4M3FN and E5M2, with saturation and without.
BEYOND = {"fp8_e4m3fn": 480.0, "fp8_e5m2": 65536.0}


@pytest.mark.parametrize("dtype", BEYOND)
@pytest.mark.parametrize("sign", [1, -1])
def test_the_published_table_of_casts(dtype: str, sign: int) -> None:
    chosen = numerics.float_format(dtype)
    for value in (sign * math.inf, sign * BEYOND[dtype]):
        assert chosen.rounded(value, overflow="saturate") == sign * chosen.max
        without = chosen.rounded(value)
        assert math.copysign(1, without) == sign
        assert math.isnan(without) if dtype == "fp8_e4m3fn" else math.isinf(without)
    for overflow in ("saturate", "as_specified"):
        assert str(chosen.rounded(sign * 0.0, overflow=overflow)) == str(sign * 0.0)
        kept = chosen.rounded(math.copysign(math.nan, sign), overflow=overflow)
        assert math.isnan(kept)
        assert math.copysign(1, kept) == sign


def test_overflow_begins_half_a_step_beyond_the_largest_number() -> None:
    half = numerics.float_format("fp16")
    assert half.rounded(65519.99) == 65504
    assert half.rounded(65520) == math.inf  # the tie goes to the even code, which is that of infinity
    assert half.rounded(65520, overflow="saturate") == 65504
    assert math.isnan(half.rounded(65520, overflow="nan"))
    e4m3 = numerics.float_format("fp8_e4m3fn")
    assert e4m3.rounded(464) == 448  # a tie between 448, even, and the code of NaN
    assert math.isnan(e4m3.rounded(464.0000001))
    assert e4m3.rounded(math.inf, overflow="saturate") == 448
    assert half.rounded(1e9, rounding=numerics.toward_zero) == 65504
    assert half.rounded(-math.inf, rounding=numerics.toward_zero) == -math.inf


def test_bf16_as_cloud_tpu_converts_it() -> None:  # cloud.google.com/tpu/docs/bfloat16 (read 2026-11-30)
    bf16 = numerics.float_format("bf16")
    least = bf16.min_normal
    assert bf16.rounded(1 + 3 * 2**-8) == 1 + 2**-6  # to nearest even
    assert bf16.rounded(3.4e38) == math.inf
    assert bf16.rounded(least / 2) == least / 2
    assert bf16.rounded(least / 2, flush_subnormals=True) == 0
    assert str(bf16.rounded(-least / 2, flush_subnormals=True)) == "-0.0"
    assert bf16.rounded(least, flush_subnormals=True) == least
    assert bf16.rounded(least - bf16.min_subnormal, flush_subnormals=True) == 0  # the largest subnormal
    assert math.isnan(bf16.rounded(math.nan, flush_subnormals=True))
    assert bf16.rounded(-math.inf, flush_subnormals=True) == -math.inf


@pytest.mark.parametrize("dtype", FLOATS)
def test_spacing_is_the_distance_to_the_next(dtype: str) -> None:
    chosen = numerics.float_format(dtype)
    for value in (0.0, 1.0, 1.5, 3.0, chosen.min_normal, chosen.min_subnormal, chosen.max / 2):
        up = chosen.next_up(chosen.encode(value))
        assert up is not None
        assert chosen.spacing(value) == chosen.spacing(-value) == chosen.decode(up) - chosen.rounded(value)
    below = chosen.next_down(chosen.encode(chosen.max))
    assert below is not None
    assert chosen.spacing(chosen.max) == chosen.max - chosen.decode(below)


def test_which_formats_hold_all_of_another() -> None:
    holds = {
        wide.name: {one.name for one in numerics.float_formats() if wide.holds_all_of(one)}
        for wide in numerics.float_formats()
    }
    assert holds["fp32"] == {"fp32", "tf32", "bf16", "fp16", "fp8_e4m3fn", "fp8_e5m2"}
    assert holds["bf16"] == {"bf16", "fp8_e4m3fn", "fp8_e5m2"}
    assert holds["fp16"] == {"fp16", "fp8_e4m3fn", "fp8_e5m2"}
    assert holds["fp8_e5m2"] == {"fp8_e5m2"}
    for wide in SMALL:
        for one in SMALL:
            values = [value for value in every_value(one) if math.isfinite(value)]
            assert all(map(numerics.float_format(wide).contains, values)) == (one in holds[wide])


def test_a_format_with_more_range_above_and_less_below_does_not_hold_all() -> None:
    entry = dict(document()["floats"]["fp16"])
    shifted = numerics.FloatFormat("shifted", entry | {"bias": entry["bias"] - 1})
    assert shifted.max > numerics.float_format("fp16").max
    assert not shifted.holds_all_of(numerics.float_format("fp16"))
    assert shifted.holds_all_of(numerics.float_format("fp8_e4m3fn"))
