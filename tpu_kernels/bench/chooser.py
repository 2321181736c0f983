"""The block that the model of the cost chooses, beside the best of all that fit, in the compiler's simulator.

Every candidate is simulated, but for those that cannot win: which would take longer than the best so far even if
nothing but what they must multiply, and the blocks that they must fetch first and write last, took any time.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tpu_kernels.bench.fairness import HBM, RefusedError, simulated
from tpu_kernels.bench.floor import least_cycles
from tpu_kernels.bench.programs import our_product, problem
from tpu_kernels.bench.simulator import Examine, Simulator
from tpu_kernels.kernels.gemm.block import Block
from tpu_kernels.kernels.gemm.blocking import candidates, choose_block
from tpu_kernels.kernels.gemm.cost import cost
from tpu_kernels.kernels.gemm.problem import Problem
from tpu_kernels.kernels.gemm.tensor_core import tensor_core
from tpu_kernels.phrases import phrase
from tpu_kernels.xray.errors import CompileError, DumpError, LimitError
from tpu_kernels.xray.examine import xray

SECONDS = 600.0  # of processor time for one candidate


@dataclass(frozen=True)
class Case:
    """``g`` products [m, k] x [k, n] on one chip."""

    chip: str
    g: int
    m: int
    k: int
    n: int
    dtype: str

    @property
    def size(self) -> str:
        """``8x512x512x512`` for a batch of 8, ``512x512x512`` for one product."""
        sides = (self.m, self.k, self.n) if self.g == 1 else (self.g, self.m, self.k, self.n)
        return "x".join(map(str, sides))

    @property
    def problem(self) -> Problem:
        return problem(self.m, self.k, self.n, self.dtype, g=self.g)


# Cubes, a tall, a wide and a deep one, sides that no tile divides, a batch, and the two other types. (Of a k that no
# tile divides the simulator of libtpu 0.0.42.1 dies on v5e.)
PROBLEMS = (
    (1, 512, 512, 512, "bfloat16"),
    (1, 1024, 1024, 1024, "bfloat16"),
    (1, 2048, 2048, 2048, "bfloat16"),
    (1, 4096, 512, 512, "bfloat16"),
    (1, 512, 512, 4096, "bfloat16"),
    (1, 512, 8192, 512, "bfloat16"),
    (1, 1000, 1536, 700, "bfloat16"),
    (8, 512, 512, 512, "bfloat16"),
    (1, 1024, 1024, 1024, "int8"),
    (1, 1024, 1024, 512, "float32"),
)


@dataclass(frozen=True)
class Trial:
    """A candidate: ``seconds`` of its pipeline by the model, ``cycles`` by the simulator, or the ``reason`` why not."""

    block: Block
    seconds: float
    cycles: int | None
    reason: str


@dataclass(frozen=True)
class Choice:
    """A case and its ``trials``, of which the first is the model's pick; ``beaten`` candidates could not win."""

    case: Case
    trials: tuple[Trial, ...]
    beaten: int

    @property
    def pick(self) -> Trial:
        return self.trials[0]

    @property
    def best(self) -> Trial | None:
        known = [trial for trial in self.trials if trial.cycles is not None]
        return min(known, key=lambda trial: trial.cycles or 0, default=None)

    @property
    def ratio(self) -> float | None:
        """The pick's cycles over the best's: 1 is a model that cannot be bettered here."""
        best, cycles = self.best, self.pick.cycles
        return None if best is None or not best.cycles or cycles is None else cycles / best.cycles

    def to_dict(self) -> dict[str, Any]:
        best = self.best
        return {
            "operation": "chooser",
            "chip": self.case.chip,
            "shape": self.case.size,
            "dtype": self.case.dtype,
            "pick": str(self.pick.block),
            "pick_cycles": self.pick.cycles,
            "best": None if best is None else str(best.block),
            "best_cycles": None if best is None else best.cycles,
            "ratio": self.ratio,
            "candidates": len(self.trials) + self.beaten,
            "simulated": sum(trial.cycles is not None for trial in self.trials),
            "beaten": self.beaten,
            "refused": sum(trial.cycles is None for trial in self.trials),
            "reason": self.pick.reason,
            "trials": [
                {"block": str(one.block), "seconds": one.seconds, "cycles": one.cycles, "reason": one.reason}
                for one in self.trials
            ],
        }


def cases(chips: Iterable[str]) -> list[Case]:
    """What the chooser is asked on each chip."""
    return [Case(chip, *sizes) for chip in chips for sizes in PROBLEMS]


def count(case: Case) -> int:
    """How many candidates there are."""
    return sum(1 for _ in candidates(case.problem, case.chip))


def bench_chooser(
    chosen: Sequence[Case], *, examine: Examine = xray, progress: Callable[[], None] = lambda: None
) -> Iterator[Choice]:
    """Yields a :class:`Choice` for each case as soon as it is known; ``progress`` is called after each candidate.

    Raises :class:`~tpu_kernels.xray.errors.XrayError` without libtpu, and for a chip that is not simulated.
    """
    for case in chosen:
        yield _choice(case, Simulator(case.chip, SECONDS, examine), progress)


def _choice(case: Case, simulator: Simulator, progress: Callable[[], None]) -> Choice:
    wanted, core = case.problem, tensor_core(case.chip)
    pick = choose_block(wanted, case.chip)
    priced = [(cost(wanted, block, core).pipeline, block) for block in candidates(wanted, case.chip)]
    priced.sort(key=lambda one: (one[1] != pick, one[0]))  # the likely best first, for it rules out many
    rate = simulator.rate
    trials: list[Trial] = []
    best = float("inf")
    for seconds, block in priced:
        if least_cycles(wanted, block, case.chip, rate) <= best:
            trial = _tried(wanted, block, seconds, simulator)
            trials.append(trial)
            best = min(best, trial.cycles or best)
        progress()
    return Choice(case, tuple(trials), len(priced) - len(trials))


def _tried(wanted: Problem, block: Block, seconds: float, simulator: Simulator) -> Trial:
    try:
        report = simulator.report(our_product(wanted, block), HBM)
        moved = simulator.moved(report, HBM, 0, phrase("bench.ours"))
    except (CompileError, LimitError, DumpError, RefusedError) as error:
        return Trial(block, seconds, None, str(error))
    if not simulated(report) or report.cycles.value is None:
        return Trial(block, seconds, None, phrase("bench.no_cycles", reason=report.cycles.reason))
    return Trial(block, seconds, report.cycles.value + moved, "")
