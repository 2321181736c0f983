"""Sums of arrays too large for VMEM, piece by piece: the next is fetched and the last is written while one is added."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from tpu_kernels.kernels.collectives.channel import SLOTS, Ref, Step, repeat, slot, when

Combine = Callable[[jax.Array, jax.Array], jax.Array]

PIECE = 1024  # rows that are added at a time, at most: 512 KiB of float32


class Workspace(NamedTuple):
    """Room for the pieces: ``terms`` [SLOTS, 2, rows, columns] in VMEM; semaphores [SLOTS, 2] and [SLOTS]."""

    terms: Ref
    fetching: Ref
    writing: Ref


def workspace(rows: int, columns: int, dtype: np.dtype) -> list[Any]:
    """The scratch shapes of a :class:`Workspace` for pieces of ``rows``."""
    return [
        pltpu.VMEM((SLOTS, 2, rows, columns), dtype),
        pltpu.SemaphoreType.DMA((SLOTS, 2)),
        pltpu.SemaphoreType.DMA((SLOTS,)),
    ]


def accumulate(total: Ref, other: Ref, combine: Combine, rows: int, room: Workspace) -> None:
    """``total`` becomes ``combine(total, other)``, both [n, columns] in HBM; ``rows`` divides ``n``."""
    pieces = total.shape[0] // rows

    def fetches(piece: Step) -> list[Any]:
        part, place = pl.ds(piece * rows, rows), slot(piece)
        return [
            pltpu.make_async_copy(term.at[part], room.terms.at[place, k, pl.ds(0, rows)], room.fetching.at[place, k])
            for k, term in enumerate((total, other))
        ]

    def write(piece: Step) -> Any:
        part, place = pl.ds(piece * rows, rows), slot(piece)
        return pltpu.make_async_copy(room.terms.at[place, 0, pl.ds(0, rows)], total.at[part], room.writing.at[place])

    def start(piece: Step) -> None:
        for fetch in fetches(piece):
            fetch.start()

    def add(piece: Step) -> None:
        def next_piece() -> None:
            when(piece >= 1, lambda: write(piece - 1).wait())  # it is written from where this one goes
            start(piece + 1)

        when(piece + 1 < pieces, next_piece)
        for fetch in fetches(piece):
            fetch.wait()
        place = slot(piece)
        mine, others = (room.terms[place, k, pl.ds(0, rows)] for k in (0, 1))
        room.terms[place, 0, pl.ds(0, rows)] = combine(mine, others)
        write(piece).start()

    start(0)
    repeat(0, pieces, add)
    for piece in range(max(0, pieces - SLOTS), pieces):
        write(piece).wait()
