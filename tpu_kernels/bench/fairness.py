"""When two programs can be compared by their cycles, and how: both start alike, and all that they do is counted.

A report's cycles are those of kernels. What XLA copies beside them, at the simulator's own price of one such DMA, is
added here, as if it hid behind nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tpu_kernels.bench.measurement_error import MeasurementError
from tpu_kernels.bench.programs import TILE_BYTES
from tpu_kernels.kernels.gemm.problem import Problem
from tpu_kernels.kernels.gemm.tensor_core import tensor_core
from tpu_kernels.kernels.gemm.tiles import whole_tiles
from tpu_kernels.phrases import phrase
from tpu_kernels.xray.record import SIMULATED
from tpu_kernels.xray.report import Report

# Where the operands are when a program starts: both in HBM, or the left one in VMEM.
HBM, PINNED = "H", "P"
NO_PREFETCH = "--xla_msa_max_cross_program_prefetches=0"  # nothing is asked of the program before

# How the cycles of the two were found. Both simulated; ours simulated, against the bundles that the other executes,
# each of which takes a cycle or more; or both by the model of the X-ray.
CYCLES, BUNDLES, MODEL = "cycles", "bundles", "model"
EXECUTED = "executed"  # the label of cycles that are only bundles


class RefusedError(MeasurementError):
    """There is no fair comparison. The message says why, in the language in force."""


@dataclass(frozen=True)
class Side:
    """One of the two programs: ``cycles`` of all that it does, found as ``label`` says, and what is in its code.

    ``of_peak``: the product at the published rate of its type, as a share of the time. ``moved``: cycles of the copies
    beside the kernels, in ``cycles`` already; ``modelled``: those of the model, where it was needed. ``executed``
    bundles are of the busier core; ``vmem``, in bytes, of the kernel that needs most.
    """

    cycles: int
    label: str
    of_peak: float
    moved: int
    modelled: int | None
    executed: int | None
    bundles: int
    spilled: int | None
    vmem: int | None
    kernels: int


def check_start(report: Report, start: str, left: int, name: str) -> None:
    """Raises :class:`RefusedError` unless the program called ``name`` starts as ``start`` says.

    :data:`HBM`: nothing is there ahead of the program. :data:`PINNED`: of all arrays, the left operand of ``left``
    bytes alone is copied beside the kernels, once, into VMEM.
    """
    if start == HBM:
        ahead = [move.bytes for move in report.moves if move.ahead]
        if ahead:
            raise RefusedError(phrase("bench.fetched_ahead", program=name, size=sum(ahead)))
        return
    moved = [(move.source, move.destination, move.bytes, move.runs) for move in report.moves]
    if moved != [("hbm", "vmem", left, 1)]:
        raise RefusedError(phrase("bench.not_pinned", program=name, size=left, got=len(moved)))


def moved_cycles(report: Report, price: Callable[[int], int], name: str) -> int:
    """What the copies beside the kernels of the program called ``name`` cost; ``price`` is that of so many bytes.

    Raises :class:`RefusedError` where it is not known how often one is made.
    """
    if any(move.runs is None for move in report.moves):
        raise RefusedError(phrase("bench.unknown_moves", program=name))
    return sum(price(move.bytes) * (move.runs or 0) for move in report.moves)


def copy_cycles(report: Report, size: int) -> int:
    """Of a report of :func:`~.programs.fetch`. Raises :class:`RefusedError` when it is of anything but one DMA."""
    copies = [(one.starts, one.bytes) for kernel in report.kernels for one in kernel.traffic if one.source == "hbm"]
    if not simulated(report) or report.cycles.value is None or copies != [(1, whole_tiles(size, TILE_BYTES))]:
        raise RefusedError(phrase("bench.no_price", size=size))
    return report.cycles.value


def compared(
    problem: Problem, seen: Sequence[Report], models: Sequence[Report], moved: Sequence[int]
) -> tuple[str, tuple[Side, Side]]:
    """How our program, the first, and the other are compared, and each side by that.

    ``models`` are reports of the same two that are not simulated, needed when not both of ``seen`` are; ``moved`` is
    what :func:`moved_cycles` says of each. Where the other program executes more bundles than ours takes cycles, that
    settles it, else the model must. Raises :class:`RefusedError` when nothing is known of one of them.
    """
    ours, other = seen
    modelled = [report.cycles.value for report in models] or [None, None]
    executed = executed_bundles(other)
    settled = executed is not None and ours.cycles.value is not None and ours.cycles.value + moved[0] < executed
    if simulated(ours) and simulated(other):
        by, cycles, labels = CYCLES, [ours.cycles.value, other.cycles.value], [SIMULATED, SIMULATED]
    elif simulated(ours) and settled:
        by, cycles, labels = BUNDLES, [ours.cycles.value, executed], [SIMULATED, EXECUTED]
    else:
        by, cycles, labels = MODEL, modelled, [report.cycles.label for report in models]
    sides = []
    for report, count, label, model, beside in zip(seen, cycles, labels, modelled, moved, strict=True):
        if count is None:
            raise RefusedError(phrase("bench.no_cycles", reason=report.cycles.reason))
        sides.append(_side(problem, report, count, label, model, beside))
    return by, (sides[0], sides[1])


def simulated(report: Report) -> bool:
    """Whether the simulator gave all of the report's cycles."""
    return report.cycles.value is not None and report.cycles.label == SIMULATED


def executed_bundles(report: Report) -> int | None:
    """That one run of the program executes; ``None`` when those of one kernel are not known."""
    counted = [(kernel.executed, kernel.runs) for kernel in report.kernels]
    if any(None in one for one in counted):
        return None
    return sum((executed or 0) * (runs or 0) for executed, runs in counted)


def _side(problem: Problem, report: Report, cycles: int, label: str, modelled: int | None, moved: int) -> Side:
    core = tensor_core(report.chip)
    ideal = problem.flops / core.sharing / core.rate(problem.dtype, None) * report.clock
    spilled = [kernel.spilled for kernel in report.kernels]
    return Side(
        cycles=cycles + moved,
        label=label,
        of_peak=ideal / (cycles + moved),
        moved=moved,
        modelled=modelled,
        executed=executed_bundles(report),
        bundles=sum(kernel.bundles for kernel in report.kernels),
        spilled=None if None in spilled else sum(filter(None, spilled)),
        vmem=max((kernel.vmem for kernel in report.kernels if kernel.vmem is not None), default=None),
        kernels=len(report.kernels),
    )
