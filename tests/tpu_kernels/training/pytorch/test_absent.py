"""Without PyTorch, or beside a PyTorch that nobody asked for, the rest of the library works and this part says why."""

import subprocess
import sys

import pytest

from tpu_kernels.phrases import phrase

HIDE_TORCH = """
import importlib.util
really = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "torch" else really(name, *rest)
"""


def run(script):
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("module", ["device", "transformer", "counters"])
def test_without_torch_each_module_says_what_to_install(module):
    ended = run(f"{HIDE_TORCH}\nimport tpu_kernels.training.pytorch.{module}")
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1].endswith(f"LibraryError: {phrase('pytorch.no_torch')}")


def test_training_and_its_numpy_parts_import_neither_torch_nor_jax():
    modules = "training, training.transformer_config, training.pipeline, training.text"
    script = f"""
import importlib, sys
for name in {modules!r}.split(", "):
    importlib.import_module("tpu_kernels." + name)
print(sorted({{"torch", "torch_xla", "jax"}} & set(sys.modules)))
"""
    ended = run(script)
    assert (ended.stdout, ended.stderr) == ("[]\n", "")
