"""``python -m tpu_kernels`` shows what there is without loading jax, and tells a fault in one line."""

import subprocess
import sys

import pytest

WITHOUT_JAX = """
import sys
sys.modules["jax"] = sys.modules["optax"] = None  # as where the extras are not installed
from tpu_kernels.__main__ import main
sys.argv = ["tpu_kernels", *{words!r}]
main()
"""


@pytest.mark.parametrize("words", [["--help"], ["bench", "--help"], ["train", "--help"], ["train", "text", "--help"]])
def test_help_needs_no_jax(words):
    run = subprocess.run([sys.executable, "-c", WITHOUT_JAX.format(words=words)], capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")
    assert "Usage: python -m tpu_kernels" in run.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["bench", "training", "--devices", "3"], "Pediste 3 dispositivos"),
        (["bench", "matmul", "--lang", "fr"], "unknown language 'fr'"),
        (["train", "digits", "--devices", "3"], "Pediste 3 dispositivos"),
    ],
)
def test_a_fault_is_one_line(words, said):
    run = subprocess.run([sys.executable, "-m", "tpu_kernels", *words], capture_output=True, text=True)
    assert run.returncode
    assert run.stderr.splitlines()[-1].startswith(said)
    assert "Traceback" not in run.stderr
