"""The models run in a browser as they are: importing them brings in nothing from outside the standard library."""

import json
import pkgutil
import subprocess
import sys

import tpu_kernels.models

LIST_MODULES = """
import importlib, json, sys
before = set(sys.modules)
for name in {names!r}:
    importlib.import_module(name)
print(json.dumps(sorted(set(sys.modules) - before)))
"""


def imported_by(names: list[str]) -> set[str]:
    script = LIST_MODULES.format(names=names)
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(json.loads(run.stdout))


def model_names() -> list[str]:
    found = pkgutil.iter_modules(tpu_kernels.models.__path__, "tpu_kernels.models.")
    return ["tpu_kernels", "tpu_kernels.models", *(module.name for module in found)]


def test_the_models_import_only_the_standard_library() -> None:
    names = model_names()
    assert "tpu_kernels.models.systolic" in names
    imported = imported_by(names)
    assert "tpu_kernels.models.hardware" in imported
    tops = {name.partition(".")[0] for name in imported}
    assert tops - sys.stdlib_module_names == {"tpu_kernels"}


def test_the_check_would_see_a_foreign_import() -> None:
    assert "numpy" in imported_by(["numpy"])


def test_what_is_slow_to_import_waits_for_its_first_use() -> None:
    assert imported_by(model_names()) & {"dataclasses", "inspect", "difflib", "importlib.resources", "asyncio"} == set()
