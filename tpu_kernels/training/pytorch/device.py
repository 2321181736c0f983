"""One switch for where PyTorch computes, which says what it chose and why.

TPUs have two libraries: torch_tpu (TorchTPU), in which a TPU is an eager device like a GPU, and torch_xla, its
predecessor, which records operations and compiles them when told to. torch_xla also simulates devices on a CPU.
"""

import importlib
import importlib.util
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import torch

from tpu_kernels.backend import announce
from tpu_kernels.machine.attached import attached
from tpu_kernels.phrases import phrase
from tpu_kernels.training.pytorch import libraries


class DeviceError(RuntimeError):
    """The device that was asked for is not here; the message says why and what to do."""


@dataclass(frozen=True)
class Device:
    """What was chosen. ``str`` of it is a line for people."""

    name: str  # "torch_tpu", "torch_xla", "cuda" or "cpu"
    torch: torch.device  # what tensors and modules are moved to
    hardware: str  # "tpu", "gpu" or "cpu"; "cpu" under torch_xla means that the device is simulated
    why: str

    def __str__(self) -> str:
        return phrase("pytorch.chosen", name=self.name, hardware=self.hardware, device=self.torch, why=self.why)


def device(wanted: str = "auto") -> Device:
    """The device to compute on: "torch_tpu", "torch_xla", "cuda", "cpu", or the first of these that is here, "auto".

    "auto" tries torch_xla where there is a TPU or ``PJRT_DEVICE`` is set; ``PJRT_DEVICE=CPU`` simulates devices. A CPU
    that stands in for an accelerator is announced with ``FallbackWarning``.

    torch_xla's device is then taken by this process: what starts several, :mod:`.processes`, must come before. Raises
    :class:`DeviceError` for a device that is not here, ``ValueError`` for an unknown name.
    """
    if wanted == "auto":
        return _first_here()
    if wanted not in FINDERS:
        known = ", ".join(("auto", *FINDERS))
        raise ValueError(phrase("training.unknown", argument="wanted", got=wanted, known=known))
    found = Device(wanted, *FINDERS[wanted](), phrase("pytorch.asked_for"))
    if wanted == "torch_xla" and found.hardware == "cpu":
        announce(phrase("pytorch.simulated"))
    return found


def _first_here() -> Device:
    missing: list[str] = []
    for name, find in FINDERS.items():
        if name == "torch_xla" and "PJRT_DEVICE" not in os.environ and not attached().tpu_chips:
            continue  # it would only simulate
        try:
            found, hardware = find()
        except DeviceError as error:
            missing.append(f"{name}: {error}")
            continue
        if name == "cpu":
            announce(phrase("pytorch.fell_back", missing=" ".join(missing)))
        return Device(name, found, hardware, phrase("pytorch.first_here", missing=" ".join(missing) or "-"))
    raise AssertionError("a CPU is always here")


Found: TypeAlias = tuple[torch.device, str]


def _torch_tpu() -> Found:
    if importlib.util.find_spec("torch_tpu") is None:
        raise DeviceError(phrase("pytorch.not_installed", name="torch_tpu"))
    try:
        importlib.import_module("torch_tpu")  # registers the device, where torch did not do so on its own import
    except ImportError as error:
        raise DeviceError(phrase("pytorch.not_imported", name="torch_tpu", words=error)) from error
    accelerator = torch.accelerator.current_accelerator()
    if accelerator is None or accelerator.type != "tpu" or not torch.accelerator.is_available():
        raise DeviceError(phrase("pytorch.no_tpu"))
    return accelerator, "tpu"


def _torch_xla() -> Found:
    try:
        torch_xla = libraries.torch_xla()
        from torch_xla import runtime

        found = torch_xla.device()
        hardware = str(runtime.device_type()).lower()
    except libraries.LibraryError as error:
        raise DeviceError(str(error)) from error
    except (RuntimeError, OSError) as error:  # it has no class of its own for a device that does not start
        words = str(error).partition("\n")[0]
        asked = os.environ.get("PJRT_DEVICE")
        raise DeviceError(phrase("pytorch.not_started", asked=asked, words=words)) from error
    if not _differentiates(found):
        raise DeviceError(phrase("pytorch.late"))
    return found, hardware


def _differentiates(found: torch.device) -> bool:
    """Whether autograd knows the device: it asks which there are once, at the first ``backward()`` of the process."""
    try:
        torch.zeros((), device=found, requires_grad=True).neg().backward()
    except RuntimeError:
        return False
    return True


def _cuda() -> Found:
    if not torch.cuda.is_available():
        raise DeviceError(phrase("pytorch.no_cuda"))
    return torch.device("cuda"), "gpu"


def _cpu() -> Found:
    return torch.device("cpu"), "cpu"


FINDERS: dict[str, Callable[[], Found]] = {
    "torch_tpu": _torch_tpu,
    "torch_xla": _torch_xla,
    "cuda": _cuda,
    "cpu": _cpu,
}
