"""Where the compiler is looked for, in which order, and what is said when it is not there."""

import sys
from pathlib import Path

import pytest

from tpu_kernels.xray import libtpu
from tpu_kernels.xray.errors import MissingCompilerError, XrayError


def install(folder: Path, version: str) -> Path:
    (folder / "libtpu").mkdir(parents=True)
    (folder / "libtpu" / "libtpu.so").write_bytes(b"")
    (folder / f"libtpu-{version}.dist-info").mkdir()
    (folder / f"libtpu-{version}.dist-info" / "METADATA").write_text(f"Name: libtpu\nVersion: {version}\n")
    return folder


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No variable, an environment of its own, nothing installed."""
    monkeypatch.delenv("SISTOLICA_LIBTPU", raising=False)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "environment"))
    monkeypatch.setattr(sys, "path", [str(tmp_path / "installed")])
    return tmp_path


def test_the_folder_that_the_variable_names_comes_first(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(nowhere / "environment" / "libtpu", "2.0")
    monkeypatch.setenv("SISTOLICA_LIBTPU", str(install(nowhere / "named", "1.0")))
    assert libtpu.find().version == "1.0"


def test_then_the_environments_own_then_what_is_installed(nowhere: Path) -> None:
    install(nowhere / "installed", "3.0")
    assert libtpu.find().version == "3.0"
    found = install(nowhere / "environment" / "libtpu", "2.0")
    assert libtpu.find() == libtpu.Libtpu(found / "libtpu" / "libtpu.so", "2.0")


def test_without_it_the_message_says_which_extra_to_install(nowhere: Path) -> None:
    with pytest.raises(MissingCompilerError, match=r"sistolica\[tpu\].*SISTOLICA_LIBTPU"):
        libtpu.find()


def test_a_variable_that_points_nowhere_is_not_passed_over(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(nowhere / "environment" / "libtpu", "2.0")
    monkeypatch.setenv("SISTOLICA_LIBTPU", str(nowhere / "wrong"))
    with pytest.raises(XrayError, match=r"SISTOLICA_LIBTPU.*wrong"):
        libtpu.find()


def test_a_library_without_a_version_is_none(nowhere: Path) -> None:
    folder = install(nowhere / "installed", "3.0")
    for path in (folder / "libtpu-3.0.dist-info").iterdir():
        path.unlink()
    (folder / "libtpu-3.0.dist-info").rmdir()
    with pytest.raises(MissingCompilerError):
        libtpu.find()
