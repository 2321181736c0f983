"""A step is a sum over rows, however they are cut, and one update from it."""

import numpy as np
import optax
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
from tpu_kernels.training import data_parallel
from tpu_kernels.training.pytorch.batch import filled
from tpu_kernels.training.pytorch.classifier import Classifier
from tpu_kernels.training.pytorch.layout import OneDevice
from tpu_kernels.training.pytorch.optimizer import adamw
from tpu_kernels.training.pytorch.precision import Policy
from tpu_kernels.training.pytorch.step import make_step
from tpu_kernels.training.pytorch.transformer import Transformer
from tpu_kernels.training.state import TrainState

CPU = torch.device("cpu")


class Linear(torch.nn.Module):
    """Loss of an example: ``x @ w``, so that the gradient is the weighted sum of the rows, and exact in float32."""

    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.arange(1.0, 4.0))

    def forward(self, batch):
        return batch["x"] @ self.w


ROWS = np.array([[1, 0, 2], [0, 1, 0], [4, 0, 0], [0, 8, 0], [1, 1, 1]], np.float32)
WEIGHT = np.array([1, 2, 0, 0.5, 4], np.float32)


def linear_step(batch, **options):
    model = Linear()
    step = make_step(model, torch.optim.SGD(model.parameters(), 1.0), OneDevice(CPU), **options)
    metrics = {name: value.item() for name, value in step(batch).items()}
    return metrics, model.w.grad.numpy()


@pytest.mark.parametrize("accumulate", [1, 2, 3, 5, 7])
@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_loss_and_gradient_are_those_of_all_rows_however_they_are_cut(reduction, accumulate):
    divisor = WEIGHT.sum() if reduction == "mean" else 1
    gradient = WEIGHT @ ROWS / np.float32(divisor)
    metrics, found = linear_step({"x": ROWS, "weight": WEIGHT}, reduction=reduction, accumulate=accumulate)
    np.testing.assert_array_max_ulp(found, gradient, 1)
    assert metrics["loss"] == pytest.approx(gradient @ [1, 2, 3], rel=1e-6)
    assert metrics["grad_norm"] == pytest.approx(np.linalg.norm(gradient), rel=1e-6)
    assert metrics["weight"] == WEIGHT.sum()


def test_rows_without_weight_weigh_one():
    metrics, found = linear_step({"x": ROWS}, reduction="sum")
    np.testing.assert_array_equal(found, ROWS.sum(0))
    assert metrics["weight"] == len(ROWS)


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_a_batch_of_padding_changes_nothing(reduction):
    metrics, found = linear_step({"x": ROWS, "weight": 0 * WEIGHT}, reduction=reduction)
    assert found.tolist() == [0, 0, 0]
    assert metrics == {"loss": 0, "grad_norm": 0, "weight": 0}


def test_a_step_begins_without_the_gradient_of_the_last():
    model = Linear()
    step = make_step(model, torch.optim.SGD(model.parameters(), 0.0), OneDevice(CPU), reduction="sum")
    for _ in range(2):
        step({"x": ROWS})
    np.testing.assert_array_equal(model.w.grad.numpy(), ROWS.sum(0))


def test_filling_repeats_the_last_row_with_weight_zero():
    full = filled({"x": ROWS, "weight": WEIGHT}, 4)
    np.testing.assert_array_equal(full["x"], [*ROWS, ROWS[-1], ROWS[-1], ROWS[-1]])
    np.testing.assert_array_equal(full["weight"], [*WEIGHT, 0, 0, 0])
    assert filled({"x": ROWS}, 5)["x"].shape == ROWS.shape
    assert filled({"x": ROWS}, 5)["weight"].dtype == np.float32


@pytest.mark.parametrize(
    ("batch", "said"),
    [
        ({}, "El lote no tiene ejemplos"),
        ({"x": ROWS[:0]}, "El lote no tiene ejemplos"),
        ({"x": np.float32(1)}, "El lote no tiene ejemplos"),
        ({"x": ROWS, "weight": WEIGHT[1:]}, "'weight' tiene 4 ejemplos y 'x' tiene 5"),
    ],
)
def test_a_batch_that_is_none_is_refused(batch, said):
    with pytest.raises(ValueError, match=said):
        linear_step(batch)


@pytest.mark.parametrize(
    ("options", "said"),
    [({"reduction": "max"}, "reduction = 'max': .* sum, mean"), ({"accumulate": 0}, "accumulate = 0")],
)
def test_options_that_are_none_are_refused(options, said):
    with pytest.raises(ValueError, match=said):
        linear_step({"x": ROWS}, **options)


def test_a_model_that_has_averaged_already_is_refused():
    model = Linear()
    model.forward = lambda batch: (batch["x"] @ model.w).mean()
    step = make_step(model, torch.optim.SGD(model.parameters(), 1.0), OneDevice(CPU))
    with pytest.raises(ValueError, match=r"losses devolvió la forma \(\) y se esperaba \(5,\)"):
        step({"x": ROWS})


@pytest.mark.parametrize("device", ["cpu", "xla"])
def test_training_is_that_of_jax_with_optax(device):
    arrays, rate = classifier_arrays(), 0.05
    rule = optax.adamw(rate)
    jax_step = data_parallel.make_step(jax_classifier.losses, rule, accumulate=2)
    state = TrainState.create(arrays, rule, 0)
    model = Classifier.from_arrays(arrays).to(device)
    step = make_step(model, adamw(model.parameters(), rate), OneDevice(torch.device(device)), accumulate=2)
    for number in range(6):
        batch = pixel_batch(8, seed=number)
        state, expected = jax_step(state, batch)
        metrics = step(batch)
        for name in ("loss", "grad_norm", "weight"):
            assert metrics[name].item() == pytest.approx(float(expected[name]), rel=1e-5)
    for name, parameter in model.named_parameters():
        # AdamW divides by the root of the squared gradient, which makes much of the rounding of a small one.
        np.testing.assert_allclose(parameter.detach().cpu().numpy(), state.params[name], rtol=1e-4, atol=1e-5)


def test_bfloat16_rounds_the_products_and_nothing_else():
    arrays, batch = transformer_arrays(), token_batch(6)

    def trained(policy):
        model = Transformer.from_arrays(CONFIG, arrays)
        seen = []
        model.register_forward_hook(lambda *given: seen.append(given[-1].dtype))
        loss = make_step(model, adamw(model.parameters(), 1e-3), OneDevice(CPU), policy=policy)(batch)["loss"].item()
        dtypes = {tensor.dtype for parameter in model.parameters() for tensor in (parameter, parameter.grad)}
        return loss, dtypes | set(seen)

    wide, wide_dtypes = trained(Policy())
    narrow, narrow_dtypes = trained(Policy("bfloat16"))
    assert wide_dtypes == narrow_dtypes == {torch.float32}
    # Eight bits of significand in a handful of products, one after the other.
    assert 0 < abs(narrow - wide) < 8 * 2**-8 * wide


def test_a_precision_that_needs_a_loss_scale_is_refused():
    with pytest.raises(ValueError, match=r"No se calcula en float16\. Se esperaba uno de estos: float32, bfloat16."):
        Policy("float16")
