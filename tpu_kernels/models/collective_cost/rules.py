"""What each algorithm costs on ``n`` ranks, in units of the array: steps, critical bytes and bytes of the busiest link.

On a *ring* and a *line* the links are those between neighbours, each way counted apart. The others need a switch and
count what goes through the port of a rank. Sources: bandwidth terms, PERFORMANCE.md of the NCCL tests; latency terms,
the textbook forms (formulas F7 and F8); rings both ways and all-to-all, the scaling book (F13, 2025-02-18).
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from tpu_kernels.models.collective_cost.bus_bandwidth import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BROADCAST,
    PERMUTE,
    REDUCE,
    REDUCE_SCATTER,
)
from tpu_kernels.phrases import phrase

RING, BIDIRECTIONAL, LINE = "ring", "bidirectional-ring", "line"
TREE, HALVING, DOUBLING, PAIRWISE = "tree", "halving-doubling", "recursive-doubling", "pairwise"


class Share(NamedTuple):
    """Per byte of the array: ``critical``, the busiest link of each step added up (what takes time), and ``busiest``,
    all that the busiest link carries. They are equal when the same link is busiest in every step."""

    steps: int
    critical: float
    busiest: float

    def twice(self) -> "Share":
        """One after the other with its mirror image: an all-reduce out of a reduce-scatter and an all-gather."""
        return Share(2 * self.steps, 2 * self.critical, 2 * self.busiest)


Rule = Callable[[int, int], Share]  # of ranks and chunks


def even(steps: int, share: float) -> Share:
    """The same link, or one as busy, is busiest in every step."""
    return Share(steps, share, share)


def pipelined(hops: int, chunks: int) -> Share:
    """An array cut in chunks down ``hops`` links, each chunk a step behind the one before it."""
    steps = hops + chunks - 1
    return Share(steps, steps / chunks, 1.0)


def ring_gather(n: int) -> Share:
    """Each way round a shard a step: ``n - 1`` steps."""
    return even(n - 1, (n - 1) / n)


def both_ways_gather(n: int) -> Share:
    """Half of the ring each way; between two ranks there is but one link."""
    return even(n // 2, (n - 1) / n / (1 if n == 2 else 2))


def ring_exchange(n: int) -> Share:
    """One way round: in step ``t`` a link carries the ``n - t`` messages that have farther to go."""
    return even(n - 1, (n - 1) / 2)


def both_ways_exchange(n: int) -> Share:
    """The short way round, the opposite rank half each way: a quarter of the all-gather of all ranks' arrays."""
    return even(n // 2, 1 / 2 if n == 2 else (n * n - n % 2) / 8 / n)


def line_reduce(n: int) -> Share:
    """What a link carries more of one way in the first half, it carries less of in the second: an array in all."""
    return Share(2 * (n - 1), 2 * (n - 1) / n, 1.0)


def line_exchange(n: int) -> Share:
    """Without the closing link the middle one carries most, but others are busy in other steps."""
    return Share(n - 1, (n - 1) / 2, (n // 2) * (n - n // 2) / n)


def levels(n: int) -> int:
    """Levels of a binomial tree: ``ceil(log2(n))``."""
    return (n - 1).bit_length()


def bits(n: int) -> int:
    """``log2(n)``; ``ValueError`` unless ``n`` is a power of two, as exchanges by bit need."""
    if n & (n - 1):
        raise ValueError(phrase("collective.power_of_two", got=n))
    return n.bit_length() - 1


RULES: Mapping[str, Mapping[str, Rule]] = {
    RING: {
        ALL_REDUCE: lambda n, _: ring_gather(n).twice(),
        ALL_GATHER: lambda n, _: ring_gather(n),
        REDUCE_SCATTER: lambda n, _: ring_gather(n),
        ALL_TO_ALL: lambda n, _: ring_exchange(n),
        BROADCAST: lambda n, chunks: pipelined(n - 1, chunks),
        REDUCE: lambda n, chunks: pipelined(n - 1, chunks),
        PERMUTE: lambda n, _: even(1, 1.0),
    },
    BIDIRECTIONAL: {
        ALL_REDUCE: lambda n, _: both_ways_gather(n).twice(),
        ALL_GATHER: lambda n, _: both_ways_gather(n),
        REDUCE_SCATTER: lambda n, _: both_ways_gather(n),
        ALL_TO_ALL: lambda n, _: both_ways_exchange(n),
        BROADCAST: lambda n, chunks: pipelined(n // 2, chunks),
        REDUCE: lambda n, chunks: pipelined(n // 2, chunks),
        PERMUTE: lambda n, _: even(1, 1.0),
    },
    LINE: {
        ALL_REDUCE: lambda n, _: line_reduce(n),
        ALL_GATHER: lambda n, _: ring_gather(n),
        REDUCE_SCATTER: lambda n, _: ring_gather(n),
        ALL_TO_ALL: lambda n, _: line_exchange(n),
        BROADCAST: lambda n, chunks: pipelined(n - 1, chunks),
        REDUCE: lambda n, chunks: pipelined(n - 1, chunks),
    },
    TREE: {
        # the port of the root that is busiest takes sums in, or sends them out, never both
        ALL_REDUCE: lambda n, _: Share(2 * levels(n), 2.0 * levels(n), float(levels(n))),
        BROADCAST: lambda n, _: even(levels(n), float(levels(n))),
        REDUCE: lambda n, _: even(levels(n), float(levels(n))),
    },
    HALVING: {
        ALL_REDUCE: lambda n, _: even(bits(n), (n - 1) / n).twice(),
        ALL_GATHER: lambda n, _: even(bits(n), (n - 1) / n),
        REDUCE_SCATTER: lambda n, _: even(bits(n), (n - 1) / n),
    },
    DOUBLING: {ALL_REDUCE: lambda n, _: even(bits(n), float(bits(n)))},
    PAIRWISE: {ALL_TO_ALL: lambda n, _: even(n - 1, (n - 1) / n), PERMUTE: lambda n, _: even(1, 1.0)},
}
ALGORITHMS = tuple(RULES)


def share(collective: str, algorithm: str, ranks: int, chunks: int = 1) -> Share:
    """The cost of a checked collective; ``ValueError`` for an algorithm that does not do it, or not with these
    ranks."""
    rules = RULES[algorithm]
    if collective not in rules:
        can = ", ".join(name for name, others in RULES.items() if collective in others)
        raise ValueError(phrase("collective.cannot", algorithm=algorithm, collective=collective, known=can))
    return rules[collective](ranks, chunks)
