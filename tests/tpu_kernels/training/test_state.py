"""A state holds float32 and copies."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from tpu_kernels.training.state import TrainState


def test_a_new_state_is_at_step_zero_with_the_parameters_it_was_given():
    state = TrainState.create({"w": np.ones(3, np.float32)}, optax.adam(0.1), 5)
    assert (int(state.step), state.step.dtype) == (0, jnp.int32)
    assert isinstance(state.params["w"], jax.Array)
    assert state.key == jax.random.key(5)
    assert jax.tree.unflatten(jax.tree.structure(state), jax.tree.leaves(state)).params is not None


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "int32", "float64"])
def test_a_parameter_that_is_not_float32_is_named(dtype):
    params = {"layers": [{"w": np.ones(2, np.float32)}, {"w": np.ones(2, jnp.dtype(dtype))}]}
    with pytest.raises(TypeError, match=rf"\['layers'\]\[1\]\['w'\]: se recibió {dtype} y se esperaba float32"):
        TrainState.create(params, optax.sgd(0.1), 0)


def test_no_two_leaves_share_a_buffer_with_each_other_or_with_the_caller():
    given = {"w": jnp.ones(3)}
    keeping = optax.GradientTransformation(
        lambda params: params, lambda gradient, state, params=None: (gradient, state)
    )
    state = TrainState.create(given, keeping, 0)
    arrays = [given["w"], state.params["w"], state.opt_state["w"]]
    assert len({array.unsafe_buffer_pointer() for array in arrays}) == 3
