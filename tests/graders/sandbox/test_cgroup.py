"""A learner's control group, of both versions: the files that are written, where, and what is read from them.

Version 1 is the kernel's own in ``test_bombs.py``. Here both are folders that behave like the kernel's: a new one has
its files.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from graders.sandbox import cgroup as module
from graders.sandbox import hierarchy
from graders.sandbox.cgroup import Cgroup, sweep
from graders.sandbox.confinement import Confinement, ConfinementError
from graders.sandbox.hierarchy import Hierarchy

VERSION_1 = (
    "cgroup.procs",
    "tasks",
    "memory.limit_in_bytes",
    "memory.memsw.limit_in_bytes",
    "memory.swappiness",
    "pids.max",
)
VERSION_2 = ("cgroup.procs", "cgroup.kill", "memory.max", "memory.swap.max", "memory.oom.group", "pids.max")
CONFINEMENT = Confinement("root", {}, memory_bytes=2**30, processes=64)
DEAD = 2**22 + 1  # above the kernel's highest number of a process


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Path]:
    """``kernel(version)``: the base folder, in which a new folder has the files of a group, as in the kernel's."""

    def start(version: int) -> Path:
        monkeypatch.setattr(
            module, "hierarchies", lambda: dict.fromkeys(hierarchy.COUNTED, Hierarchy(tmp_path, version))
        )
        make, remove = os.mkdir, os.rmdir

        def mkdir(path: Path, mode: int = 0o777) -> None:
            make(path, mode)
            for name in VERSION_2 if version == 2 else VERSION_1:
                (Path(path) / name).touch()

        def rmdir(path: Path) -> None:
            for file in Path(path).iterdir():
                file.unlink()
            remove(path)

        monkeypatch.setattr(os, "mkdir", mkdir)
        monkeypatch.setattr(os, "rmdir", rmdir)
        return tmp_path

    return start


def only_folder(base: Path) -> Path:
    (folder,) = base.iterdir()
    return folder


def written(folder: Path) -> dict[str, str]:
    return {
        path.name: path.read_text(encoding="utf-8") for path in folder.iterdir() if path.read_text(encoding="utf-8")
    }


def test_a_group_of_version_2_has_its_limits_and_dies_as_one(kernel: Callable[[int], Path]) -> None:
    base = kernel(2)
    group = Cgroup.create(CONFINEMENT)
    assert group is not None
    folder = only_folder(base)
    limits = {"memory.max": str(2**30), "memory.swap.max": "0", "memory.oom.group": "1", "pids.max": "64"}
    assert written(folder) == limits
    group.join()
    assert written(folder) == {**limits, "cgroup.procs": "0"}
    group.remove()
    assert list(base.iterdir()) == []


def test_a_group_of_version_1_has_its_limits_and_takes_one_thread(kernel: Callable[[int], Path]) -> None:
    base = kernel(1)
    group = Cgroup.create(CONFINEMENT)
    assert group is not None
    group.join()
    assert written(only_folder(base)) == {
        "memory.limit_in_bytes": str(2**30),
        "memory.memsw.limit_in_bytes": str(2**30),
        "memory.swappiness": "0",
        "pids.max": "64",
        "tasks": "0",
    }


def test_a_group_is_named_for_the_process_that_made_it(kernel: Callable[[int], Path]) -> None:
    base = kernel(2)
    Cgroup.create(CONFINEMENT)
    Cgroup.create(CONFINEMENT)
    first, second = sorted(path.name.rsplit("-", 1) for path in base.iterdir())
    assert first[0] == second[0] == f"sistolica-{os.getpid()}"
    assert first[1] != second[1]


def test_what_a_confinement_does_without_is_not_counted(kernel: Callable[[int], Path]) -> None:
    base = kernel(2)
    assert Cgroup.create(Confinement("root", {}, parts=("seccomp",))) is None
    Cgroup.create(Confinement("root", {}, parts=("pids",), processes=7))
    assert written(only_folder(base)) == {"pids.max": "7"}


def test_a_group_that_cannot_be_had_is_refused_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "hierarchies", lambda: {"memory": Hierarchy(tmp_path, 2)})
    with pytest.raises(ConfinementError, match="no control group that counts pids") as refused:
        Cgroup.create(CONFINEMENT)
    assert refused.value.part == "pids"


@pytest.mark.parametrize(
    ("version", "file", "text", "killed"),
    [
        (2, "memory.events", "low 0\nhigh 0\nmax 12\noom 0\noom_kill 0\noom_group_kill 0\n", False),
        (2, "memory.events", "low 0\nhigh 0\nmax 12\noom 1\noom_kill 2\noom_group_kill 1\n", True),
        (1, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n", False),
        (1, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n", True),
    ],
)
def test_a_death_for_memory_is_told(
    kernel: Callable[[int], Path], version: int, file: str, text: str, killed: bool
) -> None:
    base = kernel(version)
    group = Cgroup.create(CONFINEMENT)
    assert group is not None
    (only_folder(base) / file).write_text(text, encoding="utf-8")
    assert group.killed_for_memory() is killed


def test_a_group_of_version_2_is_killed_by_the_kernel(
    kernel: Callable[[int], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    base = kernel(2)
    group = Cgroup.create(CONFINEMENT)
    assert group is not None
    folder = only_folder(base)
    (folder / "cgroup.procs").write_text("12\n13\n", encoding="utf-8")

    def wait(_: float) -> None:  # in which the kernel does it
        assert (folder / "cgroup.kill").read_text(encoding="utf-8") == "1"
        (folder / "cgroup.procs").write_text("", encoding="utf-8")

    monkeypatch.setattr(module.time, "sleep", wait)
    monkeypatch.setattr(os, "kill", lambda *_: pytest.fail("the kernel has a file for this"))
    group.kill()
    assert (folder / "cgroup.procs").read_text(encoding="utf-8") == ""


def test_a_sweep_removes_what_dead_graders_left_and_nothing_else(kernel: Callable[[int], Path]) -> None:
    base = kernel(2)
    kept = [f"sistolica-{os.getpid()}-1", "sistolica-grader", "sistolica-x-1", "docker"]
    for name in (*kept, f"sistolica-{DEAD}-1", f"sistolica-{DEAD}-2"):
        (base / name).mkdir()
    sweep()
    assert sorted(path.name for path in base.iterdir()) == sorted(kept)
