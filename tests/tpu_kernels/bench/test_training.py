"""The training benchmark: its judge agrees with jax, and calls a gradient wrong that leaves a device out."""

import jax
import numpy as np
import pytest

from tpu_kernels.bench import reference_loss, training
from tpu_kernels.bench.training import Contestant, bench_training, contestants
from tpu_kernels.training import transformer
from tpu_kernels.training.transformer_config import Config, init

CONFIG = Config(vocabulary=11, context=6, width=8, layers=2, heads=2)
TOKENS = np.random.default_rng(3).integers(0, 11, (4, 7)).astype(np.int32)
ONE, TWO = Contestant("data", "shard_map", 1, "float32"), Contestant("data", "shard_map", 2, "float32")


def test_the_judge_and_the_model_agree_though_neither_knows_the_other():
    params = init(CONFIG, 5)
    mine = float(np.mean(transformer.losses(params, {"tokens": TOKENS}, None, config=CONFIG)))
    assert mine == pytest.approx(reference_loss.loss(params, TOKENS, CONFIG), rel=1e-6)


def test_the_slope_is_that_of_the_gradient():
    params = init(CONFIG, 5)
    gradient = jax.grad(lambda p: transformer.losses(p, {"tokens": TOKENS}, None, config=CONFIG).mean())(params)
    squared = sum(float(np.sum(np.square(part))) for part in gradient.values())
    assert squared == pytest.approx(reference_loss.slope(params, gradient, TOKENS, CONFIG), rel=1e-5)


def test_every_form_is_right_and_timed():
    rows = list(bench_training(contestants([1, 2], ["float32"]), CONFIG, batch=4, warmup=0, repeats=1))
    assert [row.contestant.name for row in rows] == [
        "data shard_map x1 float32",
        "data shard_map x2 float32",
        "data jit x2 float32",
        "fsdp shard_map x2 float32",
        "fsdp jit x2 float32",
    ]
    assert all(row.right and row.timing.median > 0 and row.tokens == 24 for row in rows)
    assert rows[0].ratio == 1


def test_bfloat16_is_off_by_more_than_float32_and_within_its_own_tolerance():
    exact, rounded = bench_training(contestants([1], ["float32", "bfloat16"]), CONFIG, batch=2, warmup=0, repeats=1)
    assert exact.right
    assert rounded.right
    assert exact.gradient_error < 1e-6 < rounded.gradient_error


def test_a_device_left_out_is_seen(monkeypatch):
    """What remains of a step whose devices do not add their gradients up."""
    monkeypatch.setattr(jax.lax, "psum", lambda x, axis: x)
    alone, summed = bench_training((ONE, TWO), CONFIG, batch=4, warmup=0, repeats=1)
    assert alone.right
    assert not summed.right


def test_a_time_that_cannot_be_is_refused(monkeypatch):
    from tpu_kernels.bench.measurement_error import MeasurementError
    from tpu_kernels.bench.timing import Timing

    monkeypatch.setattr(training, "time_in_turns", lambda calls, **rounds: {n: Timing(1, (1e-13,)) for n in calls})
    with pytest.raises(MeasurementError, match="TFLOP/s"):
        list(bench_training((ONE,), CONFIG, batch=2))


def test_more_devices_than_there_are_is_refused():
    with pytest.raises(ValueError, match="64"):
        next(bench_training((Contestant("data", "jit", 64, "float32"),), CONFIG))
