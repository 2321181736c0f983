"""torch and torch_xla: installed, and built for each other.

torch_xla is compiled against one series of torch. Beside another its import ends in an undefined symbol, which says
nothing of the cause; so the versions are compared before, and whatever the import raises is told with the cure.
"""

import importlib
import importlib.util
import os
from types import ModuleType

from tpu_kernels.machine.attached import attached
from tpu_kernels.machine.distributions import installed_versions
from tpu_kernels.phrases import phrase


class LibraryError(ImportError):
    """A library that is not installed, or that does not go with another; the message says what to install."""


def require_torch() -> None:
    """Raises :class:`LibraryError` where torch is not installed. Imports nothing."""
    if importlib.util.find_spec("torch") is None:
        raise LibraryError(phrase("pytorch.no_torch"), name="torch")


def torch_xla() -> ModuleType:
    """The module torch_xla, imported. Takes no device.

    On a machine without a TPU, and where ``PJRT_DEVICE`` says nothing else, its devices are simulated on the CPU.
    Raises :class:`LibraryError` when it is not installed or does not go with the installed torch.
    """
    versions = installed_versions(("torch", "torch_xla"))
    if importlib.util.find_spec("torch_xla") is None:
        raise LibraryError(phrase("pytorch.no_torch_xla", torch=versions.get("torch")), name="torch_xla")
    series = {_series(version) for version in versions.values()}
    if len(series) > 1:
        raise LibraryError(_pair(versions, phrase("doctor.torch_series")), name="torch_xla")
    if not attached().tpu_chips:
        os.environ.setdefault("PJRT_DEVICE", "CPU")
    try:
        return importlib.import_module("torch_xla")
    except ImportError as error:
        raise LibraryError(_pair(versions, str(error)), name="torch_xla") from error


def _pair(versions: dict[str, str], words: str) -> str:
    """That the two do not match, in what ``words``, and the pair that does: torch_xla's number is that of its torch."""
    known = versions.get("torch_xla") or versions.get("torch")
    series = _series(known) if known else None
    said = phrase(
        "doctor.torch_pair",
        torch=versions.get("torch", phrase("doctor.unknown_version")),
        torch_xla=versions.get("torch_xla", phrase("doctor.unknown_version")),
        words=words,
    )
    pair = f"'torch=={series}.*' 'torch_xla=={series}.*'" if series else "torch torch_xla"
    return f"{said} {phrase('doctor.torch_pair_cure', pair=pair)}"


def _series(version: str) -> str:
    return ".".join(version.split(".")[:2])
