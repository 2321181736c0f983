"""torch and torch_xla are a pair or are refused, in words that name both versions and the pair to install."""

import os
import subprocess
import sys

import pytest

from tpu_kernels import messages
from tpu_kernels.training.pytorch import libraries

UNDEFINED = "/x/_XLAC.so: undefined symbol: _ZN2at4_ops5dummyE"


def test_a_torch_xla_whose_import_fails_stops_this_part_only(tmp_path):
    package = tmp_path / "torch_xla"
    package.mkdir()
    (package / "__init__.py").write_text(f"raise ImportError({UNDEFINED!r})")
    script = """
import tpu_kernels
from tpu_kernels.training.pytorch import device, libraries
try:
    libraries.torch_xla()
except libraries.LibraryError as error:
    print(error)
print(device.device("cpu"))
"""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environ)
    refused, chosen = ended.stdout.splitlines()
    versions = libraries.installed_versions(("torch", "torch_xla"))
    assert refused.startswith(f"torch {versions['torch']} y torch_xla {versions['torch_xla']} no casan ({UNDEFINED}).")
    assert "pip install 'torch==2.9.*' 'torch_xla==2.9.*'" in refused
    assert chosen == "PyTorch calcula con cpu en cpu (cpu): es lo que pediste."


@pytest.mark.parametrize(
    ("lang", "said"),
    [
        ("es", "torch 2.11.0+cpu y torch_xla 2.9.0 no casan (son de series distintas)."),
        ("pt", "torch 2.11.0+cpu e torch_xla 2.9.0 não combinam (são de séries diferentes)."),
    ],
)
def test_versions_of_two_series_are_refused_before_anything_is_imported(monkeypatch, lang, said):
    messages.use(lang)
    monkeypatch.setattr(libraries, "installed_versions", lambda names: {"torch": "2.11.0+cpu", "torch_xla": "2.9.0"})
    monkeypatch.setattr(libraries.importlib, "import_module", lambda name: pytest.fail(f"imported {name}"))
    with pytest.raises(libraries.LibraryError) as refused:
        libraries.torch_xla()
    assert str(refused.value).startswith(said)
    assert "'torch==2.9.*' 'torch_xla==2.9.*'" in str(refused.value)


@pytest.mark.parametrize("versions", [{"torch": "2.9.1+cu128", "torch_xla": "2.9.0"}, {"torch": "2.9.1"}, {}])
def test_a_pair_and_versions_that_are_not_known_are_not_refused(monkeypatch, versions):
    monkeypatch.setattr(libraries, "installed_versions", lambda names: versions)
    assert libraries.torch_xla().__name__ == "torch_xla"


def test_without_torch_xla_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(libraries.importlib.util, "find_spec", lambda name: None if name == "torch_xla" else object())
    with pytest.raises(libraries.LibraryError, match="torch_xla no está instalado") as missing:
        libraries.torch_xla()
    assert missing.value.name == "torch_xla"
