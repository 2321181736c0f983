"""The bound that decides right from wrong: true for honest rounding, false for the smallest real fault."""

import ml_dtypes
import numpy as np
import pytest

from tpu_kernels.bench.correctness import MOST_ROWS, compare

RNG = np.random.default_rng(7)


def drawn(m, k, n, dtype=np.float32):
    return RNG.standard_normal((m, k)).astype(dtype), RNG.standard_normal((k, n)).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("k", [1, 7, 500])
def test_an_honest_product_is_right(dtype, k):
    a, b = drawn(9, k, 11, ml_dtypes.finfo(dtype).dtype)
    product = (a.astype(np.float32) @ b.astype(np.float32)).astype(a.dtype)
    found = compare(product, a, b, accumulator="float32")
    assert found.right
    assert found.rows == 9


def test_a_product_kept_in_bfloat16_is_wrong():
    a, b = drawn(8, 400, 8)
    total = np.zeros((8, 8), ml_dtypes.bfloat16)
    for step in range(400):
        total = (total + np.outer(a[:, step], b[step]).astype(total.dtype)).astype(total.dtype)
    assert not compare(total.astype(np.float32), a, b, accumulator="float32").right


def test_operands_rounded_to_bfloat16_are_right_only_where_the_device_says_so():
    a, b = drawn(8, 64, 8)
    rounded = [x.astype(ml_dtypes.bfloat16).astype(np.float32) for x in (a, b)]
    product = rounded[0] @ rounded[1]
    assert not compare(product, a, b, accumulator="float32").right
    assert compare(product, a, b, accumulator="float32", passes="bfloat16").right


def test_one_term_left_out_is_wrong():
    a, b = drawn(4, 300, 4)
    assert not compare(a[:, 1:] @ b[1:], a, b, accumulator="float32").right


@pytest.mark.parametrize("off", [0, 1])
def test_integers_are_exact_or_wrong(off):
    a = RNG.integers(-127, 128, (5, 60)).astype(np.int8)
    b = RNG.integers(-127, 128, (60, 3)).astype(np.int8)
    product = a.astype(np.int32) @ b.astype(np.int32)
    product[2, 1] += off
    found = compare(product, a, b, accumulator="int32")
    assert (found.right, found.max_error) == (not off, off)


def test_nan_where_a_number_was_due_is_wrong():
    a, b = drawn(4, 5, 4)
    product = a @ b
    product[1, 1] = np.nan
    assert not compare(product, a, b, accumulator="float32").right


def test_of_a_long_product_some_rows_are_compared_the_last_one_too():
    a, b = drawn(5 * MOST_ROWS, 3, 2)
    product = a @ b
    product[-1] += 1
    found = compare(product, a, b, accumulator="float32")
    assert (found.rows, found.right) == (MOST_ROWS, False)
