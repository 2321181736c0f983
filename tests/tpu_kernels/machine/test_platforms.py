"""Why jax does not run on the platform that was named: not there, not driven, no platform, or named too late."""

import pytest

from tpu_kernels.machine import platforms
from tpu_kernels.machine.attached import Attached

CPU = Attached()
TPU = Attached(tpu_chips=4)
NVIDIA = Attached(nvidia=True)
AMD = Attached(amd=True)

# As jax 0.10.2 says it.
NO_LIBTPU = (
    "RuntimeError: Unable to initialize backend 'tpu': INTERNAL: Failed to open libtpu.so: libtpu.so: cannot open"
)
NO_DEVICE = "RuntimeError: Unable to initialize backend 'tpu': NOT_FOUND: No jellyfish device found."
BUSY = "RuntimeError: Unable to initialize backend 'tpu': ABORTED: The TPU is already in use by process with pid 12."
UNKNOWN = (
    "RuntimeError: Unable to initialize backend '{0}': Backend '{0}' is not in the list of known backends: ['cpu']."
)


@pytest.mark.parametrize(
    ("asked", "attached", "words", "kind"),
    [
        ("tpu", CPU, NO_DEVICE, "platform_absent"),
        ("tpu", CPU, NO_LIBTPU, "platform_absent"),
        ("tpu,cpu", NVIDIA, NO_DEVICE, "platform_absent"),
        ("cuda", CPU, "AssertionError: ", "platform_absent"),
        ("cuda", AMD, "AssertionError: ", "platform_absent"),
        ("gpu", CPU, UNKNOWN.format("rocm"), "platform_absent"),
        ("rocm", NVIDIA, UNKNOWN.format("rocm"), "platform_absent"),
        ("tpu", TPU, NO_LIBTPU, "platform_undriven"),
        ("cuda", NVIDIA, UNKNOWN.format("cuda"), "platform_undriven"),
        ("gpu", AMD, UNKNOWN.format("cuda"), "platform_undriven"),
        ("tpus", CPU, UNKNOWN.format("tpus"), "platform_unknown"),
        ("cpu,tpus", TPU, UNKNOWN.format("tpus"), "platform_unknown"),
        ("CPU", CPU, UNKNOWN.format("CPU"), "platform_unknown"),
        ("metal", CPU, "RuntimeError: Metal has no device", None),
        ("tpu", TPU, BUSY, None),
        ("tpu", CPU, BUSY, None),  # a chip whose address is not listed
        ("cpu", CPU, "RuntimeError: Unable to initialize backend 'cpu'", None),
        ("", CPU, NO_DEVICE, None),
        (None, CPU, "RuntimeError: jaxlib is version 0.9", None),
    ],
)
def test_the_reason_is_found(asked: str | None, attached: Attached, words: str, kind: str | None) -> None:
    refused = platforms.refusal(asked, attached, words)
    assert (refused.kind if refused else None) == kind
    assert refused is None or refused.severity == "error"


@pytest.mark.parametrize(("typed", "meant"), [("tpus", "tpu"), ("TPU", "tpu"), ("cuda ", "cuda"), ("xyzzy", "cpu")])
def test_a_misspelling_is_met_with_the_nearest_name(typed: str, meant: str) -> None:
    refused = platforms.refusal(typed, CPU, UNKNOWN.format(typed))
    assert refused is not None
    assert repr(typed) in refused.message
    assert refused.cure.startswith(f"¿Quisiste decir {meant}? ")


def test_what_the_machine_has_instead_is_told() -> None:
    refused = platforms.refusal("tpu", NVIDIA, NO_DEVICE)
    assert refused is not None
    assert refused.message == "JAX_PLATFORMS=tpu pide tpu, y esta máquina solo tiene: gpu, cpu."


@pytest.mark.parametrize(
    ("platform", "package"), [("tpu", "jax[tpu]"), ("cuda", "jax[cuda12]"), ("rocm", "jax[rocm7-local]")]
)
def test_what_drives_idle_hardware_is_named(platform: str, package: str) -> None:
    assert f"pip install -U '{package}'" in platforms.undriven(platform, "note").cure


@pytest.mark.parametrize(
    ("asked", "configured", "running", "late"),
    [
        ("tpu", None, "cpu", True),
        ("cpu", "tpu,cpu", "tpu", True),  # jax named the TPU by itself, before the variable was set
        ("tpu", "", "cpu", True),
        ("cuda", None, "gpu", False),
        ("cuda,cpu", None, "cpu", False),
        ("tpu", "cpu", "cpu", False),  # the program's own choice
        ("cpu", "cpu", "cpu", False),
        ("", None, "cpu", False),
    ],
)
def test_a_variable_that_came_too_late_is_seen(asked: str, configured: str | None, running: str, late: bool) -> None:
    found = platforms.late({"JAX_PLATFORMS": asked}, configured, running)
    assert (found is not None) == late
    assert found is None or (asked in found.message and running in found.message)


def test_no_variable_is_never_late() -> None:
    assert platforms.late({}, None, "cpu") is None
