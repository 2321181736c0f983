"""What the compiler dumped of one kernel, read and counted."""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from tpu_kernels.xray import allocations, bundles, copies, scalar, utilisation
from tpu_kernels.xray.allocations import Allocation
from tpu_kernels.xray.bundles import Bundle
from tpu_kernels.xray.copies import Copy
from tpu_kernels.xray.errors import DumpError
from tpu_kernels.xray.replay import Replay, replay
from tpu_kernels.xray.targets import Target
from tpu_kernels.xray.utilisation import Utilisation

FILE = re.compile(r"(\d+)-(.+)-\d+-(.+)\.txt")
NOT_KERNELS = re.compile(r"TLP|<.*>")  # the program around them, and what is run before and after it
BUNDLES = "final_bundles"
TABLE = "final_hlo-static-per-bundle-utilization"
SCHEDULE = "schedule-analysis_final_bundles"
ALLOCATIONS = "pre-finalize-registers-and-allocations"
SCHEDULED = re.compile(r"total scheduled bundles: +(\d+)")
BOUNDS = re.compile(r"^iteration_bounds: \((\d+(?:, \d+)*),?\)", re.MULTILINE)

DATA = 2**31 - 1  # written for a bound that is data

STAGE = re.compile(r"iteration index, stage = (\d+)")


@dataclass(frozen=True)
class KernelDump:
    """One kernel: its bundles, what they use, what it keeps in memory, the copies it starts, how often it does what.

    ``scheduled`` is the number of bundles by the compiler's own count. ``cores`` has what each core executes; a program
    that does not ask on which core it runs is taken to run on one. ``grid`` is that of one core, ``last_stage`` the
    last stage of its pipeline that has code, counted from 0.
    """

    name: str
    bundles: tuple[Bundle, ...]
    used: Utilisation
    scheduled: int
    allocations: tuple[Allocation, ...]
    copies: tuple[Copy, ...]
    cores: tuple[Replay, ...]
    grid: tuple[int, ...] | None
    last_stage: int

    @property
    def replay(self) -> Replay:
        """Of the core that executes most."""
        return max(self.cores, key=lambda core: sum(core.executions or ()))

    @property
    def cores_used(self) -> int:
        """How many cores share the work: those that execute at least half as much as the one that executes most."""
        executed = [sum(core.executions or ()) for core in self.cores]
        return sum(2 * one >= max(executed) for one in executed)


def read(folder: Path, target: Target, without: Collection[str] = ()) -> Mapping[str, KernelDump]:
    """Every kernel in a folder of dumps, by name, except those that are not wanted.

    Raises :class:`DumpError` when a file is missing or not understood.
    """
    newest: dict[tuple[str, str], tuple[int, Path]] = {}
    for path in folder.iterdir():
        match = FILE.fullmatch(path.name)
        if match and not NOT_KERNELS.fullmatch(match[2]) and match[2] not in without:
            key, stamped = (match[2], match[3]), (int(match[1]), path)
            newest[key] = max(newest.get(key, stamped), stamped)
    files: dict[str, dict[str, Path]] = defaultdict(dict)
    for (name, kind), (_, path) in newest.items():
        files[name][kind] = path
    found = {name: _read(name, of_kind, target) for name, of_kind in sorted(files.items()) if BUNDLES in of_kind}
    return {name: dump for name, dump in found.items() if dump}


def _read(name: str, files: Mapping[str, Path], target: Target) -> KernelDump | None:
    """``None`` for an operation that has no code: its schedule is empty, and its one bundle too."""
    missing = {BUNDLES, TABLE, SCHEDULE, ALLOCATIONS} - set(files)
    if missing:
        raise DumpError(f"{name}: no dump of {sorted(missing)}")
    texts = {kind: path.read_text(encoding="utf-8", errors="replace") for kind, path in files.items()}
    used = utilisation.parse(texts[TABLE])
    scheduled = SCHEDULED.search(texts[SCHEDULE])
    if not texts[SCHEDULE].strip() and len(used.rows) == 1 and not any(used.rows[0]):
        return None
    if scheduled is None:
        raise DumpError(f"{name}: a schedule that begins {texts[SCHEDULE][:80]!r}")
    program = bundles.parse(texts[BUNDLES])
    started = copies.copies(program)
    cores = target.cores if scalar.CORE in texts[BUNDLES] else 1
    return KernelDump(
        name=name,
        bundles=program,
        used=used,
        scheduled=int(scheduled[1]),
        allocations=allocations.parse(texts[ALLOCATIONS]),
        copies=started,
        cores=tuple(replay(program, started, target.delay_slots, core) for core in range(cores)),
        grid=grid(texts[BUNDLES]),
        last_stage=max(map(int, STAGE.findall(texts[BUNDLES])), default=0),
    )


def grid(text: str) -> tuple[int, ...] | None:
    """The grid of one core that bundles name; ``None`` when they name none or several, or a bound of it is data."""
    named = {tuple(map(int, found.split(", "))) for found in BOUNDS.findall(text)}
    found = named.pop() if len(named) == 1 else ()
    return found if found and DATA not in found else None
