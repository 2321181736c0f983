"""Computing in fewer bits: parameters stay float32, and what is lost stays within what rounding can do."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from tpu_kernels.training import classifier, data_parallel, transformer
from tpu_kernels.training.batch import shard_batch
from tpu_kernels.training.loss import weighted_sums
from tpu_kernels.training.mesh import data_mesh
from tpu_kernels.training.precision import FLOAT32, Policy
from tpu_kernels.training.state import TrainState

BF16 = Policy("bfloat16")
UNIT = 2.0**-8  # the most that rounding to bfloat16 changes a number, relatively

rng = np.random.default_rng(1)
PARAMS = {name: leaf + rng.normal(0, 0.1, leaf.shape).astype(np.float32) for name, leaf in classifier.init(0).items()}
BATCH = {
    "pixels": rng.uniform(size=(12, 64)).astype(np.float32),
    "label": rng.integers(0, 10, 12).astype(np.int32),
    "weight": rng.uniform(0.5, 2, 12).astype(np.float32),
}
KEYS = jax.random.split(jax.random.key(0), 12)


def sums_of(policy, losses, params, batch, keys):
    return jax.jit(weighted_sums(losses, policy))(params, batch, keys)


@pytest.mark.parametrize("dtype", ["bfloat16", jnp.bfloat16, np.dtype("float32"), "float16"])
def test_a_policy_takes_a_name_or_a_dtype(dtype):
    assert Policy(dtype).cast({"w": jnp.ones(2)})["w"].dtype == jnp.dtype(dtype)


@pytest.mark.parametrize("dtype", ["float64", "int8", "complex64"])
def test_other_dtypes_are_refused_by_name(dtype):
    with pytest.raises(ValueError, match=f"{dtype}. Se esperaba uno de estos: float32, bfloat16, float16"):
        Policy(dtype)


def test_integers_and_keys_are_not_cast():
    tree = {"label": jnp.arange(3), "tokens": jnp.ones(2, jnp.uint8), "key": jax.random.key(0)}
    assert jax.tree.map(lambda leaf: leaf.dtype, BF16.cast(tree)) == jax.tree.map(lambda leaf: leaf.dtype, tree)


def test_the_model_sees_few_bits_and_everything_that_is_kept_has_many():
    seen = {}

    def looked_at(params, batch, keys):
        seen.update(pixels=batch["pixels"].dtype, label=batch["label"].dtype, hidden=params["hidden"].dtype)
        return classifier.losses(params, batch, keys).astype(jnp.bfloat16)

    adam = optax.adam(1e-3)
    mesh = data_mesh(2)
    step = data_parallel.make_step(looked_at, adam, mesh=mesh, policy=BF16)
    after, metrics = step(TrainState.create(PARAMS, adam, 0), shard_batch(BATCH, mesh))
    assert seen == {"pixels": jnp.bfloat16, "label": jnp.int32, "hidden": jnp.bfloat16}
    kept = [leaf.dtype for leaf in jax.tree.leaves((after.params, after.opt_state, metrics)) if leaf.ndim]
    assert set(kept) == {jnp.dtype("float32")}
    assert float(metrics["weight"]) == pytest.approx(float(BATCH["weight"].sum()), rel=1e-6)  # not rounded


def test_the_loss_in_bfloat16_is_within_what_its_roundings_allow():
    """In float64 by the formula, with the bound: each product carries the roundings of its two factors.

    A cross-entropy moves by at most twice what its scores move.
    """
    exact = {name: np.asarray(leaf, np.float64) for name, leaf in (PARAMS | BATCH).items()}
    hidden = exact["pixels"] @ exact["hidden"] + exact["hidden_bias"]
    scores = np.maximum(hidden, 0) @ exact["out"] + exact["out_bias"]
    of_scores = np.log(np.exp(scores).sum(1)) - scores[np.arange(12), BATCH["label"]]
    two, slack = 2 * UNIT + UNIT**2, 1e-5  # slack: the sums, in float32
    off = two * (np.abs(exact["pixels"]) @ np.abs(exact["hidden"])) + UNIT * np.abs(exact["hidden_bias"])
    off += UNIT * (np.abs(hidden) + off)  # the hidden layer is rounded for the next product
    off = off @ np.abs(exact["out"]) * (1 + UNIT) + UNIT * (np.abs(hidden) @ np.abs(exact["out"]))
    off += UNIT * np.abs(exact["out_bias"]) + slack
    bound = np.sum(BATCH["weight"] * 2 * off.max(axis=1))
    expected = np.sum(BATCH["weight"] * of_scores)
    narrow = float(sums_of(BF16, classifier.losses, PARAMS, BATCH, KEYS).loss)
    wide = float(sums_of(FLOAT32, classifier.losses, PARAMS, BATCH, KEYS).loss)
    assert abs(wide - expected) < 1e-5 * expected
    assert 1e-4 * expected < abs(narrow - expected) <= bound


def test_the_gradient_in_bfloat16_is_within_a_rounding_for_each_layer_it_crosses():
    wide = sums_of(FLOAT32, classifier.losses, PARAMS, BATCH, KEYS).gradient
    narrow = sums_of(BF16, classifier.losses, PARAMS, BATCH, KEYS).gradient
    for name, leaf in wide.items():
        # Operands twice, hidden layer, its gradient, the result; scores that moved change the softmax as much again.
        assert np.linalg.norm(narrow[name] - leaf) <= 2 * 5 * UNIT * np.linalg.norm(leaf), name


def test_the_gradient_of_an_embedding_row_that_thousands_of_tokens_share_is_not_lost():
    """Added one by one in bfloat16, a sum of equal terms stops growing at 256 of them."""
    config = transformer.Config(vocabulary=4, context=64, width=8, layers=1, heads=1)
    params = transformer.init(config, 0)
    batch = {"tokens": np.ones((64, 65), np.uint8), "weight": np.ones(64, np.float32)}  # 4,096 times the same
    keys = jax.random.split(jax.random.key(0), 64)

    def losses(params, batch, keys):
        return transformer.losses(params, batch, keys, config=config)

    wide = sums_of(FLOAT32, losses, params, batch, keys).gradient
    narrow = sums_of(BF16, losses, params, batch, keys).gradient
    for name in ("embedding", "position", "norm_attention", "norm_final"):
        difference = np.linalg.norm(np.asarray(narrow[name]) - np.asarray(wide[name]))
        assert difference <= 0.05 * np.linalg.norm(wide[name]), name
