"""libtpu's lock: one process at a time may hold the TPU, and it says so in a file."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

PATH = Path("/tmp/libtpu_lockfile")
KERNELS_LIST = Path("/proc/locks")

# 1: POSIX  ADVISORY  WRITE 12793 fe:00:2146327 0 EOF
LOCKED = re.compile(r"^\d+: \S+ +\S+ +\S+ +(\d+) [0-9a-f]+:[0-9a-f]+:(\d+) ", re.MULTILINE)


@dataclass(frozen=True)
class Lockfile:
    """The file is there: ``holders`` are the processes that lock it; ``usable`` says whether we could lock it."""

    path: Path
    holders: tuple[int, ...]
    usable: bool


def lockfile(path: Path = PATH, kernels_list: Path = KERNELS_LIST) -> Lockfile | None:
    """The lock as it stands, without taking it; ``None`` when there is no file."""
    try:
        inode = path.stat().st_ino
    except FileNotFoundError:
        return None
    try:
        listed = kernels_list.read_text()
    except OSError:  # no Linux, so no libtpu that could hold it
        listed = ""
    # By inode alone: layered file systems show another device number to programs than to the kernel.
    holders = tuple(int(pid) for pid, locked in LOCKED.findall(listed) if int(locked) == inode)
    return Lockfile(path, holders, os.access(path, os.R_OK | os.W_OK))
