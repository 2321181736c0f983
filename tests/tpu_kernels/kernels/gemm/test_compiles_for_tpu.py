"""The TPU's own compiler takes the kernel, with the blocks that are chosen, for every generation; no TPU is needed.

It is in libtpu, which is looked for in the folder named by ``SISTOLICA_LIBTPU``, or in ``libtpu`` beside the running
environment: a package installed for this alone, because jax would take it for a sign of a TPU.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tpu_kernels.kernels.gemm import compile_for_tpu

PLACE = Path(os.environ.get("SISTOLICA_LIBTPU") or Path(sys.prefix) / "libtpu")
NAMES = [f"{chip} {name}" for chip in compile_for_tpu.TOPOLOGIES for name, _ in compile_for_tpu.cases(chip)]

pytestmark = pytest.mark.skipif(
    not (PLACE / "libtpu").is_dir(), reason=f"no TPU compiler: pip install --target {PLACE} --no-deps libtpu"
)


@pytest.fixture(scope="module")
def said() -> dict[str, dict[str, str]]:
    """What the compiler said of every case, by one process for all of them."""
    program = [sys.executable, compile_for_tpu.__file__, str(PLACE)]
    run = subprocess.run(program, capture_output=True, text=True, timeout=900, check=False)
    assert run.returncode == 0, run.stderr[-3000:]
    found: dict[str, dict[str, str]] = json.loads(run.stdout)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_the_compiler_takes_it(said: dict[str, dict[str, str]], name: str) -> None:
    assert "error" not in said[name], said[name]["error"]


def test_every_case_was_compiled(said: dict[str, dict[str, str]]) -> None:
    assert sorted(said) == sorted(NAMES)
    assert len(NAMES) > 60


def test_blocks_beyond_the_compiler_s_default_limit_are_among_them(said: dict[str, dict[str, str]]) -> None:
    """36 MiB of blocks, where a kernel that says nothing gets 16."""
    assert said["v6e large blocks"]["block"] == "1024x4096x512"
