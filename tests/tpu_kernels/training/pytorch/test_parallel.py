"""Four devices give what one gives: sums and means over rows that do not divide, in both forms."""

import os
import signal
import subprocess
import sys
from functools import partial
from itertools import count
from pathlib import Path
from threading import Thread
from types import ModuleType

import numpy as np
import pytest
import torch

from tests.tpu_kernels.training.pytorch.run_parallel import CASES, DEVICES, STEPS, gradients
from tpu_kernels.training.pytorch import processes, simulation
from tpu_kernels.training.pytorch.layout import OneDevice
from tpu_kernels.training.pytorch.simulation import simulate_devices
from tpu_kernels.training.pytorch.spmd import Spmd

LONGEST = 400  # seconds; devices that wait for each other would wait for ever
PROGRAM = Path(__file__).with_name("run_parallel.py")


@pytest.fixture(scope="module", params=["spmd", "processes"])
def finished(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("parallel") / request.param
    environ = {name: value for name, value in os.environ.items() if name != "PJRT_DEVICE"} | {"SISTOLICA_LANG": "es"}
    command = [sys.executable, "-W", "error", str(PROGRAM), request.param, str(path)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    program = subprocess.Popen(command, text=True, env=environ, start_new_session=True, **pipes)
    try:
        said, complained = program.communicate(timeout=LONGEST)
    except subprocess.TimeoutExpired:
        os.killpg(program.pid, signal.SIGKILL)  # with the processes that it started
        raise
    assert program.returncode == 0, complained
    files = [np.load(file) for file in sorted(path.parent.glob("*.npz"))]
    return request.param, files, said


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


class Replica:
    """Of two, with nothing to compute."""

    indices = count()
    turns = None

    def __init__(self):
        self.index, self._turns = next(self.indices), self.turns
        self.did = []

    def sync(self):
        self._turns.take(partial(self.did.append, "sync"))


@pytest.fixture
def two_replicas(monkeypatch):
    """Runs ``work`` on two replicas, in threads as they are on a CPU; what each ended with."""

    def run(work):
        monkeypatch.setattr(Replica, "turns", processes._Turns(2))
        monkeypatch.setattr(Replica, "indices", count())
        monkeypatch.setattr(processes, "Replica", Replica)
        ends = {}

        def of_one(thread):
            try:
                processes._work(work, thread)
                ends[thread] = None
            except (LookupError, RuntimeError) as error:
                ends[thread] = error

        threads = [Thread(target=of_one, args=(thread,), daemon=True) for thread in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=60)
        return [ends.get(thread, "still waiting") for thread in range(2)]

    return run


def test_replicas_that_come_to_every_sync_end_well(two_replicas):
    for _ in range(50):
        assert two_replicas(lambda replica: [replica.sync() for _ in range(3)]) == [None, None]


def test_a_replica_that_fails_ends_the_others_with_what_it_raised(two_replicas):
    failure = LookupError("out of luck")

    def work(replica):
        replica.sync()
        if replica.index == 1:
            raise failure
        replica.sync()

    assert two_replicas(work) == [failure, failure]


def test_a_replica_that_ends_early_keeps_no_other_waiting(two_replicas):
    ends = two_replicas(lambda replica: [replica.sync() for _ in range(3 + replica.index)])
    said = "De 2 dispositivos, 1 ya terminaron y los demás siguen: esperarían para siempre."
    assert [str(end).startswith(said) for end in ends] == [True, True]


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
