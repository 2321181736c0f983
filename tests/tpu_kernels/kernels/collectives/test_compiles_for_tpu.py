"""The TPU's own compiler takes every collective, on slices from 8 chips to 256; no TPU is needed.

It is in libtpu, which is looked for in the folder named by ``SISTOLICA_LIBTPU``, or in ``libtpu`` beside the running
environment: a package installed for this alone, because jax would take it for a sign of a TPU.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.tpu_kernels.kernels.collectives import compile_for_tpu
from tests.tpu_kernels.kernels.collectives.compile_for_tpu import Case

PLACE = Path(os.environ.get("SISTOLICA_LIBTPU") or Path(sys.prefix) / "libtpu")
CASES = list(compile_for_tpu.cases())

pytestmark = pytest.mark.skipif(
    not (PLACE / "libtpu").is_dir(), reason=f"no TPU compiler: pip install --target {PLACE} --no-deps libtpu"
)


@pytest.fixture(scope="module")
def said() -> dict[str, dict[str, Any]]:
    """What the compiler said of every case, by one process for all of them."""
    program = [sys.executable, compile_for_tpu.__file__, str(PLACE)]
    run = subprocess.run(program, capture_output=True, text=True, timeout=900, check=False)
    assert run.returncode == 0, run.stderr[-3000:]
    found: dict[str, dict[str, Any]] = json.loads(run.stdout)
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_compiler_takes_it(said: dict[str, dict[str, Any]], case: Case) -> None:
    """Each stage of a torus is a kernel, and an all-reduce is two collectives."""
    assert "error" not in said[case.name], said[case.name]["error"]
    stages = 1 if case.collective == "permute" else len(case.mesh)
    assert said[case.name]["kernels"] == stages * (2 if case.collective == "all_reduce" else 1)


def test_every_case_was_compiled(said: dict[str, dict[str, Any]]) -> None:
    assert sorted(said) == sorted(case.name for case in CASES)
