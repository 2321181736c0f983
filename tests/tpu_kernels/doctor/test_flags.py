"""Flags that abort jax, and settings that it does not obey."""

import pytest

from tpu_kernels.doctor.flags import find
from tpu_kernels.doctor.probe import Failure

EIGHT = "--xla_force_host_platform_device_count=8"


def kinds(found):
    return [(finding.kind, finding.severity) for finding in found]


def test_flags_that_are_obeyed_are_no_finding(evidence, seen) -> None:
    assert find(evidence()) == []
    assert find(evidence(environ={"XLA_FLAGS": EIGHT}, jax=seen(count=8), jax_started=True)) == []


def test_a_long_dash_is_found_without_jax(evidence) -> None:
    found = find(evidence(environ={"XLA_FLAGS": f"–{EIGHT[1:]}"}, jax=None))
    assert kinds(found) == [("odd_character", "error")]


def test_a_flag_that_xla_does_not_know_is_named(evidence) -> None:
    died = Failure("aborted", "Unknown flags in XLA_FLAGS: --xla_nonsense=3 --xla_tpu_x=1")
    found = find(evidence(jax=died))
    assert kinds(found) == [("flag_unknown", "error")]
    assert found[0].message.endswith(": --xla_nonsense=3 --xla_tpu_x=1")


def test_another_death_is_not_blamed_on_a_flag(evidence) -> None:
    assert find(evidence(jax=Failure("aborted", "Check failed: no memory"))) == []


def test_a_number_of_devices_set_too_late_is_told_with_both_numbers(evidence, seen) -> None:
    found = find(evidence(environ={"XLA_FLAGS": EIGHT}, jax=seen(count=1), jax_started=True))
    assert kinds(found) == [("devices_late", "error")]
    assert found[0].message.startswith("XLA_FLAGS pide 8 dispositivos, pero jax ya corre con 1")
    assert found[0].cure.startswith("Reinicia el kernel")
    assert "primera celda" in found[0].cure


def test_jax_in_another_process_is_not_late(evidence, seen) -> None:
    assert find(evidence(environ={"XLA_FLAGS": EIGHT}, jax=seen(count=1), jax_started=False)) == []


@pytest.mark.parametrize("platform", ["tpu", "gpu"])
def test_simulated_devices_beside_an_accelerator_are_told(evidence, platform: str) -> None:
    found = find(evidence(platform, environ={"XLA_FLAGS": EIGHT}))
    assert kinds(found) == [("devices_not_cpu", "warning")]
    assert platform in found[0].message
    assert "JAX_PLATFORMS=cpu" in found[0].cure


def test_a_platform_that_was_named_too_late_is_told(evidence) -> None:
    late = evidence(environ={"JAX_PLATFORMS": "tpu"}, jax_started=True)
    assert kinds(find(late)) == [("platform_late", "error")]


def test_a_platform_is_late_only_for_a_jax_that_runs_here(evidence) -> None:
    assert find(evidence(environ={"JAX_PLATFORMS": "tpu"}, jax_started=False)) == []
