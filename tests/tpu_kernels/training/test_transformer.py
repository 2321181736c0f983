"""The transformer computes what its description says, costs what its formula says, and learns."""

import functools
import math
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from tpu_kernels.models.parallelism import transformer as shape_of
from tpu_kernels.training import data_parallel, fsdp, transformer
from tpu_kernels.training.batch import shard_batch
from tpu_kernels.training.mesh import data_mesh
from tpu_kernels.training.precision import Policy
from tpu_kernels.training.state import TrainState
from tpu_kernels.training.transformer import Config

SMALL = Config(vocabulary=11, context=8, width=12, layers=2, heads=3)
adam = optax.adam(1e-2)
rng = np.random.default_rng(4)
TOKENS = rng.integers(0, 11, (6, 9)).astype(np.int32)

losses = jax.jit(transformer.losses, static_argnames="config")
logits = jax.jit(transformer.logits, static_argnames="config")


def random_params(config):
    """Not the first parameters: with gains of 1 and small weights, a wrong formula can be nearly right."""
    draw = np.random.default_rng(9)
    return {name: draw.normal(0.1, 0.5, shape).astype(np.float32) for name, shape in transformer.shapes(config).items()}


def in_float64(params, tokens, config):
    """Token by token and head by head, from the description."""
    p = {name: np.asarray(leaf, np.float64) for name, leaf in params.items()}
    size = config.width // config.heads

    def norm(x):
        return x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + 1e-6)

    results = []
    for sequence in tokens:
        x = np.array([p["embedding"][token] + p["position"][i] for i, token in enumerate(sequence)])
        for layer in range(config.layers):
            mixed = (norm(x) * p["norm_attention"][layer]) @ p["query_key_value"][layer]
            query, key, value = np.split(mixed, 3, axis=-1)
            gathered = np.zeros_like(x)
            for head in range(config.heads):
                of = slice(head * size, (head + 1) * size)
                for i in range(len(x)):
                    scores = key[: i + 1, of] @ query[i, of] / math.sqrt(size)
                    shares = np.exp(scores - scores.max())
                    gathered[i, of] = shares / shares.sum() @ value[: i + 1, of]
            x = x + gathered @ p["attention_out"][layer]
            hidden = (norm(x) * p["norm_mlp"][layer]) @ p["up"][layer]
            gelu = 0.5 * hidden * (1 + np.tanh(math.sqrt(2 / math.pi) * (hidden + 0.044715 * hidden**3)))
            x = x + gelu @ p["down"][layer]
        results.append((norm(x) * p["norm_final"]) @ p["embedding"].T)
    return np.array(results)


def test_its_scores_are_those_of_the_formula():
    params = random_params(SMALL)
    got = logits(params, TOKENS[:, :-1], config=SMALL)
    expected = in_float64(params, TOKENS[:, :-1], SMALL)
    assert got.dtype == jnp.float32
    np.testing.assert_allclose(got, expected, rtol=0, atol=2e-6 * np.abs(expected).max())


def test_its_loss_is_the_mean_over_the_predictions_of_each_example():
    params = random_params(SMALL)
    scores = in_float64(params, TOKENS[:, :-1], SMALL)
    shifted = scores - scores.max(-1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    expected = -np.take_along_axis(logs, TOKENS[:, 1:, None], axis=-1)[..., 0].mean(axis=1)
    got = losses(params, {"tokens": TOKENS}, None, config=SMALL)
    assert (got.shape, got.dtype) == ((6,), jnp.float32)
    np.testing.assert_allclose(got, expected, rtol=1e-4)


def test_a_position_does_not_see_what_comes_after_it():
    params, changed = random_params(SMALL), TOKENS[:, :-1].copy()
    changed[:, 5] = (changed[:, 5] + 1) % 11
    before, after = (logits(params, tokens, config=SMALL) for tokens in (TOKENS[:, :-1], changed))
    np.testing.assert_array_equal(before[:, :5], after[:, :5])
    assert np.all(np.any(np.asarray(before[:, 5:] != after[:, 5:]), axis=-1))


def test_first_parameters_are_drawn_in_the_order_of_their_names():
    config = Config(vocabulary=5, context=3, width=4, layers=2, heads=2)
    draw = np.random.default_rng(8)
    params = transformer.init(config, 8)
    assert list(params) == list(transformer.shapes(config))
    for name, leaf in params.items():
        assert leaf.dtype == np.float32
        if name.startswith("norm"):
            np.testing.assert_array_equal(leaf, np.ones_like(leaf))
        else:
            scale = 0.02 / (2.0 if name in ("attention_out", "down") else 1.0)  # sqrt(2 L) = 2
            np.testing.assert_allclose(leaf, draw.normal(0.0, scale, leaf.shape), rtol=1e-6)


def test_shape_and_first_parameters_come_without_jax():
    program = "import sys, tpu_kernels.training.transformer_config; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


def programs_in(params):
    """The programs that an operation of a program holds: the body of a loop, a function."""
    for value in params.values():
        for one in value if isinstance(value, tuple | list) else [value]:
            program = getattr(one, "jaxpr", one)
            if hasattr(program, "eqns"):
                yield program


def products_in(jaxpr):
    """FLOP of the products that a program holds, those of a loop as often as it turns."""
    total = 0
    for equation in jaxpr.eqns:
        if equation.primitive.name == "dot_general":
            (contracted, _), _ = equation.params["dimension_numbers"]
            inner = math.prod(equation.invars[0].aval.shape[d] for d in contracted)
            total += 2 * math.prod(equation.outvars[0].aval.shape) * inner
        turns = equation.params.get("length", 1) if equation.primitive.name == "scan" else 1
        total += turns * sum(products_in(inside) for inside in programs_in(equation.params))
    return total


@pytest.mark.parametrize("length", [8, 5])
def test_flops_per_token_are_those_of_the_products_of_a_training_step(length):
    batch = {"tokens": jnp.zeros((6, length + 1), jnp.int32)}
    params = transformer.init(SMALL, 0)

    def loss(params):
        return jnp.sum(transformer.losses(params, batch, None, config=SMALL))

    counted = products_in(jax.make_jaxpr(jax.value_and_grad(loss))(params).jaxpr)
    assert counted == 6 * length * transformer.training_flops_per_token(SMALL, length)


def test_flops_per_token_are_those_of_the_course_s_model_of_a_transformer():
    config = Config(vocabulary=256, context=64, width=96, layers=3, heads=4)
    model = shape_of.define(layers=3, d_model=96, d_ff=384, heads=4, vocabulary=256, gated=False, tied=True)
    expected = float(model.flops_per_token(64, training=True, causal=False))
    assert transformer.training_flops_per_token(config) == expected


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("layers", 0, "layers = 0"),
        ("width", 13, "width = 13 no se reparte entre heads = 3"),
        ("dropout", 1.0, "dropout = 1,0"),
        ("dropout", -0.1, "dropout = -0,1"),
    ],
)
def test_an_impossible_shape_is_refused(field, value, message):
    with pytest.raises(ValueError, match=message):
        Config(**{"vocabulary": 11, "context": 8, "width": 12, "layers": 2, "heads": 3, field: value})


def test_a_sequence_longer_than_the_context_is_refused():
    with pytest.raises(ValueError, match="predice 9 tokens y el contexto del modelo es de 8"):
        transformer.losses(transformer.init(SMALL, 0), {"tokens": np.zeros((2, 10), np.int32)}, None, config=SMALL)


def test_tokens_that_are_not_integers_are_refused():
    with pytest.raises(TypeError, match="Los tokens son float32"):
        transformer.losses(transformer.init(SMALL, 0), {"tokens": jnp.zeros((2, 9))}, None, config=SMALL)


@pytest.mark.parametrize("token", [11, -1, -100])
@pytest.mark.parametrize("place", [0, 4, 8])
def test_a_token_outside_the_vocabulary_makes_its_example_nan_and_is_found_on_the_host(token, place):
    tokens = TOKENS.copy()
    tokens[2, place] = token
    got = losses(random_params(SMALL), {"tokens": jnp.asarray(tokens)}, None, config=SMALL)
    assert np.isnan(got).tolist() == [False, False, True, False, False, False]
    with pytest.raises(ValueError, match=rf"El token {token} en la posición \(2, {place}\) .* de 0 a 10"):
        transformer.check_tokens(tokens, SMALL)
    transformer.check_tokens(TOKENS, SMALL)


def test_every_byte_is_a_token():
    config = Config(vocabulary=256, context=255, width=4, layers=1, heads=1)
    tokens = np.arange(256, dtype=np.uint8)[None]
    got, expected = (
        losses(random_params(config), {"tokens": form}, None, config=config)
        for form in (jnp.asarray(tokens), jnp.asarray(tokens, jnp.int32))
    )
    assert np.isfinite(got[0])
    np.testing.assert_array_equal(got, expected)


def test_dropout_changes_training_alone_and_keeps_the_mean():
    config = Config(vocabulary=11, context=8, width=12, layers=2, heads=3, dropout=0.25)
    params, keys = transformer.init(SMALL, 0), jax.random.split(jax.random.key(0), 6)
    still = losses(params, {"tokens": TOKENS}, None, config=SMALL)
    dropped = losses(params, {"tokens": TOKENS}, keys, config=config)
    assert np.all(np.asarray(dropped) != np.asarray(still))
    assert transformer._dropout(still, None, 0, 0.25) is still
    dropout = jax.jit(transformer._dropout, static_argnums=3)
    ones, other = (dropout(jnp.ones((2, 100, 100)), keys[:2], place, 0.25) for place in (0, 1))
    assert set(np.unique(ones)) == {np.float32(0), np.float32(1 / 0.75)}
    assert np.mean(ones) == pytest.approx(1.0, abs=5 * math.sqrt(0.25 / 0.75 / 20_000))
    assert np.any(np.asarray(ones)[0] != np.asarray(ones)[1])
    assert np.any(np.asarray(ones) != np.asarray(other))


@pytest.mark.parametrize(
    ("module", "form", "policy"),
    [(data_parallel, "shard_map", Policy()), (fsdp, "jit", Policy("bfloat16"))],
    ids=["data parallel, float32", "fsdp, bfloat16"],
)
def test_it_learns_a_batch_by_heart(module, form, policy):
    model, mesh = functools.partial(transformer.losses, config=SMALL), data_mesh(2)
    step = module.make_step(model, adam, mesh=mesh, form=form, policy=policy, donate=True)
    state = TrainState.create(transformer.init(SMALL, 0), adam, 0)
    batch = shard_batch({"tokens": TOKENS}, mesh)
    history = []
    for _ in range(40):
        state, metrics = step(state, batch)
        history.append(metrics["loss"])
    assert float(history[0]) == pytest.approx(math.log(11), rel=0.05)  # at first it knows nothing
    assert float(history[-1]) < 0.3 * float(history[0])


def test_a_step_with_the_course_s_own_product_gives_the_same_parameters():
    kernels = pytest.importorskip("tpu_kernels.kernels")
    own = functools.partial(kernels.matmul, out_dtype=jnp.float32, backend="reference")
    config = Config(vocabulary=11, context=8, width=12, layers=1, heads=3)
    after = []
    for product in (transformer.product, own):
        model = functools.partial(transformer.losses, config=config, product=product)
        step = data_parallel.make_step(model, optax.sgd(0.1))
        state = TrainState.create(transformer.init(config, 0), optax.sgd(0.1), 0)
        after.append(step(state, {"tokens": TOKENS}))
    (ours, ours_metrics), (theirs, their_metrics) = after
    assert float(ours_metrics["loss"]) == pytest.approx(float(their_metrics["loss"]), rel=1e-6)
    for name, leaf in ours.params.items():
        np.testing.assert_allclose(leaf, theirs.params[name], rtol=0, atol=1e-6)
