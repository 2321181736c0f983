"""A compiler's simulator for tests: programs are lowered for the chip as always, cycles are what the test says."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tests.tpu_kernels.xray import stored
from tpu_kernels.bench.programs import TILE_BYTES
from tpu_kernels.xray import targets
from tpu_kernels.xray.program import Program, lower
from tpu_kernels.xray.record import MODELLED, SIMULATED, Cycles, Move, Traffic
from tpu_kernels.xray.report import Report

RATE = 500  # bytes per cycle of a copy, which takes LATENCY cycles besides
LATENCY = 1000


def report(
    cycles: int | None,
    *,
    chip: str = "v5e",
    label: str = SIMULATED,
    executed: int | None = 1,
    moves: Sequence[Move] = (),
    traffic: Sequence[Traffic] = (),
) -> Report:
    """Of one kernel that runs once."""
    known = stored.report("matmul-v5e")
    counted = Cycles(cycles, label, "" if label == SIMULATED else "unknown")
    kernel = replace(known.kernels[0], runs=1, cycles=counted, executed=executed, traffic=tuple(traffic))
    return replace(known, chip=chip, cycles=counted, kernels=(kernel,), moves=tuple(moves))


def brought(size: int, *, ahead: bool = False, runs: int | None = 1) -> Move:
    """An array that XLA brings to VMEM beside the kernels."""
    return Move("copy-start", "hbm", "vmem", size, runs, ahead)


@dataclass
class FakeSimulator:
    """In place of :func:`tpu_kernels.xray.xray`: ``ours`` and ``xla`` make the report of a program of theirs.

    ``asked`` keeps the options of each call, under the name of the program.
    """

    ours: Callable[[Program], Report]
    xla: Callable[[Program], Report] = lambda program: report(1000)
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def __call__(self, function: Callable[..., Any], *specs: Any, chip: str, **options: Any) -> Report:
        program = lower(function, specs, targets.target(chip))
        name = "copy" if len(specs) == 1 else "ours" if program.calls else "XLA"
        self.asked.append((name, {"chip": chip, **options}))
        if name == "copy":
            size = specs[0].size * 4
            assert size % TILE_BYTES == 0
            return report(LATENCY + size // RATE, chip=chip, traffic=[Traffic("hbm", "vmem", 0, 1, size)])
        made = (self.ours if name == "ours" else self.xla)(program)
        if options["simulate"]:
            return replace(made, chip=chip)
        model = Cycles(made.kernels[0].executed, MODELLED, "asked")
        return replace(made, chip=chip, cycles=model)
