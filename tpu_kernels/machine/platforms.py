"""What ``JAX_PLATFORMS`` asks for, and why jax does not run on it."""

from collections.abc import Mapping

from tpu_kernels.machine.attached import Attached
from tpu_kernels.machine.finding import Finding, Severity
from tpu_kernels.phrases import phrase

KNOWN = ("cpu", "cuda", "gpu", "rocm", "tpu")
PACKAGES = {"tpu": "jax[tpu]", "cuda": "jax[cuda12]", "gpu": "jax[cuda12]", "rocm": "jax[rocm7-local]"}
ACCELERATORS = {"tpu": "TPU", "cuda": "GPU", "gpu": "GPU", "rocm": "GPU"}

# What jax sets by itself where it finds a TPU and nobody asked for anything.
JAX_OWN_CHOICE = (None, "", "tpu,cpu")

# libtpu's words when another process holds the TPU, and jax's when what would drive the hardware is not installed; for
# cuda it ends in an assertion without words.
BUSY = ("in use by process", "lockfile")
NOT_INSTALLED = ("not in the list of known backends", "Failed to open libtpu.so", "AssertionError")


def wanted_platforms(asked: str | None) -> tuple[str, ...]:
    """The platforms in a value of ``JAX_PLATFORMS``, best first; empty when nobody asked."""
    return tuple(asked.split(",")) if asked else ()


def refusal(asked: str | None, attached: Attached, words: str) -> Finding | None:
    """Why jax, asked for these platforms, failed with ``words``; ``None`` when the platforms do not explain it."""
    if any(reason in words for reason in BUSY):
        return None
    for platform in wanted_platforms(asked):
        if platform not in KNOWN and f"'{platform}' is not in the list" in words:
            return _unknown(str(asked), platform)
        if not attached.has(platform):
            return _absent(str(asked), platform, attached)
        if platform in PACKAGES and any(reason in words for reason in NOT_INSTALLED):
            return undriven(platform, "error")
    return None


def undriven(platform: str, severity: Severity) -> Finding:
    """The machine has the hardware, and jax has nothing to drive it with."""
    return Finding(
        "platform_undriven",
        severity,
        phrase("doctor.platform_undriven", accelerator=ACCELERATORS[platform]),
        phrase("doctor.platform_undriven_cure", package=PACKAGES[platform]),
    )


def late(environ: Mapping[str, str], configured: str | None, running: str) -> Finding | None:
    """``JAX_PLATFORMS`` names platforms and jax, which read it when it was imported, runs on another.

    ``configured`` is jax's own setting: where a program has set it, that is no accident.
    """
    asked = environ.get("JAX_PLATFORMS", "")
    families = {"gpu" if platform in {"cuda", "rocm"} else platform for platform in wanted_platforms(asked)}
    if not asked or configured == asked or configured not in JAX_OWN_CHOICE or running in families:
        return None
    return Finding(
        "platform_late",
        "error",
        phrase("doctor.platform_late", asked=asked, running=running),
        phrase("doctor.first_cell_cure"),
    )


def _unknown(asked: str, platform: str) -> Finding:
    from difflib import get_close_matches

    near = get_close_matches(platform.casefold().strip(), KNOWN, n=1, cutoff=0.5)
    return Finding(
        "platform_unknown",
        "error",
        phrase("doctor.platform_unknown", asked=asked, platform=repr(platform)),
        phrase("doctor.platform_unknown_cure", near=near[0] if near else "cpu", known=", ".join(KNOWN)),
    )


def _absent(asked: str, platform: str, attached: Attached) -> Finding:
    return Finding(
        "platform_absent",
        "error",
        phrase("doctor.platform_absent", asked=asked, platform=platform, found=", ".join(attached.platforms)),
        phrase("doctor.platform_absent_cure", accelerator=ACCELERATORS[platform]),
    )
