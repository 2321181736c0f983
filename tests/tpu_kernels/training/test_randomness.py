"""Random numbers differ where they must, and are the same where a number of devices must not show."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.sharding import PartitionSpec

from tpu_kernels.training import data_parallel, fsdp
from tpu_kernels.training.batch import shard_batch
from tpu_kernels.training.mesh import data_mesh
from tpu_kernels.training.randomness import example_keys, shard_key
from tpu_kernels.training.state import TrainState

KEY = jax.random.key(11)
sgd = optax.sgd(0.1)


def draws_of_shards(n, step):
    def program():
        return jax.random.uniform(shard_key(KEY, step, "data"), (1,))

    run = jax.shard_map(program, mesh=data_mesh(n), in_specs=(), out_specs=PartitionSpec("data"), check_vma=False)
    return np.asarray(run()).tolist()


def test_shards_and_steps_draw_different_numbers_and_repeat_draws_the_same():
    draws = draws_of_shards(8, 0) + draws_of_shards(8, 1)
    assert len(set(draws)) == 16
    assert draws_of_shards(8, 0) == draws[:8]


def test_examples_and_steps_have_different_keys_whatever_the_size_of_the_batch():
    ten, four = example_keys(KEY, 3, 10), example_keys(KEY, 3, 4)
    assert jnp.array_equal(ten[:4], four)
    both = jnp.concatenate([ten, example_keys(KEY, 4, 10)])
    assert len({tuple(row) for row in jax.random.key_data(both).tolist()}) == 20


def noisy(params, batch, keys):
    """A linear model whose inputs are dropped by half."""
    kept = jax.vmap(lambda key: jax.random.bernoulli(key, 0.5, (16,)))(keys)
    return (jnp.where(kept, batch["x"], 0) @ params["w"] - 1.0) ** 2


@functools.cache
def one_step(module, form, devices, accumulate, step_number=0):
    mesh = data_mesh(devices)
    x = np.random.default_rng(0).normal(size=(10, 16)).astype(np.float32)
    state = TrainState.create({"w": np.ones(16, np.float32)}, sgd, 7)
    state = TrainState(jnp.int32(step_number), state.params, state.opt_state, state.key)
    step = module.make_step(noisy, sgd, mesh=mesh, form=form, accumulate=accumulate)
    after, metrics = step(state, shard_batch({"x": x}, mesh, accumulate=accumulate))
    return np.asarray(after.params["w"]), float(metrics["loss"])


@pytest.mark.parametrize(
    ("module", "form", "devices", "accumulate"),
    [
        (data_parallel, "shard_map", 1, 2),
        (data_parallel, "shard_map", 8, 1),
        (data_parallel, "jit", 3, 2),
        (fsdp, "shard_map", 4, 2),
        (fsdp, "jit", 8, 1),
    ],
)
def test_what_a_model_drops_does_not_depend_on_devices_forms_or_microbatches(module, form, devices, accumulate):
    expected_params, expected_loss = one_step(data_parallel, "shard_map", 1, 1)
    params, loss = one_step(module, form, devices, accumulate)
    assert loss == pytest.approx(expected_loss, rel=1e-6)
    np.testing.assert_allclose(params, expected_params, rtol=0, atol=1e-6)


def test_the_next_step_drops_something_else():
    assert one_step(data_parallel, "shard_map", 1, 1)[1] != one_step(data_parallel, "shard_map", 1, 1, 1)[1]
