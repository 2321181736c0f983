"""Versions: the pair that does not match is named, with what to type."""

from dataclasses import replace

import pytest

from tpu_kernels.doctor.versions import find
from tpu_kernels.machine.attached import Attached


def kinds(found):
    return [(finding.kind, finding.severity) for finding in found]


@pytest.mark.parametrize("jaxlib", ["0.10.1", "0.10.2", "0.10.2rc1"])
def test_versions_that_go_together_are_no_finding(evidence, jaxlib: str) -> None:
    assert find(evidence(installed={"jax": "0.10.2", "jaxlib": jaxlib})) == []


@pytest.mark.parametrize("jaxlib", ["0.9.2", "0.10.3", "0.11.0rc1"])
def test_another_jaxlib_is_an_error_that_names_the_pair(evidence, jaxlib: str) -> None:
    found = find(evidence(installed={"jax": "0.10.2", "jaxlib": jaxlib}))
    assert kinds(found) == [("version_pair", "error")]
    assert "jax 0.10.2 pide jaxlib <=0.10.2,>=0.10.1" in found[0].message
    assert f"instalado jaxlib {jaxlib}." in found[0].message
    assert "pip install 'jax==0.10.2'" in found[0].cure
    assert "reinicia el entorno" in found[0].cure


@pytest.mark.parametrize(("platform", "severity"), [("tpu", "error"), ("cpu", "warning")])
def test_another_libtpu_matters_where_there_is_a_tpu(evidence, platform: str, severity: str) -> None:
    sound = evidence(platform)
    found = find(replace(sound, installed={**sound.installed, "libtpu": "0.0.50.1"}))
    assert kinds(found) == [("version_pair", severity)]


def test_a_pair_of_which_one_is_not_installed_is_no_fault(evidence) -> None:
    assert find(evidence(installed={"jax": "0.10.2"})) == []


@pytest.mark.parametrize(
    ("attached", "installed", "package"),
    [
        (Attached(tpu_chips=1), {}, "jax[tpu]"),
        (Attached(nvidia=True), {}, "jax[cuda12]"),
        (Attached(nvidia=True), {"jax-cuda13-plugin": "0.7.0"}, "jax[cuda13]"),
        (Attached(), {}, "jax"),
    ],
)
def test_the_cure_brings_what_drives_the_hardware(evidence, attached, installed, package: str) -> None:
    for version, kind in ((None, "jax_absent"), ("0.7.2", "jax_old")):
        versions = installed | ({"jax": version} if version else {})
        found = find(evidence(attached=attached, installed=versions, jax=None))
        assert kinds(found) == [(kind, "error")]
        assert f"'{package}'" in found[0].cure


@pytest.mark.parametrize(("version", "old"), [("0.7.2", True), ("0.8.0", False), ("0.12.0.1", False)])
def test_a_jax_below_the_oldest_is_too_old(evidence, version: str, old: bool) -> None:
    assert kinds(find(evidence(installed={"jax": version}))) == ([("jax_old", "error")] if old else [])


def test_a_module_that_was_replaced_on_disk_needs_a_restart(evidence) -> None:
    found = find(evidence(imported={"jax": "0.9.2", "jaxlib": "0.10.2"}))
    assert kinds(found) == [("version_stale", "error")]
    assert "cargado jax 0.9.2, pero el instalado es 0.10.2" in found[0].message
    assert "Reinicia el entorno" in found[0].cure


def test_a_local_build_of_the_same_version_is_the_same(evidence) -> None:
    installed = {"jax": "0.10.2", "torch": "2.9.1"}
    assert find(evidence(installed=installed, imported={"torch": "2.9.1+cpu"})) == []


def test_a_module_without_metadata_is_not_compared(evidence) -> None:
    assert find(evidence(imported={"libtpu": "0.0.1"})) == []


@pytest.mark.parametrize(
    ("python", "old"), [("3.9.18", True), ("3.11.7", True), ("3.12.0", False), ("3.13.0rc1", False)]
)
def test_a_python_that_gets_no_newer_jax_is_a_note(evidence, python: str, old: bool) -> None:
    assert kinds(find(evidence(python=python))) == ([("python_old", "note")] if old else [])
