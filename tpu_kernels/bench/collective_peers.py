"""Peers started: gloo's ranks one by one, MPI's by ``mpirun``, in a Python that has them, which may be another one."""

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import tpu_kernels
from tpu_kernels.bench.collective_case import Case
from tpu_kernels.bench.collective_row import Outcome, Row
from tpu_kernels.bench.measurement_error import MeasurementError
from tpu_kernels.bench.mortal import mortal
from tpu_kernels.phrases import phrase

DEADLINE = 600  # seconds for one case, beyond which its ranks surely wait for each other
PATIENCE = 10  # seconds to end in
GLANCE = 0.5  # seconds after which it is looked whether all ranks still live
COMPLAINTS = "complaints"
IMPORTABLE = "import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)"


class Peer(NamedTuple):
    """``module``: what its Python must have; ``install``: the line that installs it, where ``{python}`` is that Python;
    ``start``: starts its ranks with a job, and gives the process of the first and those of the others."""

    module: str
    install: str
    start: Callable[[str, str, int, str], list[subprocess.Popen[str]]]


class Answer(NamedTuple):
    """Of a peer: its version, and a row, or None and a ``note`` that says what it cannot do."""

    version: str
    row: Row | None
    note: str | None


def bench_peer(name: str, python: str, case: Case, *, warmup: int, repeats: int) -> Answer:
    """What the peer measured on ``case``, in processes that end with it.

    Raises ``MeasurementError`` when one of its ranks fails, when it ends without a result, and after
    :data:`DEADLINE` seconds.
    """
    job = json.dumps({"case": case.to_dict(), "warmup": warmup, "repeats": repeats})
    with tempfile.TemporaryDirectory() as folder, ExitStack() as ending:
        ranks = PEERS[name].start(python, job, case.ranks, folder)
        for rank in ranks:
            ending.callback(_end, rank)
        found = _parsed(name, _result(name, ranks, folder))
    if "missing" in found:
        return Answer(
            found["version"], None, phrase("collective_bench.peer_lacks", peer=name, missing=found["missing"])
        )
    forms = (_outcome(found.get(form)) for form in ("out_of_place", "in_place"))
    return Answer(found["version"], Row(case, name, name, "cpu", *forms), None)


def absence(name: str, python: str) -> str | None:
    """None, or a line that says that a peer is not installed for ``python``, and how it is."""
    peer = PEERS[name]
    try:
        lacks = subprocess.run([python, "-c", IMPORTABLE, peer.module], capture_output=True, check=False).returncode
    except OSError as error:
        return phrase("collective_bench.no_python", python=python, reason=error.strerror)
    if lacks or (name == "mpi" and shutil.which("mpirun") is None):
        return phrase("collective_bench.absent", peer=name, python=python, install=peer.install.format(python=python))
    return None


def checked_peers(names: Sequence[str]) -> Sequence[str]:
    """``names`` themselves. ``ValueError`` for one that is not known."""
    for name in names:
        if name not in PEERS:
            raise ValueError(phrase("collective_bench.unknown_peer", got=repr(name), known=", ".join(PEERS)))
    return names


def _gloo(python: str, job: str, ranks: int, folder: str) -> list[subprocess.Popen[str]]:
    command = [python, "-m", "tpu_kernels.bench.peers.gloo", job]
    # One thread of its own for each rank, as torchrun has it.
    shared = {"WORLD_SIZE": str(ranks), "MEETING": str(Path(folder, "meeting")), "OMP_NUM_THREADS": "1"}
    return [_started(command, folder, rank, {**shared, "RANK": str(rank)}) for rank in range(ranks)]


def _mpi(python: str, job: str, ranks: int, folder: str) -> list[subprocess.Popen[str]]:
    # Open MPI refuses root, and more ranks than cores, unless told; others do not know these variables.
    allowed = {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
    }
    command = ["mpirun", "-n", str(ranks), python, "-m", "tpu_kernels.bench.peers.mpi", job]
    return [_started(command, folder, 0, allowed)]


PEERS = {
    "mpi": Peer(
        "mpi4py", "apt-get install -y openmpi-bin libopenmpi-dev && {python} -m pip install mpi4py numpy", _mpi
    ),
    "gloo": Peer("torch", "{python} -m pip install torch numpy", _gloo),
}


def _started(command: list[str], folder: str, rank: int, variables: dict[str, str]) -> subprocess.Popen[str]:
    """Only the first rank speaks. What all complain of goes to a file: a pipe that nobody reads would stop them."""
    paths = [str(Path(tpu_kernels.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, **variables, "PYTHONPATH": os.pathsep.join(paths)}
    with Path(folder, COMPLAINTS).open("a", encoding="utf-8") as complaints:
        output = subprocess.DEVNULL if rank else subprocess.PIPE
        return subprocess.Popen(mortal(command), env=environment, stdout=output, stderr=complaints, text=True)


def _result(name: str, ranks: Sequence[subprocess.Popen[str]], folder: str) -> str:
    """What the first rank says. It would wait for another that failed, without a word."""
    first, *others = ranks
    deadline, text = time.monotonic() + DEADLINE, None
    while text is None and not (failed := [rank for rank in others if rank.poll()]):
        try:
            text, _ = first.communicate(timeout=min(GLANCE, DEADLINE))
        except subprocess.TimeoutExpired:
            if time.monotonic() > deadline:
                raise MeasurementError(phrase("collective_bench.peer_silent", peer=name, seconds=DEADLINE)) from None
    status = failed[0].returncode if text is None else first.returncode
    if text is None or status:
        said = Path(folder, COMPLAINTS).read_text(encoding="utf-8", errors="replace").strip()
        last = said.splitlines()[-1] if said else ""
        raise MeasurementError(phrase("collective_bench.peer_failed", peer=name, status=status, complaint=last))
    return text


def _parsed(name: str, text: str) -> dict[str, Any]:
    """The answer in the last line: before it, a library may have said something of its own, as some of gloo do."""
    try:
        found = json.loads(text.strip().rpartition("\n")[2])
    except ValueError:
        found = None
    if not isinstance(found, dict) or "version" not in found:
        raise MeasurementError(phrase("collective_bench.peer_odd", peer=name, got=repr(text[:80])))
    return found


def _end(rank: subprocess.Popen[str]) -> None:
    """Also after an interruption: a rank alone would wait for the others, and mpirun ends its own when asked to."""
    if rank.poll() is None:
        rank.terminate()
    if rank.stdout is not None:
        rank.stdout.close()
    try:
        rank.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        rank.kill()
        rank.wait()


def _outcome(found: dict[str, Any] | None) -> Outcome | None:
    return None if found is None else Outcome(found["wrong"], tuple(tuple(calls) for calls in found["samples"]))
