"""A run that goes on from its file is the run that never stopped, bit for bit; and the file is whole or the old one."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.tpu_kernels.training.pytorch.examples import (
    CONFIG,
    classifier_arrays,
    pixel_batch,
    token_batch,
    transformer_arrays,
)
from tpu_kernels.training.pipeline import Batches
from tpu_kernels.training.pytorch import checkpoint
from tpu_kernels.training.pytorch.checkpoint import CheckpointError, restore, save
from tpu_kernels.training.pytorch.classifier import Classifier
from tpu_kernels.training.pytorch.fit import fit
from tpu_kernels.training.pytorch.layout import OneDevice
from tpu_kernels.training.pytorch.optimizer import adamw
from tpu_kernels.training.pytorch.run import Run
from tpu_kernels.training.pytorch.step import make_step
from tpu_kernels.training.pytorch.transformer import Transformer


@pytest.fixture
def begun():
    """``begun(device)``: a run of a transformer with dropout, before its first step."""
    open_batches = []

    def begin(device="cpu"):
        config = replace(CONFIG, dropout=0.2)
        model = Transformer.from_arrays(config, transformer_arrays()).to(device)
        batches = Batches({"tokens": token_batch(11)["tokens"]}, 4, seed=5)
        open_batches.append(batches)
        return Run(model, adamw(model.parameters(), 1e-2), batches)

    yield begin
    for batches in open_batches:
        batches.close()


def train(run, steps, **options):
    step = make_step(run.model, run.optimizer, OneDevice(run.device), accumulate=2)
    return fit(run, step, steps=steps, every=1, **options)


def bits(run):
    """All that decides how the run goes on, as bytes."""
    moments = [run.optimizer.state[parameter] for parameter in run.model.parameters()]
    tensors = [*run.model.parameters(), *(tensor for state in moments for tensor in state.values())]
    return [tensor.detach().cpu().numpy().tobytes() for tensor in tensors]


@pytest.mark.parametrize("device", ["cpu", "xla"])
def test_a_resumed_run_is_the_one_that_never_stopped(begun, tmp_path, device):
    def seeded():
        torch.manual_seed(7)
        if device == "xla":
            import torch_xla

            torch_xla.manual_seed(7)
        return begun(device)

    path = tmp_path / "folder" / "run.pt"
    whole = seeded()
    reports = train(whole, 7)
    first = seeded()
    reports_of_first = train(first, 4, path=path)
    torch.manual_seed(99)  # what comes between draws other numbers
    second = begun(device)
    assert restore(path, second)
    assert (second.step, second.batches.state()) == (4, first.batches.state())
    assert reports_of_first + train(second, 7) == reports
    assert bits(second) == bits(whole)


def test_without_a_file_nothing_is_restored(begun, tmp_path):
    run = begun()
    before = bits(run)
    assert not restore(tmp_path / "run.pt", run)
    assert (run.step, bits(run)) == (0, before)


def test_a_save_that_fails_leaves_the_old_file_and_nothing_beside_it(begun, tmp_path, monkeypatch):
    run, path = begun(), tmp_path / "run.pt"
    save(path, run)
    old = path.read_bytes()
    run.step = 3

    def full(content, file):
        file.write(b"half of it")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint.torch, "save", full)
    with pytest.raises(CheckpointError, match=r"No se pudo guardar el paso 3 en .*run.pt: No space left on device."):
        save(path, run)
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.pt"]
    assert path.read_bytes() == old


def test_the_file_is_on_disk_before_it_takes_its_name(begun, tmp_path, monkeypatch):
    happened, really = [], os.fsync

    def names():
        return [entry.name for entry in tmp_path.iterdir()]

    monkeypatch.setattr(checkpoint.os, "fsync", lambda fd: happened.append((really(fd), names())))
    save(tmp_path / "run.pt", begun())
    (_, at_first), (_, at_last) = happened
    assert [name.startswith("run.pt.unfinished-") for name in at_first] == [True]
    assert at_last == ["run.pt"]


def test_a_file_that_is_cut_short_is_refused_and_kept(begun, tmp_path):
    run, path = begun(), tmp_path / "run.pt"
    save(path, run)
    whole = path.read_bytes()
    for size in (0, 10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(CheckpointError, match=r"no se puede leer: .* No se empieza de cero"):
            restore(path, run)
    assert path.exists()


class Payload:
    """Unpickled, it makes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_a_file_with_code_in_it_is_refused_and_not_run(begun, tmp_path):
    run, path, ran = begun(), tmp_path / "run.pt", tmp_path / "ran"
    save(path, run)
    torch.save(torch.load(path) | {"extra": Payload(ran)}, path)
    with pytest.raises(CheckpointError, match="no se puede leer"):
        restore(path, run)
    assert not ran.exists()


def test_a_file_that_is_another_thing_is_refused(begun, tmp_path):
    torch.save({"weights": torch.zeros(2)}, tmp_path / "run.pt")
    with pytest.raises(CheckpointError, match="no se puede leer"):
        restore(tmp_path / "run.pt", begun())


@pytest.fixture
def classifying():
    examples = {name: array for name, array in pixel_batch(8).items() if name != "weight"}
    with Batches(examples, 4, seed=0) as batches:
        model = Classifier.from_arrays(classifier_arrays())
        yield Run(model, torch.optim.SGD(model.parameters(), 0.1), batches)


def test_the_file_of_another_model_is_refused_with_what_differs(begun, classifying, tmp_path):
    path = tmp_path / "run.pt"
    save(path, begun())
    before = bits_of_model(classifying)
    said = r"paso 0 en .*run.pt es de otro modelo .* hidden, guardada como — y aquí float32\[6, 5\]"
    with pytest.raises(CheckpointError, match=said):
        restore(path, classifying)
    assert bits_of_model(classifying) == before


def test_the_file_of_another_optimiser_is_refused(classifying, tmp_path):
    path = tmp_path / "run.pt"
    save(path, classifying)
    other = replace(classifying, optimizer=adamw(classifying.model.parameters(), 0.1))
    with pytest.raises(CheckpointError, match="optimizer, guardada como SGD y aquí AdamW"):
        restore(path, other)


def test_the_file_of_other_data_is_refused(classifying, tmp_path):
    path = tmp_path / "run.pt"
    save(path, classifying)
    with Batches(classifying.batches.examples, 4, seed=1) as others, pytest.raises(ValueError, match="seed"):
        restore(path, replace(classifying, batches=others))


def bits_of_model(run):
    return [parameter.detach().numpy().tobytes() for parameter in run.model.parameters()]
