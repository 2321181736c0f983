"""Dumps that the compiler once left, kept small: how they are written, and read as if it had just left them."""

import gzip
import json
import re
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from tests.tpu_kernels.xray import kernels
from tpu_kernels.xray import kernel_dump, targets
from tpu_kernels.xray.compile_process import DUMPS, HLO, PROFILES
from tpu_kernels.xray.compiler import Compilation, Ending
from tpu_kernels.xray.examine import made
from tpu_kernels.xray.kernel_dump import KernelDump
from tpu_kernels.xray.program import Program, lower
from tpu_kernels.xray.report import Report

FOLDER = Path(__file__).with_name("dumps")
READ = re.compile(
    rf"(\d+)-((?!TLP|<).+-\d+-(?:{kernel_dump.BUNDLES}|{kernel_dump.TABLE}|{kernel_dump.SCHEDULE}|{kernel_dump.ALLOCATIONS})|TLP-hlo)\.txt"
)
NAMES = [f"{case}-{chip}" for case, chips in kernels.STORED.items() for chip in chips]


def pack(result: Compilation, libtpu: str) -> bytes:
    """What is read of a compilation, with nothing of the machine or the moment in it."""
    files = {}
    for path in sorted(result.dumps.iterdir()):
        match = READ.fullmatch(path.name)
        if match:
            text = path.read_text(encoding="utf-8", errors="replace")
            if kernel_dump.ALLOCATIONS in path.name:
                text = "".join(
                    line for line in text.splitlines(keepends=True) if "#allocation" in line and "[shape" in line
                )
            files[f"{len(files)}-{match[2]}.txt"] = text
    entry = {
        "libtpu": libtpu,
        "answer": {key: value for key, value in result.answer.items() if key != "seconds"},
        "hlo": result.hlo,
        "files": files,
        "profiles": {path.name: path.read_text(encoding="utf-8") for path in sorted(result.profiles.iterdir())},
    }
    return gzip.compress(json.dumps(entry, indent=0).encode(), 9, mtime=0)


def entry(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(gzip.decompress((FOLDER / f"{name}.json.gz").read_bytes()))
    return found


def unpack(found: dict[str, Any], folder: Path) -> Compilation:
    """As the compiler's process left it."""
    for wanted in (DUMPS, PROFILES):
        (folder / wanted).mkdir(parents=True)
    (folder / HLO).write_text(found["hlo"], encoding="utf-8")
    for file, text in found["files"].items():
        (folder / DUMPS / file).write_text(text, encoding="utf-8")
    for file, text in found["profiles"].items():
        (folder / PROFILES / file).write_text(text, encoding="utf-8")
    return Compilation(folder, Ending.COMPILED, found["answer"], "")


@cache
def program(name: str) -> Program:
    case, _, chip = name.rpartition("-")
    function, specs = kernels.CASES[case]
    return lower(function, specs, targets.target(chip))


@cache
def dumps(name: str) -> dict[str, KernelDump]:
    """The kernels of a stored compilation, as they are read."""
    with tempfile.TemporaryDirectory() as folder:
        result = unpack(entry(name), Path(folder) / name)
        return dict(kernel_dump.read(result.dumps, targets.target(name.rpartition("-")[2])))


@cache
def report(name: str) -> Report:
    """The report of a stored compilation."""
    found = entry(name)
    target = targets.target(name.rpartition("-")[2])
    versions = {"jax": "0.10.2", "jaxlib": "0.10.2", "libtpu": found["libtpu"]}
    reason = "" if target.simulates(found["libtpu"]) else "chip"
    with tempfile.TemporaryDirectory() as folder:
        result = unpack(found, Path(folder) / name)
        return made(result, program(name), target, target.topology, versions, (), reason)
