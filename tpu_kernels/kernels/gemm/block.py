"""How a product is cut: ``Block(m, k, n)``, what one step multiplies, and the schedule by which the steps follow."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from operator import index
from typing import SupportsIndex

from tpu_kernels.kernels.gemm.schedule import Schedule
from tpu_kernels.phrases import phrase


@dataclass(frozen=True)
class Block:
    """One step multiplies ``[m, k]`` by ``[k, n]``. ``Block.of((512, 1024, 512))`` makes one of a tuple.

    ``schedule`` matters on a TPU alone, and so does ``cores``: among how many the panels of rows are shared out. Raises
    ``ValueError`` unless all sizes are integers of 1 or more, and for an unknown schedule.
    """

    m: int
    k: int
    n: int
    schedule: Schedule = Schedule.STREAM
    cores: int = 1

    def __post_init__(self) -> None:
        for name, size in (("m", self.m), ("k", self.k), ("n", self.n), ("cores", self.cores)):
            if type(size) is int and size > 0:
                continue
            if isinstance(size, bool) or not isinstance(size, SupportsIndex) or index(size) < 1:
                raise ValueError(phrase("gemm.block_size", name=name, got=repr(size)[:60], block=repr(self)[:120]))
            object.__setattr__(self, name, index(size))

        if self.schedule not in tuple(Schedule):
            known = ", ".join(Schedule)
            raise ValueError(phrase("gemm.schedule", got=repr(self.schedule)[:60], known=known))
        object.__setattr__(self, "schedule", Schedule(self.schedule))

    def __iter__(self) -> Iterator[int]:
        yield from (self.m, self.k, self.n)

    def __str__(self) -> str:
        sides = f"{self.m}x{self.k}x{self.n}"
        return sides if self.schedule == Schedule.STREAM else f"{sides} {self.schedule}"

    @classmethod
    def of(cls, given: "Block | tuple[int, int, int]") -> "Block":
        """A block as it is, or one made of the tuple ``(m, k, n)``; ``ValueError`` for anything else."""
        if isinstance(given, cls):
            return given
        if not isinstance(given, tuple | list) or len(given) != 3:
            raise ValueError(phrase("gemm.not_a_block", got=repr(given)[:60]))
        return cls(*given)

    def within(self, m: int, k: int, n: int) -> "Block":
        """The block cut down to an array of ``m x k x n``: a side that covers a whole dimension is that dimension."""
        return replace(self, m=min(self.m, m), k=min(self.k, k), n=min(self.n, n))

    def swapped(self) -> "Block":
        """The block of the transposed product."""
        return replace(self, m=self.n, n=self.m)
