"""libtpu's lock is read without being taken."""

import subprocess
import sys
from pathlib import Path

import pytest

from tpu_kernels.machine.lockfile import lockfile

HOLD = """
import fcntl, sys
file = open(sys.argv[1], "w")
fcntl.lockf(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "libtpu_lockfile"


def test_no_file_is_no_lock(path: Path) -> None:
    assert lockfile(path) is None


def test_a_file_that_nobody_locks_has_no_holder(path: Path) -> None:
    path.touch()
    found = lockfile(path)
    assert found is not None
    assert (found.path, found.holders, found.usable) == (path, (), True)


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="the kernel lists locks on Linux only")
def test_the_process_that_holds_it_is_named(path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        found = lockfile(path)
        holder.communicate("")
    assert found is not None
    assert found.holders == (holder.pid,)
    assert lockfile(path) == type(found)(path, (), usable=True)


def test_other_files_locks_are_not_its_own(path: Path, tmp_path: Path) -> None:
    path.touch()
    inode = path.stat().st_ino
    listed = tmp_path / "locks"
    listed.write_text(
        f"1: POSIX  ADVISORY  WRITE 41 fe:00:{inode} 0 EOF\n"
        f"1: -> POSIX  ADVISORY  WRITE 42 fe:00:{inode} 0 EOF\n"
        f"2: FLOCK  ADVISORY  WRITE 43 fe:00:{inode + 1} 0 EOF\n"
    )
    found = lockfile(path, listed)
    assert found is not None
    assert found.holders == (41,)


def test_without_the_kernels_list_the_file_alone_is_told(path: Path, tmp_path: Path) -> None:
    path.touch()
    found = lockfile(path, tmp_path / "absent")
    assert found is not None
    assert found.holders == ()


def test_a_file_that_we_may_not_open_is_not_usable(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.touch()
    monkeypatch.setattr("os.access", lambda *_: False)  # the superuser may open anything
    found = lockfile(path)
    assert found is not None
    assert not found.usable
