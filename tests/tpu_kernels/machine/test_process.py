"""What this process has started is told without starting it."""

import os
import subprocess
import sys
import types

import numpy
import pytest

from tpu_kernels.machine import process

ASK = "from tpu_kernels.machine.process import jax_started, jax_platforms; print(jax_started(), jax_platforms())"


def told(before: str) -> str:
    environ = {**os.environ, "JAX_PLATFORMS": "cpu"}
    run = subprocess.run(
        [sys.executable, "-c", f"{before}\n{ASK}"], capture_output=True, text=True, env=environ, check=True
    )
    return run.stdout.strip()


@pytest.mark.parametrize(
    ("before", "answer"),
    [("", "False None"), ("import jax", "False cpu"), ("import jax; jax.devices()", "True cpu")],
)
def test_jax_has_started_once_it_has_devices(before: str, answer: str) -> None:
    assert told(before) == answer


def test_asking_imports_nothing() -> None:
    assert told("import sys, atexit; atexit.register(lambda: print('jax' in sys.modules))").endswith("False")


def test_a_jax_whose_import_failed_has_no_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", types.ModuleType("jax"))
    assert process.jax_platforms() is None


@pytest.mark.parametrize("started", [True, False])
def test_torch_xla_is_asked_whether_it_has_started(monkeypatch: pytest.MonkeyPatch, started: bool) -> None:
    native = types.SimpleNamespace(_xla_runtime_is_initialized=lambda: started)
    monkeypatch.setitem(sys.modules, "torch_xla", types.SimpleNamespace(_XLAC=native))
    assert process.torch_xla_started() is started


def test_a_torch_xla_that_is_not_there_has_not_started(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not process.torch_xla_started()
    monkeypatch.setitem(sys.modules, "torch_xla", types.ModuleType("torch_xla"))
    assert not process.torch_xla_started()


def test_versions_are_those_of_imported_modules() -> None:
    assert process.imported_versions(["numpy", "torch_xla", "tpu_kernels"]) == {"numpy": numpy.__version__}
