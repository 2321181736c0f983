"""What there is to compute on: seen, demanded or simulated, and told when something stands in for it.

Importing this module imports no jax; :func:`here` and :func:`require_devices` do, and jax then takes its devices.
"""

import os
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tpu_kernels.machine import platforms, process
from tpu_kernels.machine.attached import attached
from tpu_kernels.machine.environment import odd_characters, with_forced_devices
from tpu_kernels.models import hardware
from tpu_kernels.models.matrix import whole
from tpu_kernels.phrases import phrase

if TYPE_CHECKING:
    import jax

PACKAGE = Path(__file__).parent

# Product names as NVIDIA's driver gives them, for boards whose rates the catalogue has. A PCIe or NVL board of the same
# chip has other rates, so what is not listed stays unknown.
NVIDIA_BOARDS = {
    "NVIDIA A100-SXM4-40GB": "nvidia_a100_40gb",
    "NVIDIA A100-SXM4-80GB": "nvidia_a100_80gb",
    "NVIDIA H100 80GB HBM3": "nvidia_h100_sxm",
    "NVIDIA H200": "nvidia_h200_sxm",
    "NVIDIA B200": "nvidia_b200",
    "NVIDIA GB200": "nvidia_gb200",
    "NVIDIA GB300": "nvidia_gb300",
}

# The width of XLA's pool of threads. Simulated devices that wait for each other need more threads than there are
# devices: eight hung with a pool of two and ran with one of 24.
POOL = 64
THREADS_PER_DEVICE = 3

_announced: set[str] = set()


class BackendError(RuntimeError):
    """jax does not run on what was asked for, or not at all; the message says why and what to change."""


class FallbackWarning(UserWarning):
    """Something slower, or simulated, stands in for what would be used on other hardware."""


@dataclass(frozen=True)
class Here:
    """What jax computes on. ``count`` counts jax's devices: on TPU v2, v3 and 7x a device is half a chip."""

    platform: str  # "tpu", "gpu" or "cpu"
    count: int
    kind: str  # jax's device_kind: "TPU v5 lite", "NVIDIA H200", "cpu"
    chip: str | None  # id in tpu_kernels.models.hardware, as "tpu_v5e"; None when the catalogue does not have it
    compute_capability: str | None  # "9.0", on GPUs


def here() -> Here:
    """What jax computes on in this process. Imports jax, which takes its devices.

    Raises :class:`BackendError`, in one line, when ``JAX_PLATFORMS`` names a platform that is not here or does not
    exist, when an environment variable holds a character that would end the process, and when jax does not start.
    """
    for finding in odd_characters(os.environ):
        raise BackendError(finding.line)
    try:
        seen = look()
    except ImportError as error:
        absent = error.name in {"jax", "jaxlib"}
        raise BackendError(phrase("backend.no_jax") if absent else _not_started(error)) from None
    except (RuntimeError, AssertionError, ValueError) as error:  # jax has no class of its own for what goes wrong here
        asked = process.jax_platforms() or os.environ.get("JAX_PLATFORMS")
        refused = platforms.refusal(asked, attached(), f"{type(error).__name__}: {error}")
        raise BackendError(refused.line if refused else _not_started(error)) from None
    late = platforms.late(os.environ, process.jax_platforms(), seen.platform)
    if late:
        raise BackendError(late.line)
    return seen


def look() -> Here:
    """What jax computes on; whatever jax raises passes."""
    import jax

    devices = jax.devices()
    first = devices[0]
    return Here(
        platform=first.platform,
        count=len(devices),
        kind=first.device_kind,
        chip=catalogued_chip(first.device_kind),
        compute_capability=getattr(first, "compute_capability", None),
    )


def catalogued_chip(kind: str) -> str | None:
    """The id in :mod:`tpu_kernels.models.hardware` of jax's ``device_kind``; ``None`` when it is not surely known."""
    if not kind.startswith("TPU"):
        return NVIDIA_BOARDS.get(kind)
    try:
        return hardware.chip(kind).id
    except hardware.UnknownChipError:
        return None


def describe(seen: Here) -> str:
    """A line for people: platform, kind, number of devices, chip, and why jax is on it."""
    if seen.platform == "cpu":
        return phrase("backend.described_cpu", count=seen.count, why=_why(seen))
    return phrase(
        "backend.described",
        platform=seen.platform,
        kind=seen.kind,
        count=seen.count,
        chip=hardware.chip(seen.chip).name if seen.chip else phrase("backend.chip_unknown"),
        why=_why(seen),
    )


def announce(message: str) -> None:
    """Warn with :class:`FallbackWarning`, once per message and process, at the caller's own line of code."""
    if message in _announced:
        return
    _announced.add(message)
    warnings.warn(message, FallbackWarning, stacklevel=_depth_of_caller())


def require_devices(n: int) -> "list[jax.Device]":
    """The first ``n`` devices of jax; ``ValueError`` when there are fewer, or ``n`` is no whole number from one up.

    Raises what :func:`here` raises.
    """
    wanted, seen = whole("n", n), here()
    if seen.count < wanted:
        raise ValueError(phrase("backend.too_few", wanted=wanted, found=seen.count, kind=seen.kind))
    import jax

    return jax.devices()[:wanted]


def simulate_devices(n: int) -> None:
    """Make jax run on ``n`` devices simulated on the CPU. In the first cell, before anything of jax is used.

    Sets ``XLA_FLAGS`` (its other flags stay), ``JAX_PLATFORMS`` and ``NPROC``. Does nothing when that is what jax
    already runs on. Raises :class:`BackendError` (a ``RuntimeError``) when jax already runs on something else, since it
    would ignore the change in silence, and for a character in a flag that would end the process; ``ValueError`` for an
    ``n`` that is no whole number from one up.
    """
    wanted = whole("n", n)
    for finding in odd_characters(os.environ):
        raise BackendError(finding.line)
    if process.jax_started():
        seen = look()
        if (seen.platform, seen.count) != ("cpu", wanted):
            raise BackendError(phrase("backend.too_late", wanted=wanted, found=seen.count, platform=seen.platform))
        return
    os.environ["XLA_FLAGS"] = with_forced_devices(os.environ.get("XLA_FLAGS", ""), wanted)
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ.setdefault("NPROC", str(max(POOL, THREADS_PER_DEVICE * wanted)))
    if "jax" in sys.modules:  # which has read the variables already, all but XLA_FLAGS
        import jax

        jax.config.update("jax_platforms", "cpu")
        jax.config.update("jax_num_cpu_devices", wanted)


def _why(seen: Here) -> str:
    if seen.platform == "cpu" and seen.count > 1:
        return phrase("backend.why_simulated")
    asked = process.jax_platforms()
    if asked not in platforms.JAX_OWN_CHOICE:
        return phrase("backend.why_asked", asked=asked)
    return phrase("backend.why_nothing_else") if seen.platform == "cpu" else phrase("backend.why_best")


def _not_started(error: BaseException) -> str:
    return phrase("backend.not_started", reason=" ".join(str(error).split())[:300] or type(error).__name__)


def _depth_of_caller() -> int:
    """The ``stacklevel`` of the first frame outside this package, as seen from :func:`announce`."""
    depth, frame = 1, sys._getframe(1)
    while frame.f_back is not None and PACKAGE in Path(frame.f_code.co_filename).parents:
        depth, frame = depth + 1, frame.f_back
    return depth
