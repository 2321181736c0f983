"""Bounds that every right product meets and that a rounded one does not, whatever the shape and the format."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graders.seed import generator
from graders.tolerance import equal, gamma, product_bound, unit_roundoff, within

SHAPES = st.tuples(st.integers(1, 8), st.integers(1, 300), st.integers(1, 8))


def operands(shape, dtype, seed):
    m, k, n = shape
    rng = np.random.default_rng(seed)
    return rng.normal(size=(m, k)).astype(dtype), rng.normal(size=(k, n)).astype(dtype)


def exact(a, b):
    """The product in rational numbers, rounded once to float64."""
    rows = [[Fraction(float(x)) for x in row] for row in a]
    columns = [[Fraction(float(x)) for x in column] for column in b.T]
    return np.array([[float(sum(x * y for x, y in zip(r, c, strict=True))) for c in columns] for r in rows])


@settings(deadline=None, max_examples=40)
@given(SHAPES, st.sampled_from(["float32", "float16", "bfloat16"]), st.integers(0, 2**32), st.randoms())
def test_any_order_of_float32_sums_is_within_the_bound(shape, dtype, seed, shuffle):
    a, b = operands(shape, getattr(ml_dtypes, dtype, dtype), seed)
    order = list(range(shape[1]))
    shuffle.shuffle(order)
    total = np.zeros((shape[0], shape[2]), np.float32)
    for p in order:
        total += a[:, p : p + 1].astype(np.float32) * b[p : p + 1].astype(np.float32)
    assert within(total, exact(a, b), product_bound(a, b))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("backend", ["cpu", "gpu", "tpu"])
def test_a_result_rounded_to_the_inputs_format_is_outside(dtype, backend):
    rng = np.random.default_rng(7)
    a, b = rng.uniform(0.5, 1.5, (4, 512)).astype(dtype), rng.uniform(0.5, 1.5, (512, 4)).astype(dtype)
    rounded = exact(a, b).astype(dtype)
    assert not within(rounded, exact(a, b), product_bound(a, b, backend))


@pytest.mark.parametrize("result", [np.float16, ml_dtypes.bfloat16])
def test_a_result_that_may_be_narrow_may_be_rounded_once_and_no_more(result):
    a, b = np.full((1, 3), 1, np.float32), np.full((3, 1), 1 / 3, np.float32)
    bound = product_bound(a, b, result=np.dtype(result).name)
    rounded = exact(a, b).astype(result)
    another = np.nextafter(rounded, np.array(2, result))
    assert within(rounded, exact(a, b), bound)
    assert not within(another, exact(a, b), bound)


@pytest.mark.parametrize("dtype", [np.float64, np.int8])
def test_no_bound_is_promised_for_operands_of_another_format(dtype):
    with pytest.raises(ValueError, match="expected one of float32"):
        product_bound(np.ones((1, 1), dtype), np.ones((1, 1), np.float32))


@pytest.mark.parametrize(("backend", "operand"), [("gpu", 11), ("tpu", 8)])
def test_float32_operands_rounded_as_the_back_end_does_are_within_its_bound_only(backend, operand):
    a, b = operands((6, 40, 6), np.float32, 3)
    cut_a, cut_b = (round_to(x, operand) for x in (a, b))
    got = exact(cut_a, cut_b).astype(np.float32)
    assert within(got, exact(a, b), product_bound(a, b, backend))
    assert not within(got, exact(a, b), product_bound(a, b, "cpu"))


def test_an_accelerators_cut_off_sums_are_within_its_bound_only():
    """A matrix unit aligns each term to the sum and drops what falls off: here every term after the first."""
    terms = np.full((1, 101), 0.99 * 2.0**-23).astype(ml_dtypes.bfloat16)
    terms[0, 0] = 1
    ones = np.ones((101, 1), ml_dtypes.bfloat16)
    cut = np.ones((1, 1), np.float32)
    assert within(cut, exact(terms, ones), product_bound(terms, ones, "gpu"))
    assert not within(cut, exact(terms, ones), product_bound(terms, ones, "cpu"))


def round_to(values, bits):
    fraction, exponent = np.frexp(values.astype(np.float64))
    return np.ldexp(np.round(fraction * 2.0**bits) / 2.0**bits, exponent)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_never_pass(bad):
    assert not within(np.array([[bad]]), np.array([[1.0]]), np.array([[10.0]]))


@pytest.mark.parametrize("got", [[[1.0]], None, np.ones((1, 2)), np.ones(1), "1"])
def test_another_shape_or_type_never_passes(got):
    assert not within(got, np.ones((1, 1)), 10.0)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bfloat16"])
def test_the_unit_roundoff_is_the_formats_own(dtype):
    assert unit_roundoff(dtype) == float(ml_dtypes.finfo(dtype if dtype != "bfloat16" else ml_dtypes.bfloat16).eps) / 2


def test_gamma_grows_with_the_terms_and_refuses_to_promise_nothing():
    assert gamma(0, 2**-24) == 0
    assert 100 * 2**-24 < gamma(100, 2**-24) < 100.01 * 2**-24
    with pytest.raises(ValueError, match="below 1"):
        gamma(2**24, 2**-24)


@pytest.mark.parametrize(
    ("got", "want", "same"),
    [
        ([[1.0, 2]], [[1, 2.0]], True),
        ([[np.int8(1)]], [[1]], True),
        ([[1]], [[2]], False),
        ([[1, 2]], [[1]], False),
        ([1], [[1]], False),
        ([[[1]]], [[1]], False),
        (None, [], False),
        ("12", ["1", "2"], False),
        ([np.arange(3)], [1], False),
        ([["1"]], [[1]], False),
        (np.arange(3), np.arange(3), True),
        ([2**80], [2**80], True),
        ([float(2**80)], [2**80 + 1], False),
        ([float(2**60)], [2**60 + 1], False),
        ([np.array(float(2**60))], [2**60 + 1], False),
        ([np.array(float(2**60))], [2**60], True),
        ([float("nan")], [float("nan")], False),
    ],
    ids=repr,
)
def test_equality_of_plain_data_never_raises(got, want, same):
    assert equal(got, want) is same


def test_inputs_are_repeatable_and_differ_between_learners_exercises_and_salts():
    def draw(*names):
        return tuple(generator(*names).integers(0, 2**62, 4))

    assert draw("l", "ana", "e", "s") == draw("l", "ana", "e", "s")
    others = [("l", "bia", "e", "s"), ("l", "ana", "f", "s"), ("l", "ana", "e", "t"), ("la", "na", "e", "s")]
    assert len({draw(*names) for names in [("l", "ana", "e", "s"), *others]}) == 5
