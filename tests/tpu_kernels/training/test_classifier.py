"""The classifier of digits computes what its description says, and learns."""

import jax.numpy as jnp
import numpy as np
import optax
import pytest

from tpu_kernels.training import classifier, data_parallel
from tpu_kernels.training.batch import shard_batch
from tpu_kernels.training.mesh import data_mesh
from tpu_kernels.training.state import TrainState

rng = np.random.default_rng(2)
PIXELS = rng.uniform(size=(10, 64)).astype(np.float32)
LABEL = rng.integers(0, 10, 10).astype(np.int32)


def test_its_losses_are_those_of_the_formula():
    params = {name: leaf + rng.normal(size=leaf.shape).astype(np.float32) for name, leaf in classifier.init(0).items()}
    exact = {name: leaf.astype(np.float64) for name, leaf in params.items()}
    scores = np.maximum(PIXELS @ exact["hidden"] + exact["hidden_bias"], 0) @ exact["out"] + exact["out_bias"]
    expected = np.log(np.exp(scores).sum(1)) - scores[np.arange(10), LABEL]
    got = classifier.losses(params, {"pixels": jnp.asarray(PIXELS), "label": jnp.asarray(LABEL)}, None)
    assert (got.shape, got.dtype) == ((10,), jnp.float32)
    np.testing.assert_allclose(got, expected, rtol=0, atol=2e-6 * np.abs(scores).max())


@pytest.mark.parametrize("label", [10, -1])
def test_a_label_that_is_no_digit_makes_its_loss_nan(label):
    labels = LABEL.copy()
    labels[3] = label
    got = classifier.losses(classifier.init(0), {"pixels": PIXELS, "label": jnp.asarray(labels)}, None)
    assert np.flatnonzero(np.isnan(got)).tolist() == [3]


def test_it_learns_a_batch_by_heart():
    adam, mesh = optax.adam(1e-2), data_mesh(4)
    step = data_parallel.make_step(classifier.losses, adam, mesh=mesh)
    state, batch = TrainState.create(classifier.init(0), adam, 0), shard_batch({"pixels": PIXELS, "label": LABEL}, mesh)
    state, first = step(state, batch)
    for _ in range(30):
        state, last = step(state, batch)
    assert float(first["loss"]) > 1.5
    assert float(last["loss"]) < 0.05


def test_first_parameters_keep_the_variance_of_what_passes():
    params = classifier.init(3)
    assert {name: leaf.shape for name, leaf in params.items()} == {
        "hidden": (64, 128),
        "hidden_bias": (128,),
        "out": (128, 10),
        "out_bias": (10,),
    }
    assert params["hidden"].std() == pytest.approx(np.sqrt(2 / 64), rel=0.05)
    assert params["out"].std() == pytest.approx(np.sqrt(2 / 128), rel=0.1)
    assert not params["hidden_bias"].any()
