"""Peers: what every one runs, in threads of this process, and programs that are absent, silent or broken."""

import json
import os
import select
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tpu_kernels.bench import collective_peers
from tpu_kernels.bench.collective_case import cases
from tpu_kernels.bench.collective_peers import Peer, absence, bench_peer, checked_peers
from tpu_kernels.bench.measurement_error import MeasurementError
from tpu_kernels.bench.peers.measurement import Forms, Job, measure, parsed

OF, LARGER = cases("all-reduce", [64, 256], ranks=2, dtype="int32")


class Meeting:
    """Two ranks that are threads: sums over what both left on the table."""

    def __init__(self):
        self.barrier = threading.Barrier(2)
        self.table = [None, None]

    def exchanged(self, rank, mine):
        self.table[rank] = mine
        self.barrier.wait()
        both = list(self.table)
        self.barrier.wait()
        return both


class ThreadPeer:
    version = "threads"

    def __init__(self, rank, meeting, spoil=0):
        self.rank, self.meeting, self.spoil = rank, meeting, spoil
        self.calls = 0

    def forms(self, case):
        if case.size > 64:
            raise NotImplementedError("256 bytes")
        data = case.data(self.rank).astype(np.int32)
        sent = data.copy()

        def call():
            self.calls += 1
            total = sum(self.meeting.exchanged(self.rank, sent.copy()))
            sent[:] = total
            sent[: self.spoil] += 1

        return Forms(lambda: np.copyto(sent, data), None, call, {"in_place": lambda: sent})

    def barrier(self):
        self.meeting.barrier.wait()

    def gather(self, found):
        both = self.meeting.exchanged(self.rank, found)
        return both if self.rank == 0 else None


def measured(case=OF, spoil=(0, 0)):
    meeting = Meeting()
    peers = [ThreadPeer(rank, meeting, spoil[rank]) for rank in range(2)]
    job = parsed(json.dumps({"case": case.to_dict(), "warmup": 2, "repeats": 3}))
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda peer: measure(peer, job), peers)), peers


def test_a_case_is_checked_once_warmed_up_and_timed_by_every_rank():
    (first, second), peers = measured()
    assert second is None
    assert first["in_place"]["wrong"] == 0
    assert [len(calls) for calls in first["in_place"]["samples"]] == [3, 3]
    assert [peer.calls for peer in peers] == [1 + 2 + 3] * 2


def test_wrong_elements_of_all_ranks_are_added_up():
    (first, _), _ = measured(spoil=(1, 4))
    assert first["in_place"]["wrong"] == 5


def test_what_a_library_cannot_do_is_missing():
    (first, _), _ = measured(LARGER)
    assert first == {"version": "threads", "missing": "256 bytes"}


def saying(words, status=0):
    """A peer whose only rank says these words and ends so."""
    script = "import sys; print(sys.argv[1]); print('out of luck', file=sys.stderr); sys.exit(int(sys.argv[2]))"

    def start(python, job, ranks, folder):
        assert Job(**json.loads(job)).repeats == 3
        return [collective_peers._started([python, "-c", script, words, str(status)], folder, 0, {})]

    return Peer("sys", "", start)


def answer(monkeypatch, words, status=0):
    monkeypatch.setitem(collective_peers.PEERS, "threads", saying(words, status))
    return bench_peer("threads", sys.executable, OF, warmup=2, repeats=3)


def test_what_a_peer_prints_becomes_a_row(monkeypatch):
    (first, _), _ = measured()
    found = answer(monkeypatch, json.dumps(first))
    assert (found.version, found.note) == ("threads", None)
    assert (found.row.case, found.row.out_of_place) == (OF, None)
    assert found.row.seconds == pytest.approx(np.mean(first["in_place"]["samples"]))


def test_what_a_peer_cannot_do_becomes_a_note(monkeypatch):
    found = answer(monkeypatch, json.dumps({"version": "1", "missing": "bfloat16"}))
    assert found.row is None
    assert "bfloat16" in found.note


def test_the_slowest_and_the_fastest_rank_are_kept(monkeypatch):
    outcome = {"wrong": 0, "samples": [[1.0, 3.0, 8.0], [4.0, 9.0, 5.0]]}
    found = answer(monkeypatch, json.dumps({"version": "1", "in_place": outcome})).row.to_dict()["in_place"]
    assert (found["fastest_rank"], found["seconds"], found["slowest_rank"]) == (4.0, 5.0, 6.0)
    assert (found["best"], found["median"]) == (4.0, 8.0)


def test_a_peer_that_breaks_is_quoted(monkeypatch):
    with pytest.raises(MeasurementError, match=r"estado 3.*out of luck"):
        answer(monkeypatch, "", status=3)


def test_a_peer_that_never_ends_is_ended(monkeypatch):
    started = []

    def start(python, job, ranks, folder):
        script = "import time; time.sleep(600)"
        started.append(collective_peers._started([python, "-c", script], folder, 0, {}))
        return started

    monkeypatch.setitem(collective_peers.PEERS, "threads", Peer("sys", "", start))
    monkeypatch.setattr(collective_peers, "DEADLINE", 0.01)
    with pytest.raises(MeasurementError, match=r"0\.01 s"):
        bench_peer("threads", sys.executable, OF, warmup=2, repeats=3)
    assert started[0].returncode == -signal.SIGTERM  # asked, not killed: mpirun takes its ranks with it


def test_a_peer_whose_other_rank_fails_is_not_waited_for(monkeypatch):
    def start(python, job, ranks, folder):
        first = collective_peers._started([python, "-c", "import time; time.sleep(600)"], folder, 0, {})
        return [first, collective_peers._started([python, "-c", "raise SystemExit('no port')"], folder, 1, {})]

    monkeypatch.setitem(collective_peers.PEERS, "threads", Peer("sys", "", start))
    with pytest.raises(MeasurementError, match=r"estado 1.*no port"):
        bench_peer("threads", sys.executable, OF, warmup=2, repeats=3)


@pytest.mark.parametrize("words", ["", "not json", "[]"])
def test_a_peer_that_says_something_else_is_refused(monkeypatch, words):
    with pytest.raises(MeasurementError, match=r"threads terminó sin una medida; dijo '.*--peer-python"):
        answer(monkeypatch, words)


def test_a_program_that_is_not_there_is_named(monkeypatch):
    def start(python, job, ranks, folder):
        return [collective_peers._started(["no/such/program"], folder, 0, {})]

    monkeypatch.setitem(collective_peers.PEERS, "threads", Peer("sys", "", start))
    with pytest.raises(MeasurementError, match=r"estado 1.*no/such/program"):
        bench_peer("threads", sys.executable, OF, warmup=2, repeats=3)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with the one that started it")
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM])
def test_ranks_end_with_the_benchmark_however_it_ends(sent):
    """The rank holds the other end of a pipe, which closes when it ends."""
    ours, theirs = os.pipe()
    rank = f"import os, time; os.write({theirs}, b'here'); time.sleep(600)"
    program = f"""
import subprocess, sys
from tpu_kernels.bench.mortal import mortal
subprocess.run(mortal([sys.executable, "-c", {rank!r}]), close_fds=False)
"""
    with os.fdopen(ours, "rb", buffering=0) as reading:
        started = subprocess.Popen([sys.executable, "-c", program], pass_fds=[theirs])
        os.close(theirs)
        assert reading.read(4) == b"here"
        started.send_signal(sent)
        started.wait()
        ended, _, _ = select.select([reading], [], [], 30)
        assert ended, "the rank outlived it"
        assert reading.read(1) == b""


def test_an_absent_peer_is_named_with_the_line_that_installs_it(monkeypatch):
    there = Peer("json", "pip install json", None)
    gone = Peer("no_such_module", "{python} -m pip install it", None)
    monkeypatch.setattr(collective_peers, "PEERS", {"there": there, "gone": gone})
    assert absence("there", sys.executable) is None
    assert f"{sys.executable} -m pip install it" in absence("gone", sys.executable)
    assert "no/such/python" in absence("there", "no/such/python")


def test_mpi_needs_its_launcher_too(monkeypatch):
    monkeypatch.setitem(collective_peers.PEERS, "mpi", collective_peers.PEERS["mpi"]._replace(module="json"))
    monkeypatch.setattr(collective_peers.shutil, "which", lambda name: None)
    assert "openmpi-bin" in absence("mpi", sys.executable)


def test_an_unknown_peer_is_refused():
    with pytest.raises(ValueError, match=r"nccl.*mpi, gloo"):
        checked_peers(["gloo", "nccl"])


def test_what_peers_import_needs_no_jax():
    script = "import sys, tpu_kernels.bench.peers.measurement; sys.exit('jax' in sys.modules or 'typer' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_what_a_library_says_before_the_answer_is_passed_over():
    assert collective_peers._parsed("gloo", '[Gloo] Rank 0 is connected\n{"version": "1"}\n') == {"version": "1"}
