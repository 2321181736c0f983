"""Our matrix product beside XLA's own, in the cycles of the simulator in the TPU's compiler: no TPU is used.

There are two ways to be fair, and in both the two programs start alike. ``"H"``: both operands are in HBM. XLA would
ask the program before to have fetched one of them into VMEM; it is told not to, and the reports must show that it did
not. ``"P"``: the left operand is in VMEM already, and both reports must show the one copy of it there. All kernels of a
program count, also one that only lays an operand out anew, and all copies beside them.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

from tpu_kernels.bench.fairness import HBM, PINNED, RefusedError, Side, compared, simulated
from tpu_kernels.bench.matmul import Shape
from tpu_kernels.bench.programs import our_product, problem, xla_product
from tpu_kernels.bench.simulator import Examine, Simulator
from tpu_kernels.kernels.gemm.block import Block
from tpu_kernels.kernels.gemm.blocking import choose_block, resident_block
from tpu_kernels.kernels.gemm.problem import Problem
from tpu_kernels.phrases import phrase
from tpu_kernels.xray.errors import MissingCompilerError, UnknownTargetError, XrayError
from tpu_kernels.xray.examine import xray

SECONDS = 900.0  # of processor time for one program: the simulator carries out each bundle of 4096 steps and more


@dataclass(frozen=True)
class Contest:
    """A product [m, k] x [k, n] on one chip; ``start`` is :data:`~.fairness.HBM` or :data:`~.fairness.PINNED`."""

    chip: str
    shape: Shape
    dtype: str
    start: str

    @property
    def size(self) -> str:
        return "x".join(map(str, self.shape))


@dataclass(frozen=True)
class Row:
    """A contest and its outcome: our side, XLA's side, and by what they are compared.

    Where there is none, these are ``None`` and ``reason`` says why; else it is empty.
    """

    contest: Contest
    libtpu: str | None
    block: Block | None
    ours: Side | None
    xla: Side | None
    compared_by: str | None
    reason: str

    @property
    def ratio(self) -> float | None:
        """Our cycles over XLA's; compared by bundles, it is at most that."""
        return None if self.ours is None or self.xla is None else self.ours.cycles / self.xla.cycles

    def to_dict(self) -> dict[str, Any]:
        return {
            "operation": "matmul",
            "chip": self.contest.chip,
            "shape": self.contest.size,
            "dtype": self.contest.dtype,
            "class": self.contest.start,
            "block": None if self.block is None else str(self.block),
            "compared_by": self.compared_by,
            "ratio": self.ratio,
            **{field.name: getattr(self.ours, field.name, None) for field in fields(Side)},
            **{f"{field.name}_xla": getattr(self.xla, field.name, None) for field in fields(Side)},
            "libtpu": self.libtpu,
            "reason": self.reason,
        }


CUBE, LARGE = (4096, 4096, 4096), (8192, 8192, 8192)
# The simulator dies on XLA's program for the last of these on v5e and v5p: there both are compared by the model.
RAGGED = ((4000, 4100, 3900), (2500, 3500, 4500), (1000, 4100, 7000), (3000, 5000, 2000))


def contests(chips: Iterable[str], *, quick: bool = False) -> list[Contest]:
    """What is compared on each chip: large products, whole and ragged, of two types; ``quick``: one, both ways."""
    cases = [(CUBE, "bfloat16", HBM), (CUBE, "bfloat16", PINNED)]
    if not quick:
        cases += [(CUBE, "int8", HBM), *((shape, "bfloat16", HBM) for shape in RAGGED), (LARGE, "bfloat16", HBM)]
    return [Contest(chip, *case) for chip in chips for case in cases]


def bench_xray(chosen: Sequence[Contest], *, examine: Examine = xray) -> Iterator[Row]:
    """Yields a :class:`Row` for each contest as soon as it is known; one without an outcome says why.

    Raises ``MissingCompilerError`` without libtpu, and ``UnknownTargetError`` for a chip that it does not know.
    """
    for contest in chosen:
        block = None
        try:
            wanted = problem(*contest.shape, contest.dtype)
            block = _block(wanted, contest)
            yield _outcome(contest, wanted, block, Simulator(contest.chip, SECONDS, examine))
        except (MissingCompilerError, UnknownTargetError):
            raise
        except (XrayError, RefusedError) as error:
            yield Row(contest, None, block, None, None, None, str(error))


def _outcome(contest: Contest, wanted: Problem, block: Block, simulator: Simulator) -> Row:
    programs = {phrase("bench.ours"): our_product(wanted, block), "XLA": xla_product(wanted)}
    left = wanted.m * wanted.k * wanted.dtype.itemsize
    reports = [simulator.report(program, contest.start) for program in programs.values()]
    moved = [simulator.moved(report, contest.start, left, name) for name, report in zip(programs, reports, strict=True)]
    models = []
    if not all(map(simulated, reports)):
        models = [simulator.report(program, contest.start, simulate=False) for program in programs.values()]
    by, (ours, theirs) = compared(wanted, reports, models, moved)
    return Row(contest, reports[0].versions["libtpu"], block, ours, theirs, by, "")


def _block(wanted: Problem, contest: Contest) -> Block:
    found = choose_block(wanted, contest.chip) if contest.start == HBM else resident_block(wanted, contest.chip)
    if found is None:
        raise RefusedError(phrase("bench.left_does_not_fit", chip=contest.chip))
    return found
