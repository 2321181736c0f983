"""How a product is cut: ``Block(m, k, n)``, the part of each operand that is in fast memory at one time."""

from collections.abc import Iterator
from dataclasses import dataclass
from operator import index
from typing import SupportsIndex

from tpu_kernels.phrases import phrase


@dataclass(frozen=True)
class Block:
    """One step multiplies ``[m, k]`` by ``[k, n]``. ``Block.of((512, 1024, 512))`` makes one of a tuple.

    Raises ``ValueError`` unless all three are integers of 1 or more.
    """

    m: int
    k: int
    n: int

    def __post_init__(self) -> None:
        for name, size in (("m", self.m), ("k", self.k), ("n", self.n)):
            if type(size) is int and size > 0:
                continue
            if isinstance(size, bool) or not isinstance(size, SupportsIndex) or index(size) < 1:
                raise ValueError(phrase("gemm.block_size", name=name, got=repr(size)[:60], block=repr(self)[:120]))
            object.__setattr__(self, name, index(size))

    def __iter__(self) -> Iterator[int]:
        yield from (self.m, self.k, self.n)

    def __str__(self) -> str:
        return f"{self.m}x{self.k}x{self.n}"

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
        return Block(min(self.m, m), min(self.k, k), min(self.n, n))
