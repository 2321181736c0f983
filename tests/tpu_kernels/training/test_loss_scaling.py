"""Loss scaling keeps gradients that float16 would lose, and steps over those that overflow."""

import jax.numpy as jnp
import numpy as np
import optax
import pytest

from tpu_kernels.training import data_parallel, fsdp
from tpu_kernels.training.loss_scaling import current_scale, loss_scaled
from tpu_kernels.training.mesh import data_mesh
from tpu_kernels.training.precision import Policy
from tpu_kernels.training.state import TrainState

SMALL = 2.0**-26  # below half of the smallest number of float16
sgd = optax.sgd(1.0)
F16 = Policy("float16")


def faint(params, batch, keys):
    """Its gradient passes through float16 on the way to ``w``."""
    return (params["w"] * batch["x"]).astype(jnp.float32) * SMALL


def run(optimizer, *, module=data_parallel, devices=1, reduction="mean", x=(1, 1, 1, 1)):
    step = module.make_step(faint, optimizer, mesh=data_mesh(devices), reduction=reduction, policy=F16)
    return step(TrainState.create({"w": np.float32(0)}, optimizer, 0), {"x": np.array(x, np.float32)})


def test_without_scaling_a_faint_gradient_is_zero():
    after, metrics = run(sgd)
    assert float(after.params["w"]) == 0.0
    assert float(metrics["grad_norm"]) == 0.0


@pytest.mark.parametrize(("reduction", "size"), [("mean", SMALL), ("sum", 4 * SMALL)])
@pytest.mark.parametrize("module", [data_parallel, fsdp], ids=["data_parallel", "fsdp"])
def test_with_scaling_it_arrives_with_its_own_size(module, reduction, size):
    after, metrics = run(loss_scaled(sgd, growth_interval=None), module=module, devices=2, reduction=reduction)
    assert float(after.params["w"]) == -size
    assert float(metrics["grad_norm"]) == size
    assert float(metrics["weight"]) == 4.0
    assert float(current_scale(after.opt_state)) == 2.0**15


@pytest.mark.parametrize(("growth_interval", "scale"), [(None, 2.0**60), (2000, 2.0**59)])
def test_a_step_that_overflows_changes_nothing_but_a_dynamic_scale(growth_interval, scale):
    optimizer = loss_scaled(optax.adam(1.0), initial=2.0**60, growth_interval=growth_interval)
    after, metrics = run(optimizer)
    assert not np.isfinite(float(metrics["grad_norm"]))
    assert float(after.params["w"]) == 0.0
    assert int(after.opt_state.inner[0].count) == 0
    assert float(current_scale(after.opt_state)) == scale
    assert int(after.step) == 1


def test_one_device_that_overflows_stops_all_of_them():
    after, _ = run(loss_scaled(sgd, initial=2.0**30), devices=4, x=(1, 1, 6e4, 1))
    assert [float(copy.data) for copy in after.params["w"].addressable_shards] == [0.0] * 4
    assert float(current_scale(after.opt_state)) == 2.0**29


def test_the_scale_doubles_after_as_many_good_steps_as_were_asked_for_and_again():
    optimizer = loss_scaled(sgd, initial=4.0, growth_interval=2)
    opt_state = optimizer.init({"w": jnp.zeros(1)})
    seen = []
    for gradient in (1.0, 1.0, 1.0, 1.0, 1.0, jnp.inf, 1.0, 1.0):
        _, opt_state = optimizer.update({"w": jnp.full(1, gradient)}, opt_state, {"w": jnp.zeros(1)})
        seen.append(float(current_scale(opt_state)))
    assert seen == [4.0, 8.0, 8.0, 16.0, 16.0, 8.0, 8.0, 16.0]


def test_the_scale_is_found_inside_a_chain_and_is_one_without():
    chained = optax.chain(optax.clip_by_global_norm(1.0), loss_scaled(sgd, initial=64.0))
    assert float(current_scale(chained.init({"w": jnp.zeros(1)}))) == 64.0
    assert float(current_scale(optax.adam(1.0).init({"w": jnp.zeros(1)}))) == 1.0
    after, _ = run(optax.chain(optax.clip_by_global_norm(1.0), loss_scaled(sgd)))
    assert float(after.params["w"]) == -SMALL
