"""What the caller's program says of its kernels: grids, blocks, products, and how often each is run."""

from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax
from jax.experimental import pallas as pl

from tests.tpu_kernels.xray import kernels
from tpu_kernels.xray.grid import Points
from tpu_kernels.xray.kernel_call import KernelCall, kernel_calls, padded_bytes
from tpu_kernels.xray.products import PRODUCTS, Product, product, walk


def calls(case: kernels.Program) -> tuple[KernelCall, ...]:
    function, specs = case
    return kernel_calls(jax.make_jaxpr(function)(*specs))


def test_a_product_in_blocks() -> None:
    (call,) = calls(kernels.matmul(512, 1024, 512, (256, 512, 128)))
    assert (call.name, call.grid, call.steps, call.times, call.interpreted) == ("body", (2, 4, 2), 16, 1, False)
    assert call.where.startswith("kernels.py:")
    assert call.scratch_bytes == 256 * 128 * 4
    left, right, out = call.windows
    assert left is not None and right is not None and out is not None
    assert [(one.origin, one.block, one.block_bytes, one.fetches) for one in (left, right, out)] == [
        ("args[0]", (256, 512), 256 * 512 * 2, 16),
        ("args[1]", (512, 128), 512 * 128 * 2, 16),
        ("outputs", (256, 128), 256 * 128 * 2, 8),
    ]
    assert call.products == (Product(1, 256, 512, 128, "bfloat16", 1, 16),)
    assert call.flops == 2 * 512 * 1024 * 512


def test_a_block_that_stays_is_fetched_once_and_needs_one_buffer() -> None:
    (call,) = calls(kernels.matmul(256, 256, 512, (256, 256, 128)))
    left, right, _ = call.windows
    assert left is not None and right is not None
    assert (left.fetches, left.buffers) == (1, 1)
    assert (right.fetches, right.buffers) == (4, 2)


@pytest.mark.parametrize(
    ("block", "exact"),
    [((256, 512, 256), True), ((200, 512, 256), False), ((256, 512, 100), False), ((8, 512, 128), False)],
)
def test_only_whole_tiles_are_copied_exactly(block: tuple[int, int, int], exact: bool) -> None:
    (call,) = calls(kernels.matmul(512, 512, 512, block))
    assert all(window is not None for window in call.windows)
    assert all(window.exact for window in call.windows if window) is exact


def test_what_the_kernel_copies_itself_has_no_window() -> None:
    (call,) = calls(kernels.own_copies(64, 4))
    assert [window is None for window in call.windows] == [True, False]
    assert call.scratch_bytes == 64 * 128 * 4


def test_a_map_that_reads_data_is_not_known() -> None:
    (call,) = calls(kernels.chosen_rows())
    chosen, out = call.windows
    assert chosen is not None and out is not None
    assert (chosen.fetches, out.fetches) == (None, 4)


def test_runs_in_loops_are_counted() -> None:
    (call,) = calls(kernels.repeated())
    assert call.times == 5


def test_runs_that_depend_on_data_are_not_known() -> None:
    product_, specs = kernels.matmul(256, 256, 256, (256, 256, 256))
    (call,) = calls((lambda a, b: lax.while_loop(lambda x: x.sum() < 3, lambda x: product_(x, b), a), specs))
    assert call.times is None


def test_the_limit_that_a_kernel_asks_for_is_read() -> None:
    (call,) = calls(kernels.matmul(256, 256, 256, (256, 256, 256), vmem_limit_bytes=64 << 20))
    assert call.vmem_limit == 64 << 20


def counted(body: Any, grid: tuple[int, ...]) -> list[int | None]:
    """How often each product in a kernel is carried out."""
    square = jax.ShapeDtypeStruct((128, 128), jnp.float32)

    def run(a: jax.Array, b: jax.Array) -> Any:
        return pl.pallas_call(body, grid=grid, out_shape=square)(a, b)

    (call,) = calls((run, (square, square)))
    return [one.times for one in call.products]


def test_products_under_conditions_are_counted_where_these_hold() -> None:
    def body(a: Any, b: Any, out: Any) -> None:
        @pl.when(pl.program_id(1) == 0)
        def _() -> None:
            out[...] = jnp.dot(a[...], b[...])

        @pl.when((pl.program_id(0) > 0) & (pl.program_id(1) < pl.num_programs(1) - 1))
        def _() -> None:
            out[...] += jnp.dot(a[...], b[...])

    assert counted(body, (3, 4)) == [3, 2 * 3]


def test_products_in_loops_are_counted() -> None:
    def body(a: Any, b: Any, out: Any) -> None:
        out[...] = jnp.zeros_like(out)

        def again(_: Any, carry: Any) -> Any:
            out[...] += jnp.dot(a[...], b[...])
            return carry

        lax.fori_loop(0, 7, again, 0)

    assert counted(body, (2,)) == [14]


def test_products_that_depend_on_data_are_not_known() -> None:
    def body(a: Any, b: Any, out: Any) -> None:
        out[...] = a[...]

        @pl.when(a[0, 0] > 0)
        def _() -> None:
            out[...] = jnp.dot(a[...], b[...])

    assert counted(body, (2,)) == [None]


def dims(function: Any, *specs: jax.ShapeDtypeStruct) -> list[tuple[int, ...]]:
    visits = walk(Points(()), jax.make_jaxpr(function)(*specs), PRODUCTS)
    return [(one.batch, one.m, one.k, one.n) for one in map(product, visits)]


def test_sides_of_products_and_convolutions() -> None:
    spec = jax.ShapeDtypeStruct
    assert dims(jnp.matmul, spec((5, 7, 3), "float32"), spec((5, 3, 2), "float32")) == [(5, 7, 3, 2)]
    convolve = lambda x, w: lax.conv(x, w, (1, 1), "VALID")  # noqa: E731
    assert dims(convolve, spec((2, 4, 10, 10), "float32"), spec((8, 4, 3, 3), "float32")) == [
        (1, 2 * 8 * 8, 4 * 3 * 3, 8)
    ]


@pytest.mark.parametrize(("precision", "passes"), [(None, 1), ("default", 1), ("high", 3), ("highest", 6)])
def test_precision_says_how_many_passes(precision: str | None, passes: int) -> None:
    spec = jax.ShapeDtypeStruct((8, 8), "float32")
    (visit,) = walk(Points(()), jax.make_jaxpr(lambda a, b: lax.dot(a, b, precision=precision))(spec, spec), PRODUCTS)
    assert product(visit).passes == passes


def test_bytes_are_those_of_the_smallest_tiles() -> None:
    assert padded_bytes((9, 129), 4) == 16 * 256 * 4
    assert padded_bytes((2, 8, 128), 2) == 2 * 8 * 128 * 2
    assert padded_bytes((), 4) == 8 * 128 * 4
