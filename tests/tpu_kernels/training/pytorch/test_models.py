"""The PyTorch models are the JAX models: the same numbers in, the same losses and gradients out."""

from functools import partial

import jax
import numpy as np
import pytest
import torch

from tests.tpu_kernels.training.pytorch.examples import (
    CONFIG,
    classifier_arrays,
    pixel_batch,
    token_batch,
    transformer_arrays,
)
from tpu_kernels.training import classifier as jax_classifier
from tpu_kernels.training import transformer as jax_transformer
from tpu_kernels.training.pytorch.classifier import Classifier
from tpu_kernels.training.pytorch.cross_entropy import cross_entropy
from tpu_kernels.training.pytorch.layout import OneDevice
from tpu_kernels.training.pytorch.transformer import Transformer
from tpu_kernels.training.transformer_config import Config

# Sums of at most a few hundred float32 terms in other orders: a few hundred times 2**-24, and less than that.
CLOSE = 1e-5


def tensors(batch, device="cpu"):
    return {name: torch.tensor(array).to(device) for name, array in batch.items()}


def in_jax(losses, arrays, batch):
    """Each example's loss, and the gradient of their weighted sum."""

    def total(params):
        each = losses(params, batch, None)
        return (batch["weight"] * each).sum(), each

    (_, each), gradient = jax.value_and_grad(total, has_aux=True)(arrays)
    return np.asarray(each), {name: np.asarray(leaf) for name, leaf in gradient.items()}


def in_torch(model, batch, device):
    model = model.to(device)
    placed = tensors(batch, device)
    each = model(placed)
    (placed["weight"] * each).sum().backward()
    OneDevice(torch.device(device)).sync()  # or each number that is read would be a program to compile
    gradient = {name: parameter.grad.cpu().numpy() for name, parameter in model.named_parameters()}
    return each.detach().cpu().numpy(), gradient


def assert_same(found, expected):
    each, gradient = found
    expected_each, expected_gradient = expected
    np.testing.assert_allclose(each, expected_each, rtol=CLOSE)
    assert gradient.keys() == expected_gradient.keys()
    for name, leaf in gradient.items():
        error = np.linalg.norm(leaf - expected_gradient[name]) / np.linalg.norm(expected_gradient[name])
        assert error < CLOSE, name


@pytest.mark.parametrize("device", ["cpu", "xla"])
def test_the_transformer_has_the_losses_and_gradients_of_the_one_in_jax(device):
    arrays, batch = transformer_arrays(), token_batch(5)
    expected = in_jax(partial(jax_transformer.losses, config=CONFIG), arrays, batch)
    assert_same(in_torch(Transformer.from_arrays(CONFIG, arrays), batch, device), expected)


@pytest.mark.parametrize("device", ["cpu", "xla"])
def test_the_classifier_has_the_losses_and_gradients_of_the_one_in_jax(device):
    arrays, batch = classifier_arrays(), pixel_batch(7)
    expected = in_jax(jax_classifier.losses, arrays, batch)
    assert_same(in_torch(Classifier.from_arrays(arrays), batch, device), expected)


@pytest.mark.parametrize("device", ["cpu", "xla"])
@pytest.mark.parametrize("token", [-1, CONFIG.vocabulary, 2**31 - 1])
@pytest.mark.parametrize("place", [0, 4, CONFIG.context], ids=["first", "middle", "last"])
def test_a_token_that_is_none_makes_its_own_loss_nan_as_in_jax(device, token, place):
    batch = {"tokens": token_batch(3)["tokens"].astype(np.int32)}
    batch["tokens"][1, place] = token
    arrays = transformer_arrays()
    expected = jax_transformer.losses(arrays, batch, None, config=CONFIG)
    with torch.no_grad():
        found = Transformer.from_arrays(CONFIG, arrays).to(device)(tensors(batch, device)).cpu().numpy()
    assert np.isnan(found).tolist() == np.isnan(expected).tolist() == [False, True, False]


@pytest.mark.parametrize("target", [-1, -3, 3])
def test_a_label_that_is_none_has_loss_nan(target):
    losses = cross_entropy(torch.zeros(2, 3), torch.tensor([target, 2]))
    assert losses.isnan().tolist() == [True, False]


def test_parameters_go_in_and_out_as_arrays_and_are_copies():
    arrays = transformer_arrays()
    model = Transformer.from_arrays(CONFIG, arrays)
    given, taken = {name: array.copy() for name, array in arrays.items()}, model.to_arrays()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    assert list(taken) == list(arrays)
    for name in arrays:
        np.testing.assert_array_equal(taken[name], given[name])
        np.testing.assert_array_equal(arrays[name], given[name])


def test_the_wrong_parameters_are_refused():
    arrays = transformer_arrays()
    with pytest.raises(RuntimeError, match="position"):
        Transformer.from_arrays(CONFIG, {name: array for name, array in arrays.items() if name != "position"})
    with pytest.raises(RuntimeError, match="up"):
        Transformer.from_arrays(CONFIG, arrays | {"up": arrays["down"]})


@pytest.mark.parametrize("dtype", [torch.float32, torch.bool])
def test_tokens_that_are_no_integers_are_refused(dtype):
    model = Transformer.from_arrays(CONFIG, transformer_arrays())
    with pytest.raises(TypeError, match=f"Los tokens son {dtype} y se esperaban enteros"):
        model({"tokens": torch.zeros(1, 4, dtype=dtype)})


def test_a_sequence_beyond_the_context_is_refused():
    model = Transformer.from_arrays(CONFIG, transformer_arrays())
    with pytest.raises(ValueError, match=f"predice {CONFIG.context + 1} tokens y el contexto .* {CONFIG.context}"):
        model({"tokens": torch.zeros(1, CONFIG.context + 2, dtype=torch.uint8)})


def test_dropout_is_for_training_and_scales_what_it_keeps():
    config = Config(**{**CONFIG.__dict__, "dropout": 0.5})
    arrays, batch = transformer_arrays(), tensors(token_batch(4))
    dropping, plain = Transformer.from_arrays(config, arrays), Transformer.from_arrays(CONFIG, arrays)
    torch.manual_seed(0)
    with torch.no_grad():
        first, second, expected = dropping(batch), dropping(batch), plain(batch)
        assert not torch.equal(first, second)
        assert torch.equal(dropping.eval()(batch), expected)
        branch = torch.ones(10_000)
        kept = dropping.train()._dropout(branch)
    assert set(kept.unique().tolist()) == {0.0, 2.0}
    # Half of 10,000 fair draws lie within five deviations, 250, of 5,000.
    assert abs(int((kept > 0).sum()) - 5_000) < 250
