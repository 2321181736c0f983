"""Processes that a learner left behind, found and killed without a namespace to do it."""

import contextlib
import os
import signal
import time
from pathlib import Path

_DEADLINE_S = 5.0  # against a process that forks faster than it is killed


def kill_descendants(spare: set[int]) -> None:
    """Kill and reap every process beneath this one, but not those in ``spare`` and beneath them.

    What lost its own parent must come to this process: ``PR_SET_CHILD_SUBREAPER``.
    """
    deadline = time.monotonic() + _DEADLINE_S
    while (found := _beneath(os.getpid(), spare)) and time.monotonic() < deadline:
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        for pid in found:  # a grandchild becomes a child when its parent is reaped, in the next round
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)


def _beneath(top: int, spare: set[int]) -> list[int]:
    """All processes beneath ``top``, the near ones first: killed together, they fork little meanwhile."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError):
                # The name of the program, in brackets, may hold brackets and blanks.
                fields = (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
                children.setdefault(int(fields[1]), []).append(int(entry.name))
    found, pending = [], [top]
    while pending:
        below = [pid for pid in children.get(pending.pop(0), []) if pid not in spare]
        found += below
        pending += below
    return found
