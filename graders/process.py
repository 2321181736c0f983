"""The process that runs one learner's code, seen from the judge: fed cell by cell, asked, and ended.

It never holds an answer. :class:`Runner` is the seam for ways of starting it: a plain kernel (``graders.kernel``), and
whatever contains it better.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from nbformat import NotebookNode

# Variables for the libraries that multiply matrices: with one thread a sum has one order, on every machine.
SINGLE_THREADED = {"MKL_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Limits:
    """What one learner may use. Times are seconds of the wall clock."""

    start_s: float = 60
    cell_s: float = 30
    grace_s: float = 3  # between the interrupt and the kill
    output_bytes: int = 16 * 2**20  # a cell that writes more is interrupted


@dataclass
class CellRun:
    """What running a cell gave: ``status`` is ``ok``, ``error``, ``timeout``, ``flood``, ``died`` or ``memory``.

    The last two: the process is gone, after ``memory`` because it used more than it may.
    """

    status: str
    outputs: list[NotebookNode] = field(default_factory=list)


class RunnerLostError(Exception):
    """What ran the learner's process ended, by no fault of the notebook's: run the notebook again, from its start."""


class Process(Protocol):
    """A learner's process.

    Every method raises :class:`~graders.learner.ProcessDiedError` once it is gone, and :class:`RunnerLostError`.
    """

    @property
    def backend(self) -> str: ...

    def run_cell(self, source: str) -> CellRun:
        """Run one cell of the notebook; a death is in the result's status."""

    def checkpoint(self, key: str) -> None:
        """Let the check ``key`` see the learner's names as they are now."""

    def ask(self, request: str, timeout_s: float) -> str:
        """The harness's reply to a request; raises :class:`ProcessTimeoutError` when it does not come in time."""

    def close(self) -> None:
        """End the process and everything it started; remove its folder."""


class Runner(Protocol):
    """Starts learners' processes."""

    def start(self, lang: str, files: Sequence[tuple[Path, Path]] = ()) -> Process:
        """A fresh process that speaks ``lang``, with ``files`` (where each is, where it goes) in its working folder."""

    def stop(self) -> None:
        """End the process in use and start no other: from another thread, whose learner is being waited for."""

    def close(self) -> None:
        """End what is still running, once nobody uses it."""
