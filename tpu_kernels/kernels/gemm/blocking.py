"""The block for a problem on a chip: the caller's, judged, or the cheapest that fits by the model of ``cost``."""

from collections.abc import Iterable, Iterator
from functools import lru_cache, partial
from itertools import chain, product

from jax import lax

from tpu_kernels.kernels.gemm.block import Block
from tpu_kernels.kernels.gemm.cost import cost
from tpu_kernels.kernels.gemm.laid_out import by_rows, is_swapped, laid_out
from tpu_kernels.kernels.gemm.panel_cut import PanelCut
from tpu_kernels.kernels.gemm.problem import Problem
from tpu_kernels.kernels.gemm.schedule import Schedule
from tpu_kernels.kernels.gemm.tensor_core import TALL_TILES, WITHOUT_RESIDENTS, TensorCore, passes, tensor_core
from tpu_kernels.kernels.gemm.tiles import tiles, whole_tiles
from tpu_kernels.kernels.gemm.vmem import mebibytes, vmem_budget, vmem_bytes
from tpu_kernels.phrases import phrase

SIDES = (4096, 2048, 1024, 512, 256, 128)  # the sides that are tried, before they are evened out
# Multiply-adds of one step for each row of the matrix unit: the compiler unrolls them all, and is seconds at so many.
LARGEST_BODY = 2**24


@lru_cache(maxsize=4096)
def choose_block(problem: Problem, chip: str, precision: lax.Precision | None = None) -> Block:
    """The cheapest of the :func:`candidates` by the model of the cost; of equals, the smallest.

    Raises what :func:`~tpu_kernels.models.hardware.chip` raises for a name that is no chip.
    """
    return _cheapest(problem, candidates(problem, chip, precision), chip, precision)


@lru_cache(maxsize=4096)
def resident_block(problem: Problem, chip: str, precision: lax.Precision | None = None) -> Block | None:
    """The cheapest block for an ``a`` that is in VMEM already, or ``None`` where it would not fit.

    :func:`choose_block` never says that: only the caller knows where ``a`` is. Raises what that raises.
    """
    done = by_rows(problem, swapped=False)
    fitting = list(_fitting(problem, filter(partial(_can, tensor_core(chip), done), _resident(done)), chip, precision))
    return _cheapest(problem, fitting, chip, precision) if fitting else None


def candidates(problem: Problem, chip: str, precision: lax.Precision | None = None) -> Iterator[Block]:
    """Every block that :func:`choose_block` weighs: those that this TPU can hold, by each schedule for HBM."""
    swapped = is_swapped(problem)
    done = by_rows(problem, swapped)
    core = tensor_core(chip)
    found = filter(partial(_can, core, done), chain(_streams(done), _panels(done, core.sharing)))
    return _fitting(problem, (cut.swapped() if swapped else cut for cut in found), chip, precision)


def _streams(done: Problem) -> Iterator[Block]:
    sides = zip((done.m, done.k, done.n), tiles(done), strict=True)
    return (Block(m, k, n) for m, k, n in product(*(cuts(size, tile) for size, tile in sides)))


def _can(core: TensorCore, done: Problem, cut: Block) -> bool:
    """Whether the schedule can divide the problem so, on this generation."""
    if cut.schedule == Schedule.PANELS:
        odd = done.m % tiles(done)[0] != 0 and not done.a_transposed
        cuts_tiles = odd and (core.chip in TALL_TILES or done.dtype.itemsize == 1)
        return PanelCut.find(done, cut) is not None and not cuts_tiles
    if cut.schedule == Schedule.RESIDENT:
        single = done.g == 1 and core.chip not in WITHOUT_RESIDENTS
        return single and cut.k == done.k and done.m % cut.m == 0
    return True


def _panels(done: Problem, cores: int) -> Iterator[Block]:
    rows, _, columns = tiles(done)
    sides = product(cuts(done.m, rows), cuts(done.n, columns))
    return (Block(m, done.k, n, Schedule.PANELS, cores) for m, n in sides)


def _resident(done: Problem) -> Iterator[Block]:
    rows, _, columns = tiles(done)
    sides = product(cuts(done.m, rows), cuts(done.n, columns))
    return (Block(m, done.k, n, Schedule.RESIDENT) for m, n in sides)


def _fitting(problem: Problem, blocks: Iterable[Block], chip: str, precision: lax.Precision | None) -> Iterator[Block]:
    core = tensor_core(chip)
    return (block for block in blocks if _fits(problem, block, core, precision))


def _suggested(problem: Problem, chip: str, precision: lax.Precision | None) -> str:
    """The sides of a block that would do by the schedule that a caller gets who names none."""
    streams = (block for block in candidates(problem, chip, precision) if block.schedule == Schedule.STREAM)
    return str(tuple(_cheapest(problem, streams, chip, precision)))


def _cheapest(problem: Problem, blocks: Iterable[Block], chip: str, precision: lax.Precision | None) -> Block:
    core = tensor_core(chip)
    return min(blocks, key=lambda block: (cost(problem, block, core, precision).pipeline, block.m * block.k * block.n))


def cuts(size: int, tile: int) -> list[int]:
    """The whole ``size``, and for each of :data:`SIDES` that much or less, so that the parts come out nearly equal."""
    found = {size}
    for side in SIDES:
        parts = -(-size // side)
        if parts > 1:
            found.add(whole_tiles(-(-size // parts), tile))
    return sorted(found, reverse=True)


def checked_block(problem: Problem, block: Block, chip: str, precision: lax.Precision | None = None) -> Block:
    """The caller's block, cut down to the problem.

    It is judged as it was asked for, whatever the size of the problem. Raises ``ValueError``, with a block that would
    do, for a side that is neither a multiple of the tile nor at least the whole dimension, for a block that needs more
    VMEM than the chip has for one, and for a schedule that cannot divide the problem so.
    """
    core = tensor_core(chip)
    done, cut, _ = laid_out(problem, block)
    for name, side, tile, whole in zip("mkn", cut, tiles(done), (done.m, done.k, done.n), strict=True):
        if side % tile and side < whole:
            raise ValueError(
                phrase(
                    "gemm.tile",
                    name=name,
                    block=str(block),
                    got=side,
                    tile=tile,
                    dtype=problem.dtype.name,
                    whole=whole,
                    better=_suggested(problem, chip, precision),
                )
            )
    if not _can(core, done, cut.within(done.m, done.k, done.n)):
        raise ValueError(phrase("gemm.schedule_cannot", block=str(block), m=problem.m, k=problem.k, n=problem.n))
    asked = vmem_bytes(problem, block, precision)
    if asked > vmem_budget(core):
        raise ValueError(
            phrase(
                "gemm.vmem",
                block=str(block),
                asked=mebibytes(asked),
                chip=core.name,
                vmem=mebibytes(core.vmem),
                budget=mebibytes(vmem_budget(core)),
                better=_suggested(problem, chip, precision),
            )
        )
    return block.within(problem.m, problem.k, problem.n)


def _fits(problem: Problem, block: Block, core: TensorCore, precision: lax.Precision | None) -> bool:
    bodies = 1 if problem.k % min(block.k, problem.k) == 0 else 2  # one more for a last block that is cut
    unrolled = bodies * passes(problem.dtype, precision) * block.m * block.k * block.n
    return unrolled <= LARGEST_BODY * core.mxu and vmem_bytes(problem, block, precision) <= vmem_budget(core)
