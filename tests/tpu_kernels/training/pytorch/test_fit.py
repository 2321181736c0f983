"""The loop looks when it is time to, learns what there is to learn, and stops between two steps."""

import math
import os
import signal
from itertools import pairwise

import numpy as np
import pytest
import torch

from tests.tpu_kernels.training.pytorch.examples import classifier_arrays, pixel_batch
from tpu_kernels.training import classifier as jax_classifier
from tpu_kernels.training.digits import digits
from tpu_kernels.training.pipeline import Batches
from tpu_kernels.training.pytorch.classifier import Classifier
from tpu_kernels.training.pytorch.counters import count
from tpu_kernels.training.pytorch.fit import DivergedError, Report, fit
from tpu_kernels.training.pytorch.layout import OneDevice
from tpu_kernels.training.pytorch.optimizer import adamw
from tpu_kernels.training.pytorch.run import Run
from tpu_kernels.training.pytorch.step import make_step
from tpu_kernels.training.pytorch.transformer import Transformer
from tpu_kernels.training.text import split, text, windows
from tpu_kernels.training.transformer_config import Config, init

CPU = torch.device("cpu")


@pytest.fixture
def run():
    examples = {name: array for name, array in pixel_batch(12).items() if name != "weight"}
    with Batches(examples, 4, seed=0) as batches:
        model = Classifier.from_arrays(classifier_arrays())
        yield Run(model, adamw(model.parameters(), 1e-2), batches)


def numbered(losses):
    """A step whose losses are these, and whose norms count."""
    given = iter(enumerate(losses))

    def step(batch):
        number, loss = next(given)
        return {"loss": torch.tensor(loss), "grad_norm": torch.tensor(float(number)), "weight": torch.tensor(4.0)}

    return step


def test_reports_are_of_the_steps_since_the_last(run):
    shown = []
    reports = fit(run, numbered([1.0, 2.0, 4.0, 8.0, 16.0]), steps=5, every=2, show=shown.append)
    assert reports == shown == [Report(2, 1.5, 1.0), Report(4, 6.0, 3.0), Report(5, 16.0, 4.0)]
    assert fit(run, numbered([]), steps=5) == []


def test_numbers_come_to_the_host_only_when_it_looks(xla, run):
    model = Classifier.from_arrays(classifier_arrays()).to(xla)
    moved = Run(model, adamw(model.parameters(), 1e-2), run.batches)
    step = make_step(model, moved.optimizer, OneDevice(xla))
    with count() as counts:
        fit(moved, step, steps=9, every=10**6)
    assert counts.to_host == 9 + 1  # the losses, and the last norm
    assert counts.executions == 9
    reads = []
    with count() as counts:
        fit(moved, lambda batch: reads.append(count_now()) or step(batch), steps=18, every=3)
    assert counts.to_host == 9 + 3
    assert [after - before for before, after in pairwise(reads)] == [0, 0, 4, 0, 0, 4, 0, 0]


def count_now():
    """Transfers to the host since the process began."""
    from torch_xla.debug import metrics

    return metrics.metric_data("TransferFromDeviceTime")[0]


@pytest.mark.parametrize("loss", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_ends_the_run_and_is_not_saved(run, tmp_path, loss):
    path = tmp_path / "run.pt"
    said = r"divergió en el paso 4: loss = (nan|inf) no es finito.*paso 2, en .*run.pt"
    with pytest.raises(DivergedError, match=said):
        fit(run, numbered([1.0, 1.0, 1.0, loss, 1.0, 1.0]), steps=6, every=6, path=path, save_every=2)
    assert torch.load(path)["step"] == 2
    with pytest.raises(DivergedError, match="no hay ningún punto de control") as diverged:
        fit(run, numbered([loss, 1.0]), steps=6, every=1)
    assert diverged.value.step == 5


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_run_after_the_step_and_saves(run, tmp_path, number, capsys):
    path, step = tmp_path / "run.pt", numbered([1.0] * 9)

    def signalled(batch):
        if run.step == 2:
            os.kill(os.getpid(), number)
        return step(batch)

    with pytest.raises(KeyboardInterrupt, match=r"Parado después del paso 3, que quedó guardado en .*run.pt"):
        fit(run, signalled, steps=9, path=path)
    assert torch.load(path)["step"] == run.step == 3
    run.step = 2
    with pytest.raises(KeyboardInterrupt, match="Parado después del paso 3, sin guardar"):
        fit(run, signalled, steps=9)
    assert capsys.readouterr().err.count("Termino el paso en curso y paro.") == 2


def test_of_several_processes_one_writes(run, tmp_path):
    run.writes = False
    fit(run, numbered([1.0] * 4), steps=4, path=tmp_path / "run.pt")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["every", "save_every"])
def test_intervals_below_one_are_refused(run, name):
    with pytest.raises(ValueError, match=f"{name} = 0"):
        fit(run, numbered([]), steps=1, **{name: 0})


def test_the_classifier_learns_digits():
    training, validation = digits()
    model = Classifier.from_arrays(jax_classifier.init(0))
    rule = adamw(model.parameters(), 3e-3)
    with Batches(training, 64, seed=0) as batches:
        fit(Run(model, rule, batches), make_step(model, rule, OneDevice(CPU)), steps=300)
    with torch.no_grad():
        guesses = model.logits(torch.tensor(validation["pixels"])).argmax(-1).numpy()
    assert np.mean(guesses == validation["label"]) > 0.95


def test_the_transformer_learns_more_of_a_text_than_how_frequent_each_byte_is():
    training, validation = split(text("es"))
    config = Config(context=32, width=64, layers=2, heads=2)
    model = Transformer.from_arrays(config, init(config, 0))
    # At three times this rate the loss rests for 150 steps or 230, as the processor's rounding has it, before it falls.
    rule = adamw(model.parameters(), 1e-3)
    with Batches(windows(training, config.context), 16, seed=0) as batches:
        fit(Run(model, rule, batches), make_step(model, rule, OneDevice(CPU)), steps=200)
    with torch.no_grad():
        loss = model({"tokens": torch.tensor(windows(validation, config.context)["tokens"])}).mean().item()
    counts = np.bincount(np.frombuffer(training.encode(), np.uint8), minlength=256) + 1
    alone = -np.log(counts / counts.sum())[np.frombuffer(validation.encode(), np.uint8)].mean()
    assert loss < 0.9 * alone
