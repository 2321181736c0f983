"""Devices: absent, idle, too few, or plainly a CPU."""

import pytest

from tpu_kernels.doctor.devices import find
from tpu_kernels.doctor.probe import Failure
from tpu_kernels.machine.attached import Attached

ABSENT = Failure("raised", "RuntimeError: Unable to initialize backend 'tpu': No jellyfish device found.")


def kinds(found):
    return [(finding.kind, finding.severity) for finding in found]


@pytest.mark.parametrize("platform", ["cpu", "tpu", "gpu"])
def test_the_platform_that_was_asked_for_is_no_finding(evidence, platform: str) -> None:
    assert find(evidence(platform)) == []


def test_a_platform_that_is_not_here_is_an_error(evidence) -> None:
    assert kinds(find(evidence(environ={"JAX_PLATFORMS": "tpu"}, jax=ABSENT))) == [("platform_absent", "error")]


def test_a_platform_set_by_the_program_counts_too(evidence) -> None:
    assert kinds(find(evidence(environ={}, jax_platforms="tpu", jax=ABSENT))) == [("platform_absent", "error")]


@pytest.mark.parametrize("how", ["aborted", "timed_out"])
def test_only_what_jax_said_itself_is_blamed_on_the_platform(evidence, how: str) -> None:
    assert find(evidence(environ={"JAX_PLATFORMS": "tpu"}, jax=Failure(how, "…"))) == []


def test_fewer_devices_than_expected_are_an_error_with_both_numbers(evidence) -> None:
    found = find(evidence("tpu", expected_devices=8))
    assert kinds(found) == [("devices_few", "error")]
    assert "esperaban 8 dispositivos y jax ve 1 (TPU v5 lite)" in found[0].message
    assert "simulate_devices(8)" in found[0].cure
    assert "Colab" not in found[0].cure


def test_on_colab_one_chip_is_all_there_is(evidence) -> None:
    assert "un solo chip v5e" in find(evidence("tpu", place="colab", expected_devices=8))[0].cure


@pytest.mark.parametrize("expected", [None, 1, 4, 8])
def test_as_many_as_expected_or_more_are_no_finding(evidence, seen, expected: int | None) -> None:
    assert find(evidence("tpu", expected_devices=expected, jax=seen("tpu", count=8))) == []


def test_without_a_platform_in_mind_the_cpu_is_told_plainly(evidence) -> None:
    found = find(evidence(environ={}))
    assert kinds(found) == [("cpu_only", "note")]
    assert "Colab" not in found[0].cure


@pytest.mark.parametrize("place", ["colab", "kaggle"])
def test_on_a_hosted_notebook_the_way_to_an_accelerator_is_told(evidence, place: str) -> None:
    found = find(evidence(environ={}, place=place))
    assert kinds(found) == [("cpu_only", "note")]
    assert "Entorno de ejecución > Cambiar tipo de entorno de ejecución" in found[0].cure


@pytest.mark.parametrize(
    ("attached", "package"),
    [
        (Attached(tpu_chips=4), "jax[tpu]"),
        (Attached(nvidia=True), "jax[cuda12]"),
        (Attached(amd=True), "jax[rocm7-local]"),
    ],
)
def test_hardware_that_lies_idle_is_a_warning(evidence, attached: Attached, package: str) -> None:
    found = find(evidence(environ={}, attached=attached))
    assert kinds(found) == [("platform_undriven", "warning")]
    assert package in found[0].cure


def test_hardware_that_was_declined_is_not(evidence) -> None:
    assert find(evidence(environ={"JAX_PLATFORMS": "cpu"}, attached=Attached(tpu_chips=4))) == []
