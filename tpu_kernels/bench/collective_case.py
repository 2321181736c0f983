"""One collective at one size: who holds how much before and after, the data, and what must come out.

What our implementations and the peers have in common, so that all move the same bytes and are judged by the same eye.
Imports NumPy alone: a peer's Python may have no jax.
"""

from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tpu_kernels.models.collective_cost import busbw_factor
from tpu_kernels.models.collective_cost.bus_bandwidth import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BROADCAST,
    PERMUTE,
    REDUCE_SCATTER,
)
from tpu_kernels.phrases import phrase

REDUCTIONS = (ALL_REDUCE, REDUCE_SCATTER)
SHARDED = (ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL)
ITEM_SIZES = {"float32": 4, "bfloat16": 2, "float16": 2, "int32": 4, "int8": 1}
OPERATIONS = {"sum": np.add.reduce, "max": np.maximum.reduce, "min": np.minimum.reduce}
NO_ROOT = -1  # as the NCCL tests write it
# Small whole numbers, so that sums are exact in every dtype and in every order, up to 42 ranks of int8.
LARGEST = 3

Values = NDArray[np.generic]


@dataclass(frozen=True)
class Case:
    """``size``: bytes of the whole array, as the NCCL tests count them (see :mod:`bus_bandwidth`). ``op``: of a
    reduction, otherwise None; ``root``: of a broadcast, otherwise :data:`NO_ROOT`."""

    collective: str
    ranks: int
    size: int
    dtype: str
    op: str | None
    root: int

    @property
    def total(self) -> int:
        """Elements of the whole array."""
        return self.size // ITEM_SIZES[self.dtype]

    @property
    def count(self) -> int:
        """Elements as the NCCL tests count them: of one rank's part, where the array has parts."""
        return self.total // self.ranks if self.collective in SHARDED else self.total

    @property
    def held(self) -> int:
        """Elements of a rank before."""
        return self.total // self.ranks if self.collective == ALL_GATHER else self.total

    @property
    def received(self) -> int:
        """Elements of a rank after."""
        return self.total // self.ranks if self.collective == REDUCE_SCATTER else self.total

    @property
    def in_place(self) -> bool:
        """Whether the result can take the place of what was sent, which is as large.

        NCCL and MPI also gather and reduce-scatter in place, from or to a part of the larger array; jax has no such
        form, and no contestant is timed in it.
        """
        return self.held == self.received

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Who sends to whom in a permute: each to the next one, round."""
        return [(rank, (rank + 1) % self.ranks) for rank in range(self.ranks)]

    @property
    def factor(self) -> float:
        """What turns algorithm bandwidth into bus bandwidth."""
        return busbw_factor(self.collective, self.ranks)

    def data(self, rank: int) -> NDArray[np.int8]:
        """What ``rank`` holds before: small whole numbers, other ones on each rank."""
        return _drawn(rank, self.held)

    def expected(self, rank: int) -> NDArray[np.int8]:
        """What ``rank`` must hold after."""
        if self.collective == BROADCAST:
            return self.data(self.root)
        if self.collective == PERMUTE:
            return self.data((rank - 1) % self.ranks)
        held = [self.data(other) for other in range(self.ranks)]
        if self.collective == ALL_GATHER:
            return np.concatenate(held)
        if self.collective == ALL_TO_ALL:
            return np.concatenate([mine[self._part(rank)] for mine in held])
        mine = held if self.collective == ALL_REDUCE else [one[self._part(rank)] for one in held]
        found: NDArray[np.int8] = OPERATIONS[self.op or "sum"](mine, axis=0, dtype=np.int8)
        return found

    def wrong(self, rank: int, result: Values) -> int:
        """How many elements of what ``rank`` got are not what they must be."""
        return int(np.count_nonzero(result.reshape(-1) != self.expected(rank).astype(result.dtype)))

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def _part(self, rank: int) -> slice:
        return slice(rank * self.count, (rank + 1) * self.count)


@lru_cache(maxsize=16)  # each rank's expectation reads the data of all
def _drawn(rank: int, length: int) -> NDArray[np.int8]:
    values = np.random.default_rng(rank).integers(-LARGEST, LARGEST + 1, length, np.int8)
    values.setflags(write=False)
    return values


def cases(
    collective: str, sizes: list[int], *, ranks: int, dtype: str, op: str | None = None, root: int | None = None
) -> list[Case]:
    """A case for each size in bytes, rounded down to whole elements, and to equal parts where there are parts.

    Raises ``ValueError`` for an unknown dtype or operation, one where nothing is reduced, a root where there is none or
    that is no rank, fewer than two ranks, and a size without an element for each part.
    """
    if dtype not in ITEM_SIZES:
        raise ValueError(phrase("collective_bench.dtype", got=dtype, known=", ".join(ITEM_SIZES)))
    busbw_factor(collective, ranks)
    if op is not None and collective not in REDUCTIONS:
        raise ValueError(phrase("collective_bench.no_op", collective=collective))
    if op is not None and op not in OPERATIONS:
        raise ValueError(phrase("collectives.unknown_op", got=repr(op), known=", ".join(OPERATIONS)))
    if root is not None and collective != BROADCAST:
        raise ValueError(phrase("collective_bench.no_root", collective=collective))
    if root is not None and not 0 <= root < ranks:
        raise ValueError(phrase("collective_bench.bad_root", got=root, last=ranks - 1))
    grain = ITEM_SIZES[dtype] * (ranks if collective in SHARDED else 1)
    for size in sizes:
        if size < grain:
            raise ValueError(phrase("collective_bench.too_small", got=size, least=grain))
    chosen = (op or "sum") if collective in REDUCTIONS else None
    start = (root or 0) if collective == BROADCAST else NO_ROOT
    return [Case(collective, ranks, size - size % grain, dtype, chosen, start) for size in sizes]
