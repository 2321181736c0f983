"""On several devices: rows shared out give the rows of the whole product, and gradients of what is shared add up."""

import re
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from tests.tpu_kernels.kernels.gemm.oracle import close, interpreted, numbers
from tpu_kernels.kernels import matmul

ROWS = "rows"


def mesh(devices: int) -> Mesh:
    return Mesh(np.array(jax.devices()[:devices]), (ROWS,))


def operands(m: int = 64, k: int = 300, n: int = 40) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(7)
    return tuple(numbers(rng, shape, np.float32) for shape in ((m, k), (k, n), (n,)))


@pytest.mark.parametrize("devices", [1, 2, 4, 8])
def test_a_kernel_gives_each_row_the_same_bits_wherever_it_runs(devices: int) -> None:
    """Of a result 128 wide, which lies by rows however many there are: one by columns is multiplied turned."""
    a, b, bias = operands(n=128)
    multiply = partial(matmul, backend="pallas_tpu", interpret=True, block=(8, 128, 128), activation="gelu")
    whole = multiply(a, b, bias=bias)

    def local(a: Any, b: Any, bias: Any) -> Any:
        return multiply(a, b, bias=bias)

    specs = (P(ROWS), P(), P())
    shared = jax.shard_map(local, mesh=mesh(devices), in_specs=specs, out_specs=P(ROWS), check_vma=False)
    shared = jax.jit(shared)(a, b, bias)
    np.testing.assert_array_equal(np.asarray(shared).view(np.uint32), np.asarray(whole).view(np.uint32))


@pytest.mark.parametrize("name", ["reference", "xla", "pallas_tpu"])
@pytest.mark.parametrize("devices", [1, 2, 4, 8])
def test_rows_that_jax_has_shared_out(name: str, devices: int) -> None:
    a, b, bias = operands()
    placed = jax.device_put(a, NamedSharding(mesh(devices), P(ROWS)))
    multiply = jax.jit(partial(matmul, backend=name, interpret=interpreted(name)))
    assert close(multiply(placed, b, bias=bias), a, b, bias)


def test_the_gradient_of_shared_weights_is_the_sum_over_devices() -> None:
    """Inside and outside ``shard_map``, checked or not, as on one device."""
    a, b, bias = operands(m=16, k=10, n=4)

    def loss(a: Any, b: Any, bias: Any) -> Any:
        return jnp.sum(matmul(a, b, bias=bias, activation="silu") ** 2)

    want = jax.grad(loss, argnums=(1, 2))(a, b, bias)
    specs = (P(ROWS), P(), P())

    def total(a: Any, b: Any, bias: Any) -> Any:
        return lax.psum(loss(a, b, bias), ROWS)

    for checked in (True, False):
        shared = partial(jax.shard_map, mesh=mesh(8), in_specs=specs, out_specs=P(), check_vma=checked)
        got = jax.jit(jax.grad(shared(total), argnums=(1, 2)))(a, b, bias)
        for mine, theirs in zip(got, want, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5)

    inside = jax.shard_map(jax.grad(loss, argnums=(1, 2)), mesh=mesh(8), in_specs=specs, out_specs=P())
    for mine, theirs in zip(jax.jit(inside)(a, b, bias), want, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5)


def test_the_interpreter_says_what_it_cannot_do() -> None:
    a, b, _ = operands(m=16, k=10, n=4)
    multiply = partial(matmul, backend="pallas_tpu", interpret=True)
    with pytest.raises(ValueError, match=r"a lo largo de rows dentro de shard_map.*check_vma=False"):
        jax.shard_map(multiply, mesh=mesh(2), in_specs=(P(ROWS), P()), out_specs=P(ROWS))(a, b)


def test_a_kernel_keeps_track_of_what_varies() -> None:
    """Compiled, it needs no ``check_vma=False``: here it is lowered for a TPU, which this machine has not."""
    a, b, _ = operands(m=16, k=16, n=16)

    def loss(a: Any, b: Any) -> Any:
        return lax.psum(jnp.sum(matmul(a, b, backend="pallas_tpu", interpret=False)), ROWS)

    shared = jax.shard_map(loss, mesh=mesh(2), in_specs=(P(ROWS), P()), out_specs=P())
    lowered = jax.jit(jax.grad(shared, argnums=(0, 1))).trace(a, b).lower(lowering_platforms=("tpu",)).as_text()
    assert lowered.count("tpu_custom_call") >= 2
    assert "all_reduce" in lowered


@pytest.mark.parametrize(
    ("left", "right", "specs"),
    [
        ((8, 16, 12), (12, 8), (P("rows"), P())),
        ((8, 16, 12), (12, 8), (P(None, "rows"), P())),
        ((8, 16, 12), (12, 8), (P("rows"), P(None, "columns"))),
        ((8, 16, 12), (12, 8), (P("rows", "columns"), P())),
        ((4, 4, 8, 12), (4, 4, 12, 8), (P("rows", "columns"), P("rows", "columns"))),
    ],
)
def test_sharding_costs_what_it_costs_jax(left: Any, right: Any, specs: Any) -> None:
    """Folding axes into one would gather those that are sharded: forward and back, no operation more than jax's own."""
    over = Mesh(np.array(jax.devices()).reshape(4, 2), ("rows", "columns"))
    shapes = [
        jax.ShapeDtypeStruct(shape, np.float32, sharding=NamedSharding(over, spec))
        for shape, spec in zip((left, right), specs, strict=True)
    ]

    def exchanges(multiply: Any) -> list[str]:
        back = jax.grad(lambda a, b: jnp.sum(multiply(a, b) ** 2), argnums=(0, 1))
        text = "".join(jax.jit(f).lower(*shapes).compile().as_text() for f in (multiply, back))
        return sorted(re.findall(r" (all-gather|all-reduce|all-to-all|collective-permute|reduce-scatter)\(", text))

    assert exchanges(matmul) == exchanges(jnp.matmul)
