"""How the product is cut on a Hopper GPU: ``GpuTile``, the part of the result that a thread block makes at one time.

A block keeps ``stages`` slices of its operands in shared memory, ``[m, k]`` and ``[k, n]`` each: a warpgroup fetches
them, and the ``consumers`` divide the rows among themselves and hold the ``[m, n]`` sums in registers. So shared memory
bounds the slices, registers the tile, and the tile the reuse: an operand's element is read from the L2 once per tile.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from tpu_kernels.kernels.gemm.block import Block
from tpu_kernels.kernels.gemm.problem import Problem
from tpu_kernels.phrases import phrase

# NVIDIA, CUDA C++ Programming Guide, "Technical Specifications per Compute Capability", column 9.0.
SHARED_MEMORY = 227 * 1024  # bytes that one block may have
REGISTERS = 64 * 1024  # of 32 bits, in a multiprocessor
REGISTERS_PER_THREAD = 255
WARPGROUP = 128  # threads: four warps, which issue one wgmma together

# NVIDIA, PTX ISA, wgmma.mma_async: an instruction multiplies 64 rows by up to 256 columns, 32 bytes deep. Operands are
# laid out in rows of 128 bytes, the widest swizzle, so that neither TMA nor wgmma meets a bank twice.
MMA_ROWS = 64
MMA_COLUMNS = 256
SWIZZLE = 128  # bytes

BARRIER = 8  # bytes of an mbarrier
BARRIERS_PER_STAGE = 2  # "full" and "empty"

PRODUCER_REGISTERS = 40  # enough to issue copies; the rest goes to the consumers
# Of a consumer, beside its sums, for addresses and the epilogue: with so many ptxas 12.9 spills none, gelu included.
WORKING_REGISTERS = 40

# NVIDIA H100 Tensor Core GPU Architecture: 132 multiprocessors in the SXM5 board, and in an H200.
MULTIPROCESSORS = 132
# 989.4 TFLOP/s of bfloat16 / 132 / 1.83 GHz: 4 tensor cores of 512 multiply-adds; twice as many of 8-bit operands.
BYTES_MULTIPLIED_PER_CYCLE = 2048 * 2  # per multiprocessor: multiply-adds times the bytes of an operand
L2_BYTES_PER_CYCLE = 48  # per multiprocessor; assumed, not measured: what a tile of 128x256 needs at the full rate


@dataclass(frozen=True)
class GpuTile:
    """``[m, n]`` of the result, made ``k`` deep at a time out of ``stages`` slices by ``consumers`` warpgroups.

    ``dtype`` is the operands', ``out_dtype`` what is written. Raises ``ValueError``, naming what was got and the limit,
    for sizes that do not fit the instructions, and for more registers or shared memory than a multiprocessor has.
    """

    m: int
    k: int
    n: int
    stages: int
    consumers: int
    dtype: np.dtype
    out_dtype: np.dtype

    def __post_init__(self) -> None:
        if self.consumers not in (1, 2):
            raise ValueError(phrase("gemm_gpu.consumers", got=self.consumers))
        for side, got, multiple in (
            ("m", self.m, MMA_ROWS * self.consumers),
            ("k", self.k, self.lane),
            ("n", self.n, self.lane),
        ):
            if got < 1 or got % multiple:
                raise ValueError(
                    phrase(
                        "gemm_gpu.multiple",
                        side=side, got=got, multiple=multiple, dtype=self.dtype.name, better=str(self._better),
                    )
                )  # fmt: skip
        if self.n > MMA_COLUMNS:
            raise ValueError(phrase("gemm_gpu.columns", got=self.n, limit=MMA_COLUMNS))
        if self.stages < 2:  # a slice is given back when the next one is being multiplied, so one alone never would be
            raise ValueError(phrase("gemm_gpu.stages", got=self.stages))
        needed = self.accumulators + WORKING_REGISTERS
        if needed > self.consumer_registers:
            raise ValueError(phrase("gemm_gpu.registers", tile=str(self), needed=needed, limit=self.consumer_registers))
        if self.shared_bytes > SHARED_MEMORY:
            raise ValueError(
                phrase(
                    "gemm_gpu.shared", tile=str(self), stages=self.stages, needed=self.shared_bytes, limit=SHARED_MEMORY
                )
            )

    def __str__(self) -> str:
        return f"{self.m}x{self.k}x{self.n}"

    @property
    def _better(self) -> tuple[int, int, int]:
        """The sides rounded up to what the instructions take."""
        m, k, n = (max(side, 1) for side in (self.m, self.k, self.n))
        rows = MMA_ROWS * self.consumers
        return -(-m // rows) * rows, -(-k // self.lane) * self.lane, min(-(-n // self.lane) * self.lane, MMA_COLUMNS)

    @property
    def lane(self) -> int:
        """Elements of an operand in one swizzled row."""
        return SWIZZLE // self.dtype.itemsize

    @property
    def rows(self) -> int:
        """Rows of the tile that each consumer multiplies."""
        return self.m // self.consumers

    @property
    def out_columns(self) -> int:
        """Columns that leave at one time, through a buffer one swizzled row wide."""
        return SWIZZLE // self.out_dtype.itemsize

    @property
    def accumulators(self) -> int:
        """32-bit sums that each thread of a consumer holds."""
        return self.rows * self.n // WARPGROUP

    @property
    def consumer_registers(self) -> int:
        """Registers that each thread of a consumer may have."""
        return _consumer_registers(self.consumers)

    @property
    def stage_bytes(self) -> int:
        """Shared memory of one slice of both operands."""
        return (self.m + self.n) * self.k * self.dtype.itemsize

    @property
    def shared_bytes(self) -> int:
        """Shared memory of everything: slices, two outgoing buffers and a bias for each consumer, barriers."""
        leaving = self.consumers * 2 * MMA_ROWS * SWIZZLE
        bias = self.consumers * self.n * 4
        barriers = (BARRIERS_PER_STAGE * self.stages + self.consumers) * BARRIER
        return self.stages * self.stage_bytes + leaving + bias + barriers

    def grid(self, problem: Problem) -> tuple[int, int, int]:
        """How many of these make the result: batches, down, across."""
        return problem.g, -(-problem.m // self.m), -(-problem.n // self.n)

    def count(self, problem: Problem) -> int:
        """How many of these make the result."""
        return prod(self.grid(problem))

    def cycles(self, problem: Problem, multiprocessors: int = MULTIPROCESSORS) -> float:
        """About how many cycles the product takes: an estimate by which tiles are compared, not a prediction.

        The tiles are made in waves, one per multiprocessor. Of each slice the slower of the tensor cores and the L2
        counts; writing a tile out is not hidden behind them.
        """
        waves = -(-self.count(problem) // multiprocessors)
        multiplying = self.m * self.n * self.k * self.dtype.itemsize / BYTES_MULTIPLIED_PER_CYCLE
        fetching = self.stage_bytes / L2_BYTES_PER_CYCLE
        leaving = self.m * self.n * self.out_dtype.itemsize / L2_BYTES_PER_CYCLE
        return waves * (-(-problem.k // self.k) * max(multiplying, fetching) + leaving)


def of_block(block: Block, dtype: np.dtype, out_dtype: np.dtype) -> GpuTile:
    """The tile of these sides, with two consumers where there are rows for them, and all the stages that fit.

    Raises what :class:`GpuTile` raises.
    """
    consumers = 2 if block.m > MMA_ROWS else 1
    least = GpuTile(block.m, block.k, block.n, 2, consumers, dtype, out_dtype)
    more = (SHARED_MEMORY - least.shared_bytes) // (least.stage_bytes + BARRIERS_PER_STAGE * BARRIER)
    return replace(least, stages=least.stages + more)


def candidates(dtype: np.dtype, out_dtype: np.dtype) -> Iterator[GpuTile]:
    """Every tile one swizzled row deep that a block can hold; those with the longest instructions come first."""
    lane = SWIZZLE // dtype.itemsize
    for m, rows in ((128, 64), (256, 128), (64, 64)):
        widest = min(MMA_COLUMNS, (_consumer_registers(m // rows) - WORKING_REGISTERS) * WARPGROUP // rows)
        for n in range(widest // lane * lane, 0, -lane):
            yield of_block(Block(m, lane, n), dtype, out_dtype)


def choose_tile(problem: Problem, multiprocessors: int = MULTIPROCESSORS) -> GpuTile:
    """The tile for which :meth:`GpuTile.cycles` is least, the first of :func:`candidates` where several tie."""
    tiles = candidates(problem.dtype, problem.out_dtype)
    return min(tiles, key=lambda tile: tile.cycles(problem, multiprocessors))


def _consumer_registers(consumers: int) -> int:
    """Registers that each thread of a consumer may have; they change hands in eights."""
    share = (REGISTERS // WARPGROUP - PRODUCER_REGISTERS) // consumers
    return min(share // 8 * 8, REGISTERS_PER_THREAD)
