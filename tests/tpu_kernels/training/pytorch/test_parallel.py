"""Four devices give what one gives: sums and means over rows that do not divide, in both forms."""

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

from tests.tpu_kernels.training.pytorch.run_parallel import CASES, DEVICES, STEPS, gradients
from tpu_kernels.training.pytorch import processes, simulation
from tpu_kernels.training.pytorch.layout import OneDevice
from tpu_kernels.training.pytorch.simulation import simulate_devices
from tpu_kernels.training.pytorch.spmd import Spmd

PROGRAM = Path(__file__).with_name("run_parallel.py")


@pytest.fixture(scope="module", params=["spmd", "processes"])
def finished(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("parallel") / request.param
    environ = {name: value for name, value in os.environ.items() if name != "PJRT_DEVICE"}
    command = [sys.executable, "-W", "error", str(PROGRAM), request.param, str(path)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=environ)
    assert ended.returncode == 0, ended.stderr
    files = [np.load(file) for file in sorted(path.parent.glob("*.npz"))]
    return request.param, files, ended.stdout


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_device_has_the_gradient_of_the_whole_batch(finished, case):
    form, files, _ = finished
    assert len(files) == (DEVICES if form == "processes" else 1)
    for name, expected in gradients(OneDevice(torch.device("cpu")), *case).items():
        for file in files:
            found = file["-".join(map(str, (*case, name)))]
            assert np.linalg.norm(found - expected) <= 1e-6 * np.linalg.norm(expected), name


def test_one_program_is_compiled_for_all_steps_and_each_device_gets_its_rows(finished):
    form, _, said = finished
    if form == "spmd":
        assert said == f"{len(CASES)} {len(CASES) * STEPS} [[3, 6], [3, 6], [3, 6], [3, 6]]\n"


def test_what_one_replica_raises_ends_them_all(finished):
    form, _, said = finished
    if form == "processes":
        assert said == "replica 1 is out of luck\n"


@pytest.mark.parametrize("start", [Spmd, lambda: processes.launch(print), lambda: simulate_devices(2)])
def test_several_devices_are_refused_where_one_was_taken(start):
    with pytest.raises(RuntimeError, match=r"ya tomó el dispositivo.*Reinicia el kernel; no consultes el dispositivo"):
        start()


def test_work_that_new_processes_cannot_import_is_refused(monkeypatch):
    def from_a_cell(replica):
        pytest.fail("ran")

    from_a_cell.__module__ = "__main__"
    monkeypatch.setattr(processes, "require_unclaimed", lambda: None)
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))
    with pytest.raises(ValueError, match=r"from_a_cell está definida en este cuaderno.*start_method=.fork"):
        processes.launch(from_a_cell)


def test_simulated_devices_come_with_threads_enough(monkeypatch):
    monkeypatch.setattr(simulation, "torch_xla_started", lambda: False)
    monkeypatch.setattr(simulation.os, "environ", {"PJRT_DEVICE": "TPU"})
    simulate_devices(50)
    assert simulation.os.environ == {
        "PJRT_DEVICE": "CPU",
        "CPU_NUM_DEVICES": "50",
        "XLA_THREAD_POOL_SIZE": "100",
        "NPROC": "100",
    }
    with pytest.raises(ValueError, match="n = 0"):
        simulate_devices(0)
