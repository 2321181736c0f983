"""Derivatives: equal to jax's own of the same formula, true to finite differences, and of every order in reverse."""

from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.tpu_kernels.kernels.gemm.oracle import exact, interpreted, numbers
from tpu_kernels.kernels import matmul
from tpu_kernels.kernels.gemm import gradient, xla
from tpu_kernels.kernels.gemm.dtypes import BFLOAT16, FLOAT32

DIFFERENTIABLE = ["reference", "xla", "pallas_tpu"]
BY_JAX = {None: lambda z: z, "relu": jax.nn.relu, "gelu": jax.nn.gelu, "silu": jax.nn.silu}
PLAIN = [((6, 5), (5, 4)), ((2, 3, 5), (5, 4)), ((2, 3, 5), (2, 5, 4))]
BROADCAST = [((3, 5), (2, 5, 4)), ((5,), (5, 4)), ((2, 1, 3, 5), (4, 5, 6))]


def operands(*shapes: tuple[int, ...], dtype: Any = np.float32, seed: int = 0) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [jnp.asarray(numbers(rng, shape, dtype)) for shape in shapes]


def ours(name: str, activation: str | None, **options: Any) -> Any:
    def loss(a: jax.Array, b: jax.Array, bias: jax.Array) -> jax.Array:
        y = matmul(a, b, bias=bias, activation=activation, backend=name, interpret=interpreted(name), **options)
        return jnp.sum(jnp.sin(y.astype(jnp.float32)))

    return loss


def by_jax(activation: str | None) -> Any:
    return lambda a, b, bias: jnp.sum(jnp.sin(BY_JAX[activation](jnp.matmul(a, b) + bias)))


@pytest.mark.parametrize(("name", "activation"), [*product(["xla", "pallas_tpu"], BY_JAX), ("reference", "gelu")])
@pytest.mark.parametrize(("left", "right"), PLAIN)
def test_gradients_are_those_of_the_formula(
    name: str, activation: str | None, left: tuple[int, ...], right: tuple[int, ...]
) -> None:
    values = operands(left, right, right[-1:])
    got = jax.jit(jax.grad(ours(name, activation), argnums=(0, 1, 2)))(*values)
    want = jax.jit(jax.grad(by_jax(activation), argnums=(0, 1, 2)))(*values)
    for mine, theirs in zip(got, want, strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_allclose(mine, theirs, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize(("left", "right"), BROADCAST)
def test_what_was_broadcast_gets_the_sum_of_its_gradients(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    values = operands(left, right, right[-1:])
    got = jax.jit(jax.grad(ours("xla", "silu"), argnums=(0, 1, 2)))(*values)
    want = jax.jit(jax.grad(by_jax("silu"), argnums=(0, 1, 2)))(*values)
    for mine, theirs in zip(got, want, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize(
    ("name", "activation"),
    [("reference", "silu"), ("xla", None), ("xla", "relu"), ("xla", "silu"), ("pallas_tpu", "gelu")],
)
def test_gradients_are_the_slopes_of_the_exact_function(name: str, activation: str | None) -> None:
    """Along a random direction, by central differences in float64, whose own error is far below float32's."""
    values = operands((4, 5), (5, 3), (3,), seed=2)
    ways = operands((4, 5), (5, 3), (3,), seed=3)
    point, way = ([np.asarray(x, np.float64) for x in xs] for xs in (values, ways))

    def along(t: float) -> float:
        a, b, bias = (x + t * w for x, w in zip(point, way, strict=True))
        return float(np.sum(np.sin(exact(a, b, bias, activation))))

    step = 1e-5
    want = (along(step) - along(-step)) / (2 * step)
    gradients = jax.jit(jax.grad(ours(name, activation), argnums=(0, 1, 2)))(*values)
    got = sum(float(np.sum(np.asarray(g, np.float64) * w)) for g, w in zip(gradients, way, strict=True))
    assert got == pytest.approx(want, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize(("name", "activation"), [("reference", "silu"), ("xla", "relu"), ("pallas_tpu", "gelu")])
def test_second_derivatives_in_reverse_over_reverse(name: str, activation: str) -> None:
    values = operands((3, 5), (5, 4), (4,))

    def steepness(loss: Any) -> Any:
        return lambda b: sum(jnp.sum(g**2) for g in jax.grad(loss, argnums=(0, 1, 2))(values[0], b, values[2]))

    got = jax.jit(jax.grad(steepness(ours(name, activation))))(values[1])
    want = jax.jit(jax.grad(steepness(by_jax(activation))))(values[1])
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["xla", "pallas_tpu"])
def test_transformations_change_nothing(name: str) -> None:
    a, b, bias = operands((4, 3, 5), (5, 4), (4,))
    loss = ours(name, "gelu")
    want = jax.jit(jax.grad(by_jax("gelu"), argnums=1))
    each = jnp.stack([want(x, b, bias) for x in a])
    mapped = jax.jit(jax.vmap(jax.grad(loss, 1), (0, None, None)))
    np.testing.assert_allclose(mapped(a, b, bias), each, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(
        jax.jit(jax.grad(jax.checkpoint(loss), 1))(a, b, bias), want(a, b, bias), rtol=1e-4, atol=1e-5
    )
    per_bias = jax.vmap(loss, (None, None, 0))(a, b, jnp.stack([bias, 2 * bias]))
    np.testing.assert_allclose(per_bias, [loss(a, b, bias), loss(a, b, 2 * bias)], rtol=1e-5)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_the_slope_of_relu_at_zero_is_zero(name: str) -> None:
    a, b = jnp.zeros((2, 3)), jnp.ones((3, 2))
    for inner in (3, 0):  # an empty sum too
        bias = jax.jit(jax.grad(ours(name, "relu"), 2))(a[:, :inner], b[:inner], jnp.zeros(2))
        np.testing.assert_array_equal(bias, [0, 0])


def test_narrow_operands_get_gradients_of_their_own_type() -> None:
    a, b, bias = operands((4, 5), (5, 3), (3,), dtype=jnp.bfloat16)
    got = jax.jit(jax.grad(ours("xla", "silu"), argnums=(0, 1, 2)))(a, b, bias)
    want = jax.jit(jax.grad(by_jax("silu"), argnums=(0, 1, 2)))(*(x.astype(jnp.float32) for x in (a, b, bias)))
    for mine, theirs in zip(got, want, strict=True):
        assert mine.dtype == jnp.bfloat16
        np.testing.assert_allclose(mine.astype(jnp.float32), theirs, rtol=0.05, atol=0.05)


def test_operands_of_eight_bits_have_gradients() -> None:
    a, b, bias = operands((4, 8), (8, 3), (3,), dtype=jnp.float8_e4m3fn)
    got = jax.jit(jax.grad(ours("xla", None), argnums=(0, 1)))(a, b, bias)
    assert [g.dtype for g in got] == [jnp.float8_e4m3fn] * 2
    want = jax.jit(jax.grad(by_jax(None), argnums=(0, 1)))(*(x.astype(jnp.float32) for x in (a, b, bias)))
    for mine, theirs in zip(got, want, strict=True):
        np.testing.assert_allclose(mine.astype(jnp.float32), theirs, rtol=0.15, atol=0.15)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_integers_have_no_gradient_but_their_bias_has(name: str) -> None:
    a, b = jnp.full((4, 3), 2, jnp.int8), jnp.full((3, 2), 2, jnp.int8)
    options = {"out_dtype": jnp.float32}
    got = jax.grad(lambda bias: jnp.sum(matmul(a, b, bias=bias, backend=name, interpret=interpreted(name), **options)))
    np.testing.assert_array_equal(got(jnp.zeros(2)), [4, 4])
    whole = jax.grad(ours(name, None, **options), argnums=(0, 1), allow_int=True)(a, b, jnp.zeros(2))
    assert [g.dtype for g in whole] == [jax.dtypes.float0] * 2


def test_what_is_kept_for_the_way_back_is_the_least(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside the operands: nothing, or one array like the result in its own type, never a wide one."""
    a, b, bias = operands((8, 5), (5, 6), (6,), dtype=jnp.bfloat16)

    def kept(activation: str | None) -> list[tuple[Any, Any]]:
        def y(a: Any, b: Any, bias: Any) -> Any:
            return matmul(a, b, bias=bias, activation=activation)

        _, back = jax.vjp(y, a, b, bias)
        arrays = [(x.shape[-2:], x.dtype) for x in jax.tree.leaves(back) if hasattr(x, "shape") and x.ndim >= 2]
        return [array for array in arrays if array[0] not in ((8, 5), (5, 6))]

    assert kept(None) == []
    for activation in ("relu", "gelu", "silu"):
        assert kept(activation) == [((8, 6), jnp.bfloat16)]


def test_backward_products_run_in_the_type_of_the_operands(monkeypatch: pytest.MonkeyPatch) -> None:
    """A float32 gradient of bfloat16 operands is rounded once, so that the matrix unit works at its full rate."""
    seen = []
    multiply = xla.multiply

    def spy(*arrays: Any, problem: Any, **rest: Any) -> Any:
        seen.append((problem.m, problem.k, problem.n, problem.dtype, problem.out_dtype))
        return multiply(*arrays, problem=problem, **rest)

    monkeypatch.setattr(xla, "multiply", spy)
    a, b, bias = operands((7, 5), (5, 3), (3,), dtype=jnp.bfloat16)  # sizes of no other test: it is traced here
    jax.make_jaxpr(jax.grad(ours("xla", "gelu", out_dtype=jnp.float32), argnums=(0, 1)))(a, b, bias)
    forward, to_a, to_b = (7, 5, 3), (7, 3, 5), (5, 7, 3)
    assert set(seen) == {(*forward, BFLOAT16, FLOAT32), (*to_a, BFLOAT16, BFLOAT16), (*to_b, BFLOAT16, BFLOAT16)}


def test_a_kernel_reads_transposed_operands_as_they_lie() -> None:
    """On a TPU a transposed copy of an operand would cross the memory twice; the backward products make none.

    Squares of whole tiles lie by rows; what lies by columns is turned in name only.
    """
    a, b, bias = operands((128, 128), (128, 128), (128,))
    jaxpr = str(jax.make_jaxpr(jax.grad(ours("pallas_tpu", "gelu"), argnums=(0, 1)))(a, b, bias))
    assert " transpose[" not in jaxpr
    assert " transpose[" in str(jax.make_jaxpr(jax.grad(ours("reference", "gelu"), argnums=(0, 1)))(a, b, bias))


def test_stored_matrices_turn_without_moving() -> None:
    stored = gradient.Stored(jnp.zeros((2, 3, 5)))
    assert stored.sizes(2) == (3, 5)
    assert stored.sizes(1) == (6, 5)
    assert stored.T.sizes(2) == (5, 3)
    assert stored.T.array is stored.array
    assert stored == stored.T.T
