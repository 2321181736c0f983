"""The models answer in the browser's Python as they do here, bit for bit.

Pyodide differs in the version of Python, in the C library that computes ``log`` and ``exp``, and in being 32-bit.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SCRIPT = HERE / "answers.py"


def answers(command: list[str]) -> list[str]:
    done = subprocess.run(
        command,
        cwd=HERE,
        env={**os.environ, "PYTHONPATH": str(ROOT), "SISTOLICA_LANG": "es"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def in_the_browsers_python() -> list[str]:
    node = shutil.which("node")
    if node is None or not (HERE / "node_modules" / "pyodide").is_dir():
        pytest.skip("no Pyodide here; with Node 18 or newer on PATH, `make pyodide` installs it")
    return answers([node, "run.mjs", str(ROOT), SCRIPT.relative_to(ROOT).as_posix()])


def test_systolic_and_serving_models_answer_the_same_in_pyodide(in_the_browsers_python):
    here = answers([sys.executable, str(SCRIPT)])
    assert len(here) > 8
    assert in_the_browsers_python == here
