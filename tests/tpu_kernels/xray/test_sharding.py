"""Programs for many devices before they are compiled: whose mesh, which shardings, what is given away, whose FLOP."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import export
from jax.sharding import AbstractMesh, AxisType, NamedSharding, use_abstract_mesh
from jax.sharding import PartitionSpec as P

from tpu_kernels.xray import sharding, slice_mesh, targets
from tpu_kernels.xray.errors import ProgramError
from tpu_kernels.xray.program import Program, lower

V5E = targets.target("v5e")
MESH = slice_mesh("v5e:4x4", data=8, model=2)
SPEC = jax.ShapeDtypeStruct((256, 256), jnp.float32)
PLAIN = AbstractMesh((8, 2), ("data", "model"), axis_types=(AxisType.Auto,) * 2)


def spread(*axes: str | None, mesh: AbstractMesh = MESH) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(SPEC.shape, SPEC.dtype, sharding=NamedSharding(mesh, P(*axes)))


def product(a: jax.Array, b: jax.Array) -> jax.Array:
    return a @ b


def mapped(a: jax.Array, b: jax.Array) -> jax.Array:
    each = jax.shard_map(
        lambda a, b: a @ b, mesh=MESH, in_specs=(P("data"), P(None, "model")), out_specs=P("data", "model")
    )
    return each(a, b)


def mapped_in_part(a: jax.Array, b: jax.Array) -> jax.Array:
    rows = jax.shard_map(
        lambda a, b: a @ b, mesh=MESH, in_specs=(P("data"), P()), out_specs=P("data"), axis_names={"data"}
    )
    return rows(a, b)


def around(a: jax.Array, b: jax.Array) -> jax.Array:
    return jax.lax.with_sharding_constraint(a, P("data")) @ b


def shardings(program: Program) -> list[P | None]:
    exported = export.deserialize(bytearray(program.code))
    found = exported.in_shardings_jax(PLAIN)
    return [one.spec if isinstance(one, NamedSharding) else None for one in found]


@pytest.mark.parametrize("mesh", [MESH, PLAIN])
def test_shardings_of_arguments_are_kept(mesh: AbstractMesh) -> None:
    program = lower(product, (spread("data", mesh=mesh), spread(None, "model", mesh=mesh)), V5E)
    assert program.axes.sides == {"data": 8, "model": 2}
    assert shardings(program) == [P("data"), P(None, "model")]
    assert export.deserialize(bytearray(program.code)).nr_devices == 16


def test_what_the_function_asks_is_taken_where_the_caller_says_nothing() -> None:
    assert shardings(lower(mapped, (SPEC, SPEC), V5E)) == [P("data"), P(None, "model")]
    both = (NamedSharding(MESH, P("model")), NamedSharding(MESH, P()))
    assert shardings(lower(jax.jit(product, in_shardings=both), (SPEC, SPEC), V5E)) == [P("model"), P()]
    assert shardings(lower(product, (spread("data"), SPEC), V5E)) == [P("data"), P()]


def test_what_it_asks_first_is_taken() -> None:
    def twice(a: jax.Array) -> jax.Array:
        first, second = (
            jax.lax.with_sharding_constraint(a, NamedSharding(MESH, P(axis))) for axis in ("data", "model")
        )
        return first + second

    assert shardings(lower(twice, (SPEC,), V5E)) == [P("data")]


def test_a_mesh_around_the_call_counts() -> None:
    with use_abstract_mesh(PLAIN):
        program = lower(around, (SPEC, SPEC), V5E)
    assert program.axes.devices == 16
    assert shardings(program) == [P("data"), P()]


def test_a_program_without_a_mesh_is_for_one_device() -> None:
    program = lower(product, (SPEC, SPEC), V5E)
    assert (program.axes.devices, program.axes.sides) == (1, {})


def test_two_meshes_are_refused_with_both() -> None:
    other = slice_mesh("v5e:4x4", data=16)
    with pytest.raises(ProgramError, match=r"8x2 \(data, model\); 16 \(data\)"):
        lower(product, (spread("data"), spread("data", mesh=other)), V5E)


@pytest.mark.parametrize(
    ("function", "specs"),
    [
        (product, (spread("data"), spread(None, "model"))),
        (mapped, (SPEC, SPEC)),
        (mapped_in_part, (SPEC, SPEC)),
    ],
)
def test_flops_are_a_devices_share(function: Callable[..., Any], specs: tuple[Any, ...]) -> None:
    assert lower(function, specs, V5E).flops == 2 * 256**3 // 16


def test_arguments_that_are_given_away_are_known() -> None:
    def step(a: jax.Array, b: jax.Array) -> tuple[jax.Array, jax.Array]:
        return a + b, a

    assert lower(jax.jit(step, donate_argnums=(0,)), (SPEC, SPEC), V5E).donated == (0,)
    assert lower(step, (SPEC, SPEC), V5E).donated == ()


def test_a_mesh_must_have_as_many_devices_as_its_slice() -> None:
    assert sharding.slice_mesh("tpu7x:2x2x1").axis_sizes == (8,)
    with pytest.raises(ProgramError, match=r"15 dispositivos.*16"):
        slice_mesh("v5e:4x4", data=5, model=3)
