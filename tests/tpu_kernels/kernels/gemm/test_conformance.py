"""One set of promises, for every implementation that this machine can run: right shape, type, rounding and NaNs."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tpu_kernels.kernels.gemm.oracle import able_to, close, exact, interpreted, numbers
from tpu_kernels.kernels import matmul
from tpu_kernels.kernels.gemm.dtypes import result_dtype

FLOATS = (jnp.float32, jnp.bfloat16, jnp.float16, jnp.float8_e4m3fn, jnp.float8_e5m2)
INTEGERS = (jnp.int8, jnp.uint8, jnp.int16, jnp.int32)

ALL = able_to(*FLOATS, *INTEGERS)
# The interpreter of GPU kernels takes seconds a product: a few stand for the many that its own tests do.
QUICK = [(name, dtype) for name, dtype in ALL if name != "pallas_gpu"]
SLOW = [(name, dtype) for name, dtype in ALL if name == "pallas_gpu" and dtype in (jnp.bfloat16, jnp.int8)]
EVERYWHERE = able_to(jnp.bfloat16)
FLOAT32 = able_to(jnp.float32)

# The numbers here are small enough.
pytestmark = pytest.mark.filterwarnings("ignore:Una suma tan larga:tpu_kernels.backend.FallbackWarning")


def run(name: str, a: Any, b: Any, **options: Any) -> jax.Array:
    return matmul(a, b, backend=name, interpret=interpreted(name), **options)


def ident(value: object) -> str | None:
    return getattr(value, "__name__", None)


@pytest.mark.parametrize(("name", "dtype"), QUICK + SLOW, ids=ident)
def test_sizes_that_no_block_divides(name: str, dtype: Any) -> None:
    rng = np.random.default_rng(5)
    sizes = (65, 70, 30) if name == "pallas_gpu" else (300, 200, 100)
    a, b = numbers(rng, sizes[:2], dtype), numbers(rng, sizes[1:], dtype)
    got = run(name, a, b)
    assert got.dtype == result_dtype(jnp.dtype(dtype))
    assert close(got, a, b)


@pytest.mark.parametrize(("name", "dtype"), FLOAT32, ids=ident)
@pytest.mark.parametrize(
    ("left", "right"), [((257, 257), (257, 257)), ((3, 33, 129), (3, 129, 65)), ((2, 1, 190), (190, 1))]
)
def test_a_block_and_one_more(name: str, dtype: Any, left: tuple[int, ...], right: tuple[int, ...]) -> None:
    rng = np.random.default_rng(257)
    a, b = numbers(rng, left, dtype), numbers(rng, right, dtype)
    assert close(run(name, a, b), a, b)


sizes = st.sampled_from([0, 1, 2, 3, 7, 8, 9, 17])
batches = st.sampled_from([((), ()), ((2,), ()), ((2,), (2,)), ((), (3,)), ((2, 1), (3,)), ((1,), (4,)), ((0,), (1,))])


@pytest.mark.parametrize("name", ["reference", "xla", "pallas_tpu"])
@settings(max_examples=8, deadline=None)
@given(m=sizes, k=sizes, n=sizes, batch=batches, seed=st.integers(0, 99), data=st.data())
def test_any_shape_with_any_epilogue(
    name: str, m: int, k: int, n: int, batch: tuple[Any, Any], seed: int, data: st.DataObject
) -> None:
    _, dtype = data.draw(st.sampled_from([pair for pair in QUICK if pair[0] == name]))
    is_float = jnp.issubdtype(dtype, jnp.floating)
    activation = data.draw(st.sampled_from([None, "relu", "gelu", "silu"] if is_float else [None, "relu"]))
    rng = np.random.default_rng(seed)
    a, b = numbers(rng, (*batch[0], m, k), dtype), numbers(rng, (*batch[1], k, n), dtype)
    bias = numbers(rng, (n,), np.float32 if is_float else np.int32) if data.draw(st.booleans()) else None
    with np.errstate(over="ignore"):
        assert close(run(name, a, b, bias=bias, activation=activation), a, b, bias, activation)


@pytest.mark.parametrize(("name", "dtype"), able_to(jnp.int8), ids=ident)
def test_integers_of_eight_bits_never_wrap(name: str, dtype: Any) -> None:
    a, b = np.full((3, 40), -128, np.int8), np.full((40, 2), -128, np.int8)
    got = run(name, a, b)
    assert got.dtype == jnp.int32
    np.testing.assert_array_equal(got, np.full((3, 2), 40 * 128 * 128))


@pytest.mark.parametrize("name", ["reference", "xla"])
def test_sums_of_wide_integers_wrap_as_numpy_s_do(name: str) -> None:
    a, b = np.full((1, 3), 2**30, np.int32), np.full((3, 1), 3, np.int32)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(run(name, a, b), a @ b)


@pytest.mark.parametrize(("name", "dtype"), QUICK, ids=ident)
@pytest.mark.parametrize(("m", "k", "n"), [(0, 128, 64), (4, 0, 5), (4, 3, 0), (0, 0, 0)])
def test_nothing_to_multiply(name: str, dtype: Any, m: int, k: int, n: int) -> None:
    got = run(name, np.zeros((m, k), dtype), np.zeros((k, n), dtype))
    assert got.dtype == result_dtype(jnp.dtype(dtype))
    np.testing.assert_array_equal(got, np.zeros((m, n)))


@pytest.mark.parametrize("name", ["reference", "xla", "pallas_tpu", "pallas_gpu"])
def test_an_empty_sum_still_has_its_epilogue(name: str) -> None:
    bias = np.array([-1.0, 0.0, 2.0], np.float32)
    got = run(name, np.zeros((2, 0), jnp.bfloat16), np.zeros((0, 3), jnp.bfloat16), bias=bias, activation="relu")
    np.testing.assert_array_equal(got, [[0, 0, 2], [0, 0, 2]])


@pytest.mark.parametrize(("name", "dtype"), FLOAT32, ids=ident)
@pytest.mark.parametrize("options", [{}, {"block": (8, 128, 128)}])
def test_infinities_and_nans_land_where_numpy_puts_them(name: str, dtype: Any, options: dict[str, Any]) -> None:
    if options and name != "pallas_tpu":
        options = {}
    rng = np.random.default_rng(3)
    a, b = numbers(rng, (20, 300), np.float32), numbers(rng, (300, 140), np.float32)
    a[2, 7], a[3, 8], a[19, 299] = np.nan, np.inf, -np.inf
    a[5, :2], b[:2] = 3e38, np.abs(b[:2]) + 2  # overflows in float32
    b[8, 4], b[299, 139] = 0, 0  # infinity times zero
    with np.errstate(over="ignore", invalid="ignore"):
        want = a @ b
    got = np.asarray(run(name, a, b, **options))
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    np.testing.assert_array_equal(got[np.isinf(want)], want[np.isinf(want)])
    assert np.isnan(want).sum() > 140
    assert np.isfinite(got).sum() == np.isfinite(want).sum() > 2000


@pytest.mark.parametrize(("name", "dtype"), EVERYWHERE, ids=ident)
def test_a_product_done_twice_is_the_same_to_the_last_bit(name: str, dtype: Any) -> None:
    rng = np.random.default_rng(8)
    a, b = numbers(rng, (33, 70), dtype), numbers(rng, (70, 20), dtype)
    first, second = (np.asarray(run(name, a, b)).view(np.uint16) for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(("name", "dtype"), FLOAT32, ids=ident)
def test_float32_is_multiplied_as_float32_where_highest_is_asked_for(name: str, dtype: Any) -> None:
    """``1 + 2**-9`` squared needs more bits than a bfloat16 pass keeps; and on a CPU the default loses none."""
    a, b = np.full((1, 1), 1 + 2**-9, np.float32), np.ones((1, 1), np.float32)
    for precision in ("highest", None):
        assert float(run(name, a, b, precision=precision)[0, 0]) == 1.001953125


@pytest.mark.parametrize(("name", "dtype"), EVERYWHERE, ids=ident)
def test_sums_are_kept_in_float32(name: str, dtype: Any) -> None:
    """300 ones and 300 halves: in bfloat16 the running sum would stick at 256."""
    a, b = np.ones((1, 600), jnp.bfloat16), np.ones((600, 1), jnp.bfloat16)
    b[300:] = 0.5
    assert float(run(name, a, b)[0, 0]) == 450
    assert run(name, a, b, out_dtype=jnp.float32).dtype == jnp.float32


@pytest.mark.parametrize("name", ["reference", "xla", "pallas_tpu"])
def test_strided_reversed_and_foreign_byte_order(name: str) -> None:
    rng = np.random.default_rng(4)
    whole = numbers(rng, (40, 60), np.float32)
    for a, b in (
        (whole[::2, ::-3], whole[:20, :7]),
        (whole.T[:9], whole[:, ::5]),
        (np.asfortranarray(whole[:, :8]), whole[:8].astype(">f4")),
    ):
        assert close(run(name, a, b), a, b.astype(np.float32))


@pytest.mark.parametrize("name", ["reference", "xla", "pallas_tpu"])
@pytest.mark.parametrize(
    ("left", "right"),
    [((5,), (5,)), ((3, 4), (4,)), ((4,), (4, 3)), ((4,), (2, 4, 3)), ((2, 3, 4), (4,)), ((0,), (0,))],
)
def test_vectors_have_numpy_s_rules(name: str, left: tuple[int, ...], right: tuple[int, ...]) -> None:
    rng = np.random.default_rng(6)
    a, b = numbers(rng, left, np.float32), numbers(rng, right, np.float32)
    got = run(name, a, b)
    assert got.shape == np.matmul(a, b).shape
    np.testing.assert_allclose(got, exact(a, b), rtol=1e-5, atol=1e-6)
