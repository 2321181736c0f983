"""Where on this machine control groups may be made, and which of them count memory and processes.

Version 1 has a tree for each thing counted, and a group beneath one's own will do. Version 2 has one tree in which
only a group without processes hands the counting down: a base is looked for that does so already, or one's own group
is emptied into a leaf, if it was given to us (delegated by systemd to this user, or the top of a container).
"""

import contextlib
import functools
import os
from dataclasses import dataclass
from pathlib import Path

COUNTED = ("memory", "pids")
LEAF = "sistolica-grader"  # where the processes of a base of version 2 move to


@dataclass(frozen=True)
class Hierarchy:
    """A folder in which groups may be made, and its version."""

    base: Path
    version: int


@functools.cache
def hierarchies() -> dict[str, Hierarchy]:
    """By what is counted: ``"memory"``, ``"pids"``; what cannot be had is not in it."""
    process = Path("/proc/self")
    mounts = (process / "mountinfo").read_text(encoding="utf-8")
    return find(mounts, (process / "cgroup").read_text(encoding="utf-8"))


def find(mounts: str, groups: str) -> dict[str, Hierarchy]:
    """As :func:`hierarchies`, from the texts of ``mountinfo`` and ``cgroup`` of ``/proc/self``."""
    own: dict[str, str] = {}  # this process's group, by what is counted; "" for version 2
    for line in groups.splitlines():
        _, names, path = line.split(":", 2)
        own |= dict.fromkeys(names.split(","), path)
    version_1: dict[str, Hierarchy] = {}
    version_2: dict[str, Hierarchy] = {}
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        root, point = before.split(" ")[3:5]
        kind, _, options = after.split(" ", 2)
        if kind == "cgroup":
            for part in {*COUNTED} & {*options.split(",")} & {*own}:
                base = _place(Path(point), root, own[part])
                if os.access(base, os.W_OK):
                    version_1[part] = Hierarchy(base, 1)
        elif kind == "cgroup2" and "" in own:
            version_2 = _find_2(Path(point), _place(Path(point), root, own[""]))
    return version_2 | version_1


def _place(point: Path, root: str, path: str) -> Path:
    """Where the group ``path`` is, in a tree of which ``root`` is mounted at ``point``."""
    inside = os.path.relpath(path, root)
    return point / path.lstrip("/") if inside.startswith("..") else point / inside


def _find_2(top: Path, own: Path) -> dict[str, Hierarchy]:
    if own.name == LEAF:  # emptied before
        own = own.parent
    for base in (own, top):
        handed_down = _parts_in(base / "cgroup.subtree_control")
        if handed_down == [*COUNTED] and os.access(base, os.W_OK):
            return dict.fromkeys(handed_down, Hierarchy(base, 2))
    if not _is_given(own, top):
        return {}
    with contextlib.suppress(OSError):
        _hand_down(own)
    return dict.fromkeys(_parts_in(own / "cgroup.subtree_control"), Hierarchy(own, 2))


def _parts_in(file: Path) -> list[str]:
    with contextlib.suppress(OSError):
        named = file.read_text(encoding="utf-8").split()
        return [part for part in COUNTED if part in named]
    return []


def _is_given(own: Path, top: Path) -> bool:
    """Whether we may order this group as we like: systemd says so, it is the user's own, or there is none above it."""
    if not all(os.access(path, os.W_OK) for path in (own, own / "cgroup.procs", own / "cgroup.subtree_control")):
        return False
    with contextlib.suppress(OSError):
        if os.getxattr(own, "user.delegate") == b"1":
            return True
    return own == top or own.stat().st_uid == os.geteuid() != 0


def _hand_down(own: Path) -> None:
    """Let the groups beneath count: from now on no process may be in ``own`` itself, unless it is the machine's top."""
    if (own / "cgroup.type").exists():  # the top has no such file
        leaf = own / LEAF
        leaf.mkdir(exist_ok=True)
        for pid in (own / "cgroup.procs").read_text(encoding="utf-8").split():
            with contextlib.suppress(ProcessLookupError):
                (leaf / "cgroup.procs").write_text(pid, encoding="utf-8")
    wanted = " ".join(f"+{part}" for part in _parts_in(own / "cgroup.controllers"))
    (own / "cgroup.subtree_control").write_text(wanted, encoding="utf-8")
