"""A model of a kernel's time from what it must execute and move, for when the compiler's simulator has no answer.

A pipelined kernel takes at least as long as each of its resources is needed: the bundles that it executes, its matrix
units at their published rate, its traffic at the published bandwidth, and one latency for each step that waits for a
copy. The model takes the longest of them, and what the first copies in and the last ones out add. It knows nothing of
stalls inside a step.
"""

from collections.abc import Iterable, Sequence

from tpu_kernels.xray import mxu
from tpu_kernels.xray.kernel_dump import KernelDump
from tpu_kernels.xray.record import Bound, Traffic
from tpu_kernels.xray.targets import Target
from tpu_kernels.xray.utilisation import UNITS

# Of the units that the compiler's table counts, those whose slots can be the shortest resource. MXU and XLU count time
# in flight there, and fills and spills are loads and stores.
SLOTS = ("VALU", "VPOP", "EUP", "VLOAD", "VSTORE", "SALU")


def traffic(dump: KernelDump, target: Target) -> tuple[Traffic, ...]:
    """The copies that the program starts on all cores, as its own conditions say."""
    found = []
    for number, copy in enumerate(dump.copies):
        starts = _sum(core.starts[number] for core in dump.cores)
        granules = _sum(core.granules[number] for core in dump.cores)
        size = None if granules is None else granules * target.granule
        found.append(Traffic(copy.source, copy.destination, copy.operand, starts, size))
    return tuple(found)


def hbm_bytes(moved: Sequence[Traffic]) -> int | None:
    """Bytes read from HBM and written to it; ``None`` when one of the copies is not known."""
    counted = [one.bytes for one in moved if "hbm" in {one.source, one.destination}]
    return None if None in counted else sum(filter(None, counted))


def bounds(dump: KernelDump, moved: Sequence[Traffic], target: Target) -> tuple[Bound, ...]:
    """How long each resource is needed for one run, longest first. Empty when executions are not known."""
    executions = dump.replay.executions
    if executions is None:
        return ()
    found = [
        Bound("issue", float(sum(executions))),
        Bound("mxu", mxu.cycles(mxu.given(dump.bundles, executions), target)),
    ]
    for unit in SLOTS:
        column = UNITS.index(unit)
        slots = sum(row[column] * times for row, times in zip(dump.used.rows, executions, strict=True))
        found.append(Bound(unit.lower(), slots / dump.used.capacity[column]))
    size = hbm_bytes(moved)
    if size is not None:
        found.append(Bound("hbm", size / target.hbm_bandwidth * target.clock))
        found.append(Bound("latency", float(_waits(dump) * target.latency)))
    return tuple(sorted(found, key=lambda bound: -bound.cycles))


def modelled(dump: KernelDump, held: Sequence[Bound], moved: Sequence[Traffic], target: Target) -> int | None:
    """Cycles of one run by the model; ``None`` when there is too little to go by."""
    if not any(bound.resource == "hbm" for bound in held):
        return None
    outer = [one for one in moved if "hbm" in {one.source, one.destination}]
    ends = sum(one.bytes / one.starts for one in outer if one.bytes and one.starts) * dump.cores_used
    return round(held[0].cycles + ends / target.hbm_bandwidth * target.clock)


def _waits(dump: KernelDump) -> int:
    """Steps that wait for a copy from HBM: copies that start in the same step are waited for together."""
    started = zip(dump.copies, dump.replay.starts, strict=True)
    return max((starts or 0 for copy, starts in started if copy.source == "hbm"), default=0)


def _sum(amounts: Iterable[int | None]) -> int | None:
    known = list(amounts)
    return None if None in known else sum(filter(None, known))
