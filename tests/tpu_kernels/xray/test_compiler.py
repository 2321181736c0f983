"""The compiler's process: its limits hold, what is around it does not matter, and nothing is left of it."""

import json
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import namedtuple
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.tpu_kernels.xray import kernels, stored
from tpu_kernels.xray import targets, xray
from tpu_kernels.xray.compile_process import REQUEST
from tpu_kernels.xray.compiler import Compilation, Ending, compilation
from tpu_kernels.xray.errors import LimitError
from tpu_kernels.xray.libtpu import Libtpu
from tpu_kernels.xray.program import lower

V5E = targets.target("v5e")
GIB = 2**30


@pytest.fixture(autouse=True)
def own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "temporary folder"  # with a space: flags are separated by spaces
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder


def code(case: str) -> bytes:
    return lower(*kernels.CASES[case], V5E).code


def compiled(
    program: bytes, compiler: Libtpu, *, simulate: bool = False, seconds: float = 100, memory: int = 8 * GIB
) -> Compilation:
    with compilation(
        program, V5E.topology, compiler, simulate=simulate, seconds=seconds, memory_bytes=memory
    ) as result:
        return result


def test_what_is_around_it_does_not_matter_and_nothing_is_left(
    compiler: Libtpu, monkeypatch: pytest.MonkeyPatch, own_temporary_folder: Path
) -> None:
    program = code("elementwise")
    for name, value in {
        "JAX_PLATFORMS": "tpu",
        "LIBTPU_INIT_ARGS": "--no_such_flag",
        "TPU_ACCELERATOR_TYPE": "v99",
        "XLA_FLAGS": "--no_such_flag",
    }.items():
        monkeypatch.setenv(name, value)
    result = compiled(program, compiler)
    assert result.ending is Ending.COMPILED
    assert result.answer["device_kind"] == "TPU v5 lite"
    assert result.answer["memory"]["argument"] == 2 * 1024 * 512 * 4
    assert list(own_temporary_folder.iterdir()) == []


def test_no_program_is_refused_and_not_waited_for(compiler: Libtpu) -> None:
    result = compiled(b"no program", compiler)
    assert result.ending in {Ending.REFUSED, Ending.DIED}
    assert result.answer.get("compiled", False) is False


def test_time_is_limited_by_the_processors(compiler: Libtpu) -> None:
    assert compiled(code("ragged"), compiler, simulate=True, seconds=1).ending is Ending.OUT_OF_TIME


def test_memory_is_limited(compiler: Libtpu) -> None:
    assert compiled(code("elementwise"), compiler, memory=GIB // 8).ending is Ending.OUT_OF_MEMORY


def test_an_unknown_flag_is_named(compiler: Libtpu) -> None:
    function, specs = kernels.CASES["elementwise"]
    with pytest.raises(LimitError, match="opción --no_such_flag"):
        xray(function, *specs, simulate=False, flags=["--no_such_flag"])


def test_time_without_an_end_is_no_fault(compiler: Libtpu) -> None:
    assert compiled(b"no program", compiler, seconds=math.inf).ending in {Ending.REFUSED, Ending.DIED}


def test_no_room_for_what_it_writes_is_told(compiler: Libtpu, monkeypatch: pytest.MonkeyPatch) -> None:
    full = namedtuple("Usage", "free")(0)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: full)
    assert compiled(b"no program", compiler).ending is Ending.NO_ROOM


def test_a_process_whose_parent_is_gone_compiles_nothing(tmp_path: Path) -> None:
    request = {"memory_bytes": 8 * GIB, "seconds": 100, "parent": 1}
    (tmp_path / REQUEST).write_text(json.dumps(request), encoding="utf-8")
    command = [sys.executable, "-m", "tpu_kernels.xray.compile_process", str(tmp_path)]
    orphan = subprocess.run(command, cwd=stored.FOLDER.parents[3], capture_output=True, text=True, check=False)
    assert orphan.returncode == 1 and "is gone" in orphan.stderr
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == [REQUEST]


def processes(folder: Path) -> list[int]:
    """Those that were started for something in this folder."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            command = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if entry.name.isdecimal() and str(folder).encode() in command and int(entry.name) != os.getpid():
            found.append(int(entry.name))
    return found


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


XRAY = """
import sys, tempfile
tempfile.tempdir = sys.argv[1]
from tests.tpu_kernels.xray import kernels
from tpu_kernels.xray import xray
function, specs = kernels.CASES["ragged"]
xray(function, *specs)
"""


def test_one_that_is_killed_halfway_takes_its_compiler_along_and_does_not_disturb_the_next(
    compiler: Libtpu, own_temporary_folder: Path
) -> None:
    asking = subprocess.Popen([sys.executable, "-c", XRAY, str(own_temporary_folder)], cwd=stored.FOLDER.parents[3])
    wait_for(lambda: any((folder / "output").exists() for folder in own_temporary_folder.iterdir()))
    (folder,) = own_temporary_folder.iterdir()
    wait_for(lambda: (folder / "tpu_driver.INFO").exists())  # the compiler is loaded
    asking.kill()
    asking.wait()
    wait_for(lambda: not processes(folder))
    assert compiled(code("elementwise"), compiler).ending is Ending.COMPILED


@pytest.mark.parametrize(
    ("ended_by", "ending"), [(signal.SIGTERM, Ending.STOPPED), (signal.SIGKILL, Ending.KILLED)], ids=["term", "kill"]
)
def test_two_at_once_do_not_disturb_each_other_and_one_may_be_stopped(
    compiler: Libtpu, own_temporary_folder: Path, ended_by: signal.Signals, ending: Ending
) -> None:
    programs = {case: code(case) for case in ("ragged", "matmul")}
    endings: dict[str, Ending] = {}

    def run(case: str) -> None:
        endings[case] = compiled(programs[case], compiler, simulate=True).ending

    first = threading.Thread(target=run, args=("ragged",))
    first.start()
    wait_for(lambda: len(processes(own_temporary_folder)) == 1)
    (stopped,) = processes(own_temporary_folder)
    second = threading.Thread(target=run, args=("matmul",))
    second.start()
    wait_for(lambda: len(processes(own_temporary_folder)) == 2)
    os.kill(stopped, ended_by)
    first.join()
    second.join()
    assert endings == {"ragged": ending, "matmul": Ending.COMPILED}
    assert processes(own_temporary_folder) == []
