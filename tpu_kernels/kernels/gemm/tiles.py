"""The tiles of the vector memory, in which arrays lie and in which they are cut."""

from tpu_kernels.kernels.gemm.problem import Problem

LANES = 128  # columns of a tile, for every type
ROWS = 8  # of a tile in HBM, for every type; in VMEM it depends on the type
LANE_BYTES = 32  # of one lane of a tile: 8 rows of float32, 16 of bfloat16, 32 of int8


def tiles(problem: Problem) -> tuple[int, int, int]:
    """What ``m``, ``k`` and ``n`` of a block must be multiples of, for every array to be cut between tiles."""
    narrowest = min(problem.dtype.itemsize, problem.out_dtype.itemsize)
    rows = LANES if problem.a_transposed else LANE_BYTES // narrowest
    return rows, LANES, LANES


def whole_tiles(size: int, tile: int) -> int:
    """``size`` rounded up to a multiple of ``tile``."""
    return -(-size // tile) * tile
