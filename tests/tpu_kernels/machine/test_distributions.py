"""Versions of what is installed, read from its metadata and never by importing it."""

import sys
from importlib import metadata
from pathlib import Path

import pytest

from tpu_kernels.machine.distributions import asked_by_jax, installed_versions


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Put the metadata of a distribution before all others."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def add(name: str, version: str, *requirements: str) -> None:
        folder = tmp_path / f"{name}-{version}.dist-info"
        folder.mkdir()
        lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
        lines += [f"Requires-Dist: {requirement}" for requirement in requirements]
        (folder / "METADATA").write_text("\n".join(lines) + "\n")

    return add


def test_what_is_installed_has_its_version(install) -> None:
    install("jaxlib", "0.9.1")
    assert installed_versions(["jaxlib", "no-such-distribution"]) == {"jaxlib": "0.9.1"}


def test_torch_xla_is_found_by_either_of_its_names(install) -> None:
    install("torch_xla", "2.9.0")
    assert installed_versions(["torch_xla"]) == {"torch_xla": "2.9.0"}
    assert "torch_xla" not in sys.modules


def test_jax_names_its_companions_and_nothing_else(install) -> None:
    install(
        "jax",
        "0.9.0",
        'jaxlib==0.8.7; extra == "minimum-jaxlib"',
        "jaxlib<=0.9.0,>=0.8.7",
        "numpy>=2.0",
        'libtpu==0.0.40.*; extra == "tpu"',
        'jax-cuda12-plugin[with-cuda]<=0.9.0,>=0.9.0; extra == "cuda12"',
    )
    asked = asked_by_jax()
    assert {name: set(asked[name].split(",")) for name in asked} == {
        "jaxlib": {"<=0.9.0", ">=0.8.7"},
        "libtpu": {"==0.0.40.*"},
        "jax-cuda12-plugin": {"<=0.9.0", ">=0.9.0"},
    }


def test_without_jax_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> list[str]:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", absent)
    assert asked_by_jax() == {}
