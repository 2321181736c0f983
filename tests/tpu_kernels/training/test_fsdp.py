"""Parameters and optimiser state in parts: each device holds its n-th, before a step and after it."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from tpu_kernels.training import data_parallel, fsdp
from tpu_kernels.training.accumulation import accumulated
from tpu_kernels.training.batch import shard_batch
from tpu_kernels.training.loss import weighted_sums
from tpu_kernels.training.mesh import data_mesh
from tpu_kernels.training.precision import FLOAT32
from tpu_kernels.training.state import TrainState

FORMS = ["shard_map", "jit"]
adam = optax.adam(0.01)
PARAMS = {"matrix": np.ones((16, 24), np.float32) / 8, "vector": np.arange(24, dtype=np.float32)}
SPLIT = 3 * 4 * (16 * 24 + 24)  # bytes: parameters and two moments
WHOLE = 4 + 4 + 8  # step, adam's count, key


def losses(params, batch, keys):
    return jnp.tanh(batch["x"] @ params["matrix"]) @ params["vector"]


def batch_of(rows):
    return {"x": np.linspace(0, 1, rows * 16, dtype=np.float32).reshape(rows, 16)}


@pytest.mark.parametrize(
    ("shape", "n", "expected"),
    [
        ((16, 24), 8, 1),
        ((24, 16), 8, 0),
        ((8, 8), 8, 0),  # the first among equals
        ((16, 30), 8, 0),  # the largest that is divided, not the largest
        ((3, 5, 40), 8, 2),
        ((7, 9), 8, None),
        ((), 8, None),
        ((0, 3), 8, None),
        ((7,), 1, 0),
    ],
)
def test_a_leaf_is_split_along_its_largest_dimension_that_the_devices_divide(shape, n, expected):
    assert fsdp.split_dimension(shape, n) == expected


@pytest.mark.parametrize("n", [1, 2, 4, 8])
def test_memory_of_each_device_falls_as_one_over_their_number(n):
    mesh = data_mesh(n)
    state = fsdp.create_state(PARAMS, adam, 0, mesh)
    held = dict.fromkeys(jax.devices()[:n], SPLIT // n + WHOLE)
    assert fsdp.bytes_per_device(state) == held
    for form in FORMS:
        after, _ = fsdp.make_step(losses, adam, mesh=mesh, form=form)(state, batch_of(8))
        assert fsdp.bytes_per_device(after) == held
    copies, _ = data_parallel.make_step(losses, adam, mesh=mesh)(TrainState.create(PARAMS, adam, 0), batch_of(8))
    assert fsdp.bytes_per_device(copies) == dict.fromkeys(jax.devices()[:n], SPLIT + WHOLE)


@pytest.mark.parametrize("form", FORMS)
def test_state_that_an_optimiser_makes_anew_is_in_parts_too(form):
    """What depends on no array that is in parts, the compiler alone would put whole on every device."""
    forgetful = optax.GradientTransformation(
        lambda params: jax.tree.map(jnp.ones_like, params),
        lambda gradient, memory, params=None: (gradient, jax.tree.map(lambda leaf: jnp.ones(leaf.shape), memory)),
    )
    mesh = data_mesh(8)
    state = fsdp.create_state(PARAMS, forgetful, 0, mesh)
    after, _ = fsdp.make_step(losses, forgetful, mesh=mesh, form=form)(state, batch_of(8))
    assert fsdp.bytes_per_device(after) == fsdp.bytes_per_device(state)


def test_a_leaf_that_no_dimension_divides_is_whole_on_every_device_and_still_trained():
    mesh = data_mesh(5)
    state = fsdp.create_state({"matrix": np.ones((16, 24), np.float32), "vector": PARAMS["vector"]}, adam, 0, mesh)
    assert state.params["matrix"].sharding.is_fully_replicated
    after, _ = fsdp.make_step(losses, adam, mesh=mesh)(state, batch_of(10))
    assert np.all(np.asarray(after.params["vector"]) != PARAMS["vector"])


def test_a_state_made_in_parts_is_the_state_made_whole():
    whole, parts = TrainState.create(PARAMS, adam, 3), fsdp.create_state(PARAMS, adam, 3, data_mesh(8))
    assert jax.tree.structure(whole) == jax.tree.structure(parts)
    for expected, got in zip(jax.tree.leaves(whole), jax.tree.leaves(parts), strict=True):
        assert expected.dtype == got.dtype
        assert jnp.array_equal(expected, jax.device_put(got, jax.devices()[0]))


def test_a_parameter_that_is_not_float32_is_refused_there_too():
    with pytest.raises(TypeError, match="se esperaba float32"):
        fsdp.create_state({"w": np.ones(8, np.float16)}, adam, 0, data_mesh(2))


def test_the_explicit_form_gathers_parameters_and_scatters_gradients_once_however_many_microbatches():
    mesh = data_mesh(8)
    batch = shard_batch(batch_of(16), mesh, accumulate=2)
    keys = jax.random.split(jax.random.key(0), 16)
    sums = jax.jit(fsdp.on_each_device(accumulated(weighted_sums(losses, FLOAT32), 2), mesh))
    text = sums.lower(PARAMS, batch, keys).as_text()
    assert [text.count(f'"stablehlo.{name}"') for name in ("all_gather", "reduce_scatter", "all_reduce")] == [2, 2, 2]


@pytest.mark.parametrize("form", FORMS)
def test_a_norm_is_of_whole_leaves_when_each_device_holds_a_part(form):
    """Clipped by the norm of its own part, each device would take a longer step."""
    optimizer = optax.chain(optax.clip_by_global_norm(1e-2), optax.sgd(1.0))
    mesh = data_mesh(8)
    state = fsdp.create_state(PARAMS, optimizer, 0, mesh)
    after, metrics = fsdp.make_step(losses, optimizer, mesh=mesh, form=form, reduction="sum")(state, batch_of(8))
    moved = jax.tree.map(lambda new, old: np.asarray(new, np.float64) - old, after.params, PARAMS)
    distance = np.sqrt(sum(np.sum(leaf**2) for leaf in moved.values()))
    assert float(metrics["grad_norm"]) > 1
    assert distance == pytest.approx(1e-2, rel=1e-3)
