"""The block for a problem on a chip: the caller's, judged, or the cheapest that fits by the model of ``cost``."""

from functools import lru_cache
from itertools import product

from jax import lax

from tpu_kernels.kernels.gemm.block import Block
from tpu_kernels.kernels.gemm.cost import cost
from tpu_kernels.kernels.gemm.problem import Problem
from tpu_kernels.kernels.gemm.tensor_core import TensorCore, passes, tensor_core
from tpu_kernels.kernels.gemm.tiles import tiles, whole_tiles
from tpu_kernels.kernels.gemm.vmem import mebibytes, vmem_budget, vmem_bytes
from tpu_kernels.phrases import phrase

SIDES = (4096, 2048, 1024, 512, 256, 128)  # the sides that are tried, before they are evened out
LARGEST_BODY = 2**31  # multiply-adds of one step: the compiler unrolls them all, and is seconds at this many already


@lru_cache(maxsize=4096)
def choose_block(problem: Problem, chip: str, precision: lax.Precision | None = None) -> Block:
    """The cheapest block that fits the VMEM of this TPU; of equals, the smallest.

    Raises what :func:`~tpu_kernels.models.hardware.chip` raises for a name that is no chip.
    """
    core = tensor_core(chip)
    sides = zip((problem.m, problem.k, problem.n), tiles(problem), strict=True)
    blocks = (Block(*cut) for cut in product(*(cuts(size, tile) for size, tile in sides)))
    fitting = (block for block in blocks if _fits(problem, block, core, precision))
    return min(fitting, key=lambda block: (cost(problem, block, core, precision).seconds, block.m * block.k * block.n))


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
    do, for a side that is neither a multiple of the tile nor at least the whole dimension, and for a block that needs
    more VMEM than the chip has for one.
    """
    core = tensor_core(chip)
    for name, side, tile, whole in zip("mkn", block, tiles(problem), (problem.m, problem.k, problem.n), strict=True):
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
                    better=str(tuple(choose_block(problem, chip, precision))),
                )
            )
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
                better=str(tuple(choose_block(problem, chip, precision))),
            )
        )
    return block.within(problem.m, problem.k, problem.n)


def _fits(problem: Problem, block: Block, core: TensorCore, precision: lax.Precision | None) -> bool:
    bodies = 1 if problem.k % block.k == 0 else 2  # one more for a last block that is cut
    unrolled = bodies * passes(problem.dtype, precision) * block.m * block.k * block.n
    return unrolled <= LARGEST_BODY and vmem_bytes(problem, block, precision) <= vmem_budget(core)
