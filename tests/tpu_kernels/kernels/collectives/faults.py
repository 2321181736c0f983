"""A laboratory of faults: each is planted in a copy of the kernels, run in a process of its own, and must be found.

``python -m tests.tpu_kernels.kernels.collectives.faults`` prints what found each.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tpu_kernels.kernels import collectives

HERE = Path(__file__).parent
SOURCE = Path(collectives.__file__).parent
ROOT = HERE.parents[3]
RUNS = 3
# Copies are made as they are begun, and not as late as the interpreter can.
EAGER = ("interpreter.py", "detect_races=True", 'detect_races=True, dma_execution_mode="eager"')
LIMIT = 600  # seconds for all of them, were the one who watches them to fail


@dataclass(frozen=True)
class Fault:
    """``old`` of one file becomes ``new``; ``run`` shows it; it is ``found`` in that way, a stall in that ``phase``."""

    name: str
    file: str
    old: str
    new: str
    run: Mapping[str, Any]
    found: str
    phase: str | None = None

    def planted(self, folder: Path) -> str:
        """The name of a copy of the kernels with this fault, made in ``folder``."""
        package = f"with_{self.name}"
        shutil.copytree(SOURCE, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
        for path in (folder / package).glob("*.py"):
            path.write_text(path.read_text("utf-8").replace(collectives.__name__, package), "utf-8")
        changes = [(self.file, self.old, self.new), *([EAGER] if self.run.get("eager") else [])]
        for file, old, new in changes:
            path = folder / package / file
            path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")
        return package


FAULTS = {
    name: Fault(name, **given) for name, given in tomllib.loads((HERE / "faults.toml").read_text("utf-8")).items()
}
NONE = Fault("no_fault", "channel.py", "", "", {"collective": "all_reduce", "impl": "bidirectional", "devices": 3}, "")


def results(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """What each fault did, as :mod:`watched` says it. A process runs them one after another, until one stops it."""
    found: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NPROC": "64", "PYTHONPATH": f"{ROOT}{os.pathsep}{folder}"}
        while left := [name for name in names if name not in found]:
            program = [sys.executable, "-m", "tests.tpu_kernels.kernels.collectives.watched", folder, *left]
            run = subprocess.run(
                program, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False
            )
            said = {one["name"]: one for one in map(json.loads, run.stdout.splitlines())}
            if not said:
                raise RuntimeError(run.stderr[-3000:])
            found |= said
    return found


def caught(fault: Fault, result: Mapping[str, Any]) -> bool:
    """Whether every run showed it in the way that it must be found."""
    if fault.found == "stall":
        return result["stopped"] == "stall" and fault.phase in result["phases"]
    if fault.found == "error":
        return bool(result["stopped"] == "error")
    return len(result["runs"]) == RUNS and all(fault.found in run for run in result["runs"])


def main() -> None:
    """A line for each fault."""
    found = results(list(FAULTS))
    for name, fault in FAULTS.items():
        result = found[name]
        runs = "; ".join("+".join(run) or "nothing" for run in result["runs"])
        stopped = " ".join([result["stopped"] or "", *result["phases"]]).strip()
        verdict = "caught" if caught(fault, result) else "MISSED"
        sys.stdout.write(f"{verdict:7}{name:40}{fault.found:7}{'; '.join(filter(None, (runs, stopped)))}\n")


if __name__ == "__main__":
    main()
