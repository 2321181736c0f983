"""What a command costs: wall clock, and the CPU time of every process that it leaves behind or waits for.

Run as a script it is the meter: it starts the command, adopts what the command orphans, and says what all of them used.
Each command has a meter of its own, because a process adopts for all it started, and counts all of it together.
"""

import contextlib
import ctypes
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True)
class Cost:
    """Seconds of the wall clock, CPU seconds (user and system, all processes), and the command's exit status."""

    wall_s: float
    cpu_s: float
    status: int


def cost_of(command: Sequence[str], folder: Path, variables: Mapping[str, str]) -> tuple[Cost, str]:
    """Run ``command`` in ``folder`` with ``variables`` added to the environment: what it cost, and what it printed.

    Raises ``ChildProcessError`` when it could not be metered.
    """
    with tempfile.TemporaryDirectory(prefix="cost-") as scratch:
        said, found = Path(scratch) / "said", Path(scratch) / "found"
        with said.open("wb") as output:
            meter = subprocess.Popen(
                [sys.executable, "-I", __file__, str(found), *command],
                cwd=folder,
                env={**os.environ, **variables},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
            try:
                status = meter.wait()
            finally:  # left early, say by Ctrl-C
                meter.terminate()
                meter.wait()
        printed = said.read_text(encoding="utf-8", errors="replace")
        if status != 0 or not found.is_file():
            raise ChildProcessError(f"the meter ended with {status} before {command[0]} did: {printed[-500:]}")
        return Cost(**json.loads(found.read_text(encoding="ascii"))), printed


def _meter(found: Path, command: Sequence[str]) -> None:
    with contextlib.suppress(AttributeError, OSError):  # another system than Linux: its orphans go uncounted
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    began = time.monotonic()
    process = subprocess.Popen(command)
    status = process.wait()
    wall_s = time.monotonic() - began
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cost = {"wall_s": wall_s, "cpu_s": used.ru_utime + used.ru_stime, "status": status}
    found.write_text(json.dumps(cost), encoding="ascii")


if __name__ == "__main__":
    _meter(Path(sys.argv[1]), sys.argv[2:])
