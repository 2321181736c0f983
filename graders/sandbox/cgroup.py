"""One control group per learner: memory and processes counted together, whatever they start."""

import contextlib
import errno
import itertools
import os
import re
import signal
import time
from pathlib import Path
from typing import Self

from graders.sandbox.confinement import Confinement, ConfinementError
from graders.sandbox.hierarchy import Hierarchy, hierarchies

_PREFIX = "sistolica"
_NAME = re.compile(rf"{_PREFIX}-(\d+)-\d+")
_PATIENCE_S = 2.0  # the kernel takes a moment to forget a process that has died
_PAUSE_S = 0.005

_counter = itertools.count(1)


class Cgroup:
    """A learner's group, made and removed by the zygote: a folder in each hierarchy that counts something."""

    def __init__(self, folders: dict[str, tuple[Path, int]]) -> None:
        self._folders = folders  # by what is counted: where, and of which version

    @classmethod
    def create(cls, confinement: Confinement) -> Self | None:
        """A new group with its limits, ``None`` where the confinement has none. Raises :class:`ConfinementError`."""
        counted = [part for part in ("memory", "pids") if part in confinement.parts]
        if not counted:
            return None
        name = f"{_PREFIX}-{Path('/proc/self').readlink()}-{next(_counter)}"  # the number that the grader knows us by
        group = cls({})
        for part in counted:
            try:
                group._add(part, name, hierarchies(), confinement)
            except OSError as error:
                group.remove()
                raise ConfinementError(part, error) from error
        return group

    def _add(self, part: str, name: str, found: "dict[str, Hierarchy]", confinement: Confinement) -> None:
        if part not in found:
            raise OSError(errno.ENOENT, f"no control group that counts {part} may be made")
        hierarchy = found[part]
        folder = hierarchy.base / name
        folder.mkdir(exist_ok=True)  # one folder may count both
        self._folders[part] = folder, hierarchy.version
        needed, if_there = _settings(part, hierarchy.version, confinement)
        for file, value in needed.items():
            (folder / file).write_text(str(value), encoding="utf-8")
        for file, value in if_there.items():
            if (folder / file).exists():  # not in a kernel without swap accounting
                (folder / file).write_text(str(value), encoding="utf-8")

    def join(self) -> None:
        """Put the calling process in: the learner's, before :func:`graders.sandbox.enter.enter`."""
        for folder, version in dict.fromkeys(self._folders.values()):
            # A thread may move itself with no lock on all processes of the machine, and just forked it is the only one.
            file = "tasks" if version == 1 else "cgroup.procs"
            (folder / file).write_text("0", encoding="utf-8")

    def killed_for_memory(self) -> bool:
        """Whether the kernel killed a process of the group because its memory was spent."""
        if "memory" not in self._folders:
            return False
        folder, version = self._folders["memory"]
        text = (folder / ("memory.events" if version == 2 else "memory.oom_control")).read_text(encoding="utf-8")
        return any(line.split()[0] == "oom_kill" and int(line.split()[1]) > 0 for line in text.splitlines())

    def kill(self) -> None:
        """Kill every process of the group."""
        deadline = time.monotonic() + _PATIENCE_S
        for folder in self._distinct():
            while _kill_all(folder) and time.monotonic() < deadline:
                time.sleep(_PAUSE_S)

    def remove(self) -> None:
        """Remove the group, once its processes are dead; one that the kernel still holds is left to the next grader."""
        for folder in self._distinct():
            _remove(folder)

    def _distinct(self) -> list[Path]:
        return list(dict.fromkeys(folder for folder, _ in self._folders.values()))


def sweep() -> None:
    """Remove the groups, and kill what is in them, of graders that died without doing so."""
    for base in {hierarchy.base for hierarchy in hierarchies().values()}:
        for folder in base.glob(f"{_PREFIX}-*"):
            match = _NAME.fullmatch(folder.name)
            if match and not Path("/proc", match[1]).exists():
                _kill_all(folder)
                _remove(folder)


def _settings(part: str, version: int, confinement: Confinement) -> tuple[dict[str, int], dict[str, int]]:
    """What to write to which file: where it must be there, and where it may be missing."""
    most = confinement.memory_bytes
    match part, version:
        case "pids", _:
            return {"pids.max": confinement.processes}, {}
        case _, 2:
            return {"memory.max": most}, {"memory.swap.max": 0, "memory.oom.group": 1}
        case _:
            return {"memory.limit_in_bytes": most}, {"memory.memsw.limit_in_bytes": most, "memory.swappiness": 0}


def _kill_all(folder: Path) -> bool:
    """Kill what is in the group now; whether there was anything."""
    processes = (folder / "cgroup.procs").read_text(encoding="utf-8").split()
    if processes and (folder / "cgroup.kill").exists():
        (folder / "cgroup.kill").write_text("1", encoding="utf-8")
        return True
    for pid in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)
    return bool(processes)


def _remove(folder: Path) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            folder.rmdir()
            return
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > deadline:
                return
            time.sleep(_PAUSE_S)
