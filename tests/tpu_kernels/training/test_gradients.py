"""However a batch is split, over devices, microbatches or both, its sums and its gradient are those of one device."""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from tpu_kernels.training import data_parallel, fsdp
from tpu_kernels.training.accumulation import accumulated
from tpu_kernels.training.batch import shard_batch
from tpu_kernels.training.loss import reduce, weighted_sums
from tpu_kernels.training.mesh import data_mesh
from tpu_kernels.training.precision import FLOAT32
from tpu_kernels.training.state import TrainState

CLOSE = 1e-6  # relative, of a leaf's norm: some ten roundings of float32
ROWS = {1: 10, 2: 13, 4: 5}  # by microbatches; no number of devices from 2 up divides all of them
COUNTS = range(1, 9)
MODULES = [data_parallel, fsdp]
FORMS = ["shard_map", "jit"]
REDUCTIONS = ["sum", "mean"]

rng = np.random.default_rng(7)
PARAMS = {
    "matrix": rng.normal(size=(12, 40)).astype(np.float32),
    "vector": rng.normal(size=40).astype(np.float32),
    "offset": np.float32(0.3),
}


def losses(params, batch, keys):
    hidden = jnp.tanh(batch["x"] @ params["matrix"])
    return (hidden @ params["vector"] + params["offset"] - batch["y"]) ** 2


def batch_of(rows):
    draw = np.random.default_rng(rows)
    return {
        "x": draw.normal(size=(rows, 12)).astype(np.float32),
        "y": draw.normal(size=rows).astype(np.float32),
        "weight": draw.uniform(0.25, 2.0, rows).astype(np.float32),
    }


@functools.cache
def on_one_device(rows, reduction):
    """By the formula, with none of the code under test."""
    batch = batch_of(rows)

    def loss(params):
        total = jnp.sum(batch["weight"] * losses(params, batch, None))
        return total / np.sum(batch["weight"]) if reduction == "mean" else total

    return jax.device_get(jax.jit(jax.value_and_grad(loss))(PARAMS))


def assert_same(got, expected, *what):
    for name, wanted in expected.items():
        assert np.linalg.norm(np.asarray(got[name]) - wanted) <= CLOSE * np.linalg.norm(wanted), (*what, name)


def remember_gradient():
    """An optimiser that changes nothing and whose state is the gradient that it was given."""

    def update(gradient, state, params=None):
        return jax.tree.map(jnp.zeros_like, gradient), gradient

    return optax.GradientTransformation(lambda params: jax.tree.map(jnp.zeros_like, params), update)


@pytest.mark.parametrize("devices", COUNTS)
def test_every_split_has_the_gradient_of_one_device_twice_bit_for_bit(devices):
    mesh = data_mesh(devices)
    batches = {parts: shard_batch(batch_of(rows), mesh, accumulate=parts) for parts, rows in ROWS.items()}
    keys = {parts: jax.random.split(jax.random.key(0), len(batch["y"])) for parts, batch in batches.items()}

    @jax.jit  # in one program, because compiling twelve takes much longer
    def every_split(params, batches, keys):
        sums = {}
        for module, form, parts in itertools.product(MODULES, FORMS, ROWS):
            split = module.FORMS[form](accumulated(weighted_sums(losses, FLOAT32), parts), mesh)
            sums[module.__name__, form, parts] = split(params, batches[parts], keys[parts])
        return sums

    once, again = every_split(PARAMS, batches, keys), every_split(PARAMS, batches, keys)
    for (name, form, parts), sums in once.items():
        for reduction in REDUCTIONS:
            loss, gradient = reduce(sums, reduction)
            expected_loss, expected = on_one_device(ROWS[parts], reduction)
            assert loss == pytest.approx(float(expected_loss), rel=CLOSE), (name, form, parts, reduction)
            assert_same(gradient, expected, name, form, parts, reduction)
    for first, second in zip(jax.tree.leaves(once), jax.tree.leaves(again), strict=True):
        assert np.asarray(first).tobytes() == np.asarray(second).tobytes()


@pytest.mark.parametrize(("form", "reduction"), [("shard_map", "sum"), ("jit", "mean")])
@pytest.mark.parametrize("module", MODULES, ids=["data_parallel", "fsdp"])
def test_a_step_hands_that_gradient_to_the_optimiser(module, form, reduction):
    mesh = data_mesh(4)
    step = module.make_step(losses, remember_gradient(), mesh=mesh, form=form, reduction=reduction, accumulate=2)
    after, metrics = step(
        TrainState.create(PARAMS, remember_gradient(), 0), shard_batch(batch_of(10), mesh, accumulate=2)
    )
    loss, gradient = on_one_device(10, reduction)
    assert_same(after.opt_state, gradient)
    norm = np.sqrt(sum(np.sum(np.square(leaf)) for leaf in jax.tree.leaves(gradient)))
    assert float(metrics["loss"]) == pytest.approx(float(loss), rel=CLOSE)
    assert float(metrics["grad_norm"]) == pytest.approx(float(norm), rel=CLOSE)
    assert float(metrics["weight"]) == pytest.approx(float(np.sum(batch_of(10)["weight"])), rel=CLOSE)
    assert {leaf.dtype for leaf in metrics.values()} == {jnp.dtype("float32")}
    assert int(after.step) == 1


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("module", MODULES, ids=["data_parallel", "fsdp"])
@pytest.mark.parametrize(("reduction", "expected"), [("sum", 2.0), ("mean", 1.0)])
def test_two_devices_that_see_one_each_sum_to_two_and_average_to_one(module, form, reduction, expected):
    def proportional(params, batch, keys):
        return params["w"] * batch["x"]

    optimizer = remember_gradient()
    step = module.make_step(proportional, optimizer, mesh=data_mesh(2), form=form, reduction=reduction)
    after, _ = step(TrainState.create({"w": np.float32(3)}, optimizer, 0), {"x": np.ones(2, np.float32)})
    copies = after.opt_state["w"].addressable_shards
    assert [float(copy.data) for copy in copies] == [expected, expected]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("module", MODULES, ids=["data_parallel", "fsdp"])
def test_a_gradient_is_clipped_by_the_norm_of_all_of_it(module, form):
    optimizer = optax.chain(optax.clip_by_global_norm(0.1), optax.sgd(1.0))
    mesh = data_mesh(4)
    after, metrics = module.make_step(losses, optimizer, mesh=mesh, form=form)(
        TrainState.create(PARAMS, optimizer, 0), shard_batch(batch_of(10), mesh)
    )
    _, gradient = on_one_device(10, "mean")
    norm = float(np.sqrt(sum(np.sum(np.square(leaf)) for leaf in jax.tree.leaves(gradient))))
    assert norm > 1
    for name, leaf in PARAMS.items():
        expected = leaf - np.asarray(gradient[name]) * (0.1 / norm)
        np.testing.assert_allclose(after.params[name], expected, rtol=0, atol=2e-7 * max(1.0, np.abs(leaf).max()))
    assert float(metrics["grad_norm"]) == pytest.approx(norm, rel=CLOSE)  # what came, not what was left of it


@pytest.mark.parametrize(("form", "inside_the_loop"), [("shard_map", False), ("jit", True)])
def test_microbatches_stay_on_their_devices_and_the_explicit_form_sums_once_after_the_last(form, inside_the_loop):
    mesh = data_mesh(4)
    batch = shard_batch(batch_of(16), mesh, accumulate=2)
    keys = jax.device_put(jax.random.split(jax.random.key(0), 16), batch["y"].sharding)
    params = jax.device_put(PARAMS, data_parallel.replicated(mesh))
    sums = jax.jit(data_parallel.FORMS[form](accumulated(weighted_sums(losses, FLOAT32), 2), mesh))
    loops, after = sums.lower(params, batch, keys).compile().as_text().split("\nENTRY ")
    assert ("all-reduce(" in loops, "all-reduce(" in after) == (inside_the_loop, not inside_the_loop)
    assert not any(moved in loops + after for moved in ("all-to-all", "collective-permute", "all-gather"))


def test_a_batch_that_is_all_padding_has_loss_and_gradient_zero():
    batch = batch_of(4) | {"weight": np.zeros(4, np.float32)}
    optimizer = remember_gradient()
    after, metrics = data_parallel.make_step(losses, optimizer)(TrainState.create(PARAMS, optimizer, 0), batch)
    assert {name: float(value) for name, value in metrics.items()} == {"loss": 0.0, "grad_norm": 0.0, "weight": 0.0}
    assert all(not np.any(leaf) for leaf in jax.tree.leaves(after.opt_state))
