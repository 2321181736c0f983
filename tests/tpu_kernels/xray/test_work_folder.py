"""The folder of a compilation: nothing is left of it, not even by a process that was killed."""

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tpu_kernels.xray.errors import LimitError
from tpu_kernels.xray.work_folder import LOCK, PREFIX, remove_abandoned, work_folder

KILLED = """
import os, signal, sys, tempfile
tempfile.tempdir = sys.argv[1]
from tpu_kernels.xray.work_folder import work_folder
with work_folder() as folder:
    (folder / "dump").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_it_goes_at_the_end_however_that_comes(parent: Path) -> None:
    with work_folder() as folder:
        assert folder.parent == parent
    with pytest.raises(KeyboardInterrupt), work_folder():
        raise KeyboardInterrupt
    assert list(parent.iterdir()) == []


def test_the_next_one_removes_that_of_a_killed_process(parent: Path) -> None:
    subprocess.run([sys.executable, "-c", KILLED, str(parent)], check=False)
    (left,) = parent.iterdir()
    assert (left / "dump").exists()
    with work_folder() as folder:
        assert list(parent.iterdir()) == [folder]


def test_those_in_use_and_those_of_others_stay(parent: Path) -> None:
    with work_folder() as folder:
        begun = parent / f"{PREFIX}begun"
        begun.mkdir()
        (begun / LOCK).touch()  # its process has not taken the lock yet
        without = parent / f"{PREFIX}without-lock"
        without.mkdir()
        elsewhere = parent / f"{PREFIX}link"
        elsewhere.mkdir()
        (elsewhere / LOCK).symlink_to(parent / "nowhere")
        remove_abandoned(parent)
        assert {*parent.iterdir()} == {folder, begun, without, elsewhere}


def test_nowhere_to_write_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with pytest.raises(LimitError, match="TMPDIR"), work_folder():
        pytest.fail("there is no folder")
