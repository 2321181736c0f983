"""A run that is killed again and again ends with the very numbers of one that nobody disturbed."""

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.tpu_kernels.training.run_to_kill import STEPS

PROGRAM = Path(__file__).with_name("run_to_kill.py")
KILLS = int(os.environ.get("SISTOLICA_KILLS", 2))  # of each model; many more find rarer moments


def run(model: str, folder: Path, kill_at: int = 0) -> subprocess.CompletedProcess[str]:
    compiled = {
        "JAX_COMPILATION_CACHE_DIR": str(folder.parent / "compiled"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }
    command = [sys.executable, "-W", "error", str(PROGRAM), model, str(folder), str(folder.with_suffix(".npz"))]
    environment = {**os.environ, **compiled, "KILL_AT": str(kill_at)}
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def result(folder: Path) -> tuple[list[bytes], list[tuple[int, float]]]:
    """Parameters and optimiser state, bit by bit, and the losses in the log."""
    with np.load(folder.with_suffix(".npz")) as file:
        numbers = [file[name].tobytes() for name in file.files]
    lines = (folder / "log.jsonl").read_text().splitlines()
    return numbers, [(line["step"], line["loss"]) for line in map(json.loads, lines)]


@pytest.mark.parametrize("model", ["digits", "transformer"])
def test_kills_leave_no_trace_in_the_result(model: str, tmp_path: Path) -> None:
    """The transformer has dropout and four devices."""
    undisturbed = run(model, tmp_path / "undisturbed")
    assert undisturbed.returncode == 0, undisturbed.stderr
    numbers, losses = result(tmp_path / "undisturbed")
    assert [step for step, _ in losses] == list(range(1, STEPS + 1))

    moments = random.Random(0)
    folder = tmp_path / "killed"
    for _ in range(KILLS):
        killed = run(model, folder, kill_at=moments.randint(1, int(undisturbed.stdout)))
        if killed.returncode == 0:  # the last steps had fewer events than that
            break
        assert killed.returncode == -signal.SIGKILL, killed.stderr
    else:
        killed = run(model, folder)
    assert killed.returncode == 0, killed.stderr
    assert result(folder) == (numbers, losses)
    assert not list(folder.glob("*tmp*"))
