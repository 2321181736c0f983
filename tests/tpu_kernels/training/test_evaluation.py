"""Means over a data set, against the same over all of it at once."""

import math

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_kernels.training import classifier, transformer
from tpu_kernels.training.evaluation import accuracy, bits_per_byte, mean_over
from tpu_kernels.training.mesh import data_mesh, split_rows

CONFIG = transformer.Config(context=6, width=8, layers=1, heads=2, dropout=0.5)


@settings(deadline=None, max_examples=15)
@given(st.integers(1, 30), st.integers(1, 12))
def test_every_example_counts_once_whatever_the_batches(count: int, batch_size: int) -> None:
    numbers = np.arange(count, dtype=np.float32) ** 2
    mean = mean_over({"x": numbers}, lambda scale, batch: scale * batch["x"], batch_size=batch_size)
    assert mean(2.0) == pytest.approx(2 * numbers.mean(), rel=1e-6)


def test_weights_weigh() -> None:
    examples = {"x": np.array([1.0, 10.0, 100.0]), "weight": np.array([1.0, 0.0, 3.0])}
    assert mean_over(examples, lambda _, batch: batch["x"], batch_size=2)(None) == pytest.approx(301 / 4)


@pytest.mark.parametrize("devices", [None, 4])
def test_accuracy_is_the_share_that_is_right(devices: int | None) -> None:
    rng = np.random.default_rng(0)
    examples = {"pixels": rng.random((30, 64), np.float32), "label": rng.integers(0, 10, 30).astype(np.int32)}
    params = classifier.init(0)
    expected = np.argmax(classifier.logits(params, examples["pixels"]), axis=1) == examples["label"]
    assert 0 < expected.mean() < 1
    sharding = split_rows(data_mesh(devices)) if devices else None
    assert accuracy(examples, batch_size=8, sharding=sharding)(params) == pytest.approx(expected.mean())


def test_bits_per_byte_are_nats_of_the_model_without_dropout() -> None:
    tokens = np.random.default_rng(1).integers(0, 256, (11, 7)).astype(np.uint8)
    params = transformer.init(CONFIG, 0)
    expected = transformer.losses(params, {"tokens": jnp.asarray(tokens)}, None, config=CONFIG).mean() / math.log(2)
    measure = bits_per_byte({"tokens": tokens}, CONFIG, batch_size=4)
    assert measure(params) == pytest.approx(float(expected), rel=1e-5)
    assert measure(params) == pytest.approx(8, abs=0.1)  # it has learned nothing: all bytes are alike


def test_a_measure_is_compiled_once() -> None:
    traces = []

    def measure(params: object, batch: dict) -> jnp.ndarray:
        traces.append(batch["x"].shape)
        return batch["x"]

    mean = mean_over({"x": np.arange(10.0)}, measure, batch_size=4)
    assert mean(1.0) == mean(2.0) == 4.5
    assert traces == [(4,)]
