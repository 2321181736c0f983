"""What is chosen to compute on, why, and what is said of a device that is not there."""

import os
import subprocess
import sys
import warnings
from types import SimpleNamespace

import pytest
import torch

from tpu_kernels import backend
from tpu_kernels.machine.attached import Attached
from tpu_kernels.training.pytorch import device as module
from tpu_kernels.training.pytorch.device import Device, DeviceError, device


@pytest.fixture(autouse=True)
def nothing_announced_yet(monkeypatch):
    monkeypatch.setattr(backend, "_announced", set())


def absent(why):
    def find():
        raise DeviceError(why)

    return find


def there(kind, hardware):
    return lambda: (torch.device(kind), hardware)


def test_a_simulated_device_is_chosen_where_the_environment_asks_for_it(xla):
    chosen = device()
    assert (chosen.name, chosen.torch, chosen.hardware) == ("torch_xla", xla, "cpu")
    said = "PyTorch calcula con torch_xla en xla:0 (cpu): es lo primero que hay aquí. "
    assert str(chosen) == said + "torch_tpu: torch_tpu no está instalado."


def test_a_simulated_device_that_was_asked_for_is_announced(xla):
    with pytest.warns(backend.FallbackWarning, match="simula el dispositivo en la CPU"):
        assert device("torch_xla").torch == xla


def test_without_accelerator_the_cpu_stands_in_and_says_why(monkeypatch):
    monkeypatch.delenv("PJRT_DEVICE")
    monkeypatch.setattr(module, "attached", Attached)
    monkeypatch.setitem(module.FINDERS, "torch_xla", lambda: pytest.fail("it would only simulate"))
    monkeypatch.setitem(module.FINDERS, "cuda", absent("ninguna."))
    with pytest.warns(backend.FallbackWarning, match="en la CPU, más despacio. torch_tpu: .* cuda: ninguna."):
        chosen = device()
    assert (chosen.name, chosen.torch, chosen.hardware) == ("cpu", torch.device("cpu"), "cpu")


@pytest.mark.parametrize(
    ("here", "chosen"),
    [({"torch_tpu", "cuda"}, "torch_tpu"), ({"torch_xla", "cuda"}, "torch_xla"), ({"cuda"}, "cuda")],
)
def test_the_first_that_is_here_is_chosen_in_silence(monkeypatch, here, chosen):
    monkeypatch.delenv("PJRT_DEVICE")
    monkeypatch.setattr(module, "attached", lambda: Attached(tpu_chips=4))
    for name in ("torch_tpu", "torch_xla", "cuda"):
        monkeypatch.setitem(module.FINDERS, name, there("meta", "tpu") if name in here else absent("no."))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert device().name == chosen


def test_the_cpu_that_was_asked_for_is_no_fall_back():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert device("cpu") == Device("cpu", torch.device("cpu"), "cpu", "es lo que pediste.")


@pytest.mark.parametrize(
    ("wanted", "said"),
    [("torch_tpu", "torch_tpu no está instalado"), ("cuda", "no ve ninguna GPU de CUDA. Comprueba")],
)
def test_what_is_not_here_is_refused_with_the_cure(monkeypatch, wanted, said):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(DeviceError, match=said):
        device(wanted)


@pytest.mark.parametrize(("kind", "available"), [("tpu", True), ("tpu", False), ("cuda", True), (None, False)], ids=str)
def test_torch_tpu_is_taken_where_torch_says_that_there_is_one(monkeypatch, kind, available):
    accelerator = kind and SimpleNamespace(type=kind)  # torch knows no device of this name before torch_tpu is imported
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(module.importlib, "import_module", lambda name: None)
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: accelerator)
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: available)
    if (kind, available) == ("tpu", True):
        chosen = device("torch_tpu")
        assert (chosen.torch, chosen.hardware) == (accelerator, "tpu")
    else:
        with pytest.raises(DeviceError, match="no hay ninguna TPU"):
            device("torch_tpu")


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"wanted = 'tpu': .* auto, torch_tpu, torch_xla, cuda, cpu"):
        device("tpu")


EARLY = """
from tpu_kernels.training.pytorch.device import DeviceError, device
try:
    device("torch_xla")
except DeviceError as error:
    print(error)
"""
LATE = f"import torch\ntorch.ones((), requires_grad=True).neg().backward()\n{EARLY}"


@pytest.mark.parametrize(
    ("script", "asked", "said"),
    [
        (LATE, "CPU", "ya hubo un backward() antes de tomarlo"),
        (EARLY, "CUDA", "torch_xla no arrancó con PJRT_DEVICE=CUDA: No PjRtPlugin registered"),
    ],
    ids=["after backward", "no such plugin"],
)
def test_a_device_that_does_not_start_is_explained(script, asked, said):
    environ = {**os.environ, "PJRT_DEVICE": asked, "SISTOLICA_LANG": "es"}
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environ)
    assert said in ended.stdout
