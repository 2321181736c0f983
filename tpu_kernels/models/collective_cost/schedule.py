"""Collectives step by step: who sends which blocks to whom. ``run`` carries a schedule out on values, ``traffic``
counts it.

Ranks are 0 to ``n - 1``, and ``ValueError`` says so when ``n`` is under two or not a power of two where that is
needed. A block is a key; what a rank holds is a mapping from blocks to values. All sends of a step
happen at once and read what was held before it. The costs of :mod:`collective_cost` are formulas of their own: the
tests hold them against these schedules.
"""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from tpu_kernels.models.collective_cost.bus_bandwidth import checked_ranks
from tpu_kernels.models.collective_cost.rules import bits
from tpu_kernels.phrases import phrase

Block: TypeAlias = Hashable


class Send(NamedTuple):
    """``blocks`` from ``source`` to ``target``, which stores them, or adds them to its own when ``reduces``."""

    source: int
    target: int
    blocks: tuple[Block, ...]
    reduces: bool = False


Schedule: TypeAlias = list[list[Send]]


class Traffic(NamedTuple):
    """What a schedule moves, in blocks: ``steps``; ``critical``, the busiest link of each step added up; ``busiest``,
    all that the busiest link carries."""

    steps: int
    critical: int
    busiest: int


def reversed_to_reduce(schedule: Schedule) -> Schedule:
    """The same sends backwards, adding instead of storing: an all-gather becomes a reduce-scatter, a broadcast a
    reduce.

    Every block of such a schedule reaches each rank once, so its sends form a tree that sums flow back along.
    """
    return [[Send(send.target, send.source, send.blocks, True) for send in step] for step in reversed(schedule)]


def ring_all_gather(n: int, way: int = 1) -> Schedule:
    """Blocks ``(rank, half)`` one way round a ring: in step ``t`` a rank passes on what it got in step ``t - 1``.

    ``way``: 1 to the next rank, -1 to the one before. Backwards the first makes a reduce-scatter that goes the other
    way.
    """
    n = checked_ranks(n)
    return [[Send(i, (i + way) % n, _shard((i - way * t) % n)) for i in range(n)] for t in range(n - 1)]


def bidirectional_ring_all_gather(n: int) -> Schedule:
    """Blocks ``(rank, half)`` both ways round: ``n // 2`` steps; with ``n`` even the last one takes half a shard each
    way."""
    n = checked_ranks(n)
    steps = []
    for t in range(n // 2):
        halves = (0, 1) if n % 2 == 0 and t == n // 2 - 1 else (None, None)
        right = [Send(i, (i + 1) % n, _shard((i - t) % n, halves[0])) for i in range(n)]
        left = [Send(i, (i - 1) % n, _shard((i + t) % n, halves[1])) for i in range(n)]
        steps.append(right + left)
    return steps


def line_all_gather(n: int) -> Schedule:
    """Blocks ``(rank, half)`` along a row that does not close: both ways, until the ends have heard of each other."""
    n = checked_ranks(n)
    steps = []
    for t in range(n - 1):
        right = [Send(i, i + 1, _shard(i - t)) for i in range(t, n - 1)]
        left = [Send(i, i - 1, _shard(i + t)) for i in range(1, n - t)]
        steps.append(right + left)
    return steps


def doubling_all_gather(n: int) -> Schedule:
    """Blocks ``(rank, half)`` swapped with the rank that differs in bit ``t``; ``n`` is a power of two."""
    n = checked_ranks(n)
    held = [[i] for i in range(n)]
    steps = []
    for t in range(bits(n)):
        steps.append([Send(i, i ^ (1 << t), tuple(b for r in held[i] for b in _shard(r))) for i in range(n)])
        held = [held[i] + held[i ^ (1 << t)] for i in range(n)]
    return steps


def doubling_all_reduce(n: int) -> Schedule:
    """Block 0, whole, exchanged and added with the rank that differs in bit ``t``; ``n`` is a power of two."""
    n = checked_ranks(n)
    return [[Send(i, i ^ (1 << t), (0,), True) for i in range(n)] for t in range(bits(n))]


def tree_broadcast(n: int) -> Schedule:
    """Block 0 from rank 0 down a binomial tree: in each step every rank that has it sends it to one that has not."""
    n = checked_ranks(n)
    steps, have = [], 1
    while have < n:
        steps.append([Send(i, i + have, (0,)) for i in range(min(have, n - have))])
        have *= 2
    return steps


def chain_broadcast(path: Sequence[int], chunks: int = 1) -> Schedule:
    """Blocks 0 to ``chunks - 1`` down a chain of ranks, each chunk one step behind the one before it."""
    hops = len(path) - 1
    return [
        [Send(path[hop], path[hop + 1], (t - hop,)) for hop in range(hops) if 0 <= t - hop < chunks]
        for t in range(hops + chunks - 1 if hops else 0)
    ]


def ring_all_to_all(n: int) -> Schedule:
    """Blocks ``(source, target, half)`` one way round a ring, each until it arrives."""
    n = checked_ranks(n)
    return [
        [Send(i, (i + 1) % n, tuple(b for d in range(t, n) for b in _message(i - t + 1, d, n))) for i in range(n)]
        for t in range(1, n)
    ]


def bidirectional_ring_all_to_all(n: int) -> Schedule:
    """Blocks ``(source, target, half)`` the short way round; what is exactly opposite goes half each way."""
    n = checked_ranks(n)
    steps = []
    for t in range(1, n // 2 + 1):
        step = []
        for way in (1, -1):
            for i in range(n):
                blocks: list[Block] = []
                for d in range(t, n // 2 + 1):
                    opposite = 2 * d == n
                    blocks += _message(i - way * (t - 1), way * d, n, (way < 0) if opposite else None)
                step.append(Send(i, (i + way) % n, tuple(blocks)))
        steps.append(step)
    return steps


def line_all_to_all(n: int) -> Schedule:
    """Blocks ``(source, target, half)`` along a row that does not close, each until it arrives."""
    n = checked_ranks(n)
    steps = []
    for t in range(1, n):
        step = []
        for i in range(n - 1):
            if i - t + 1 >= 0:
                step.append(Send(i, i + 1, tuple(b for j in range(i + 1, n) for b in _pair(i - t + 1, j))))
            if i + t < n:
                step.append(Send(i + 1, i, tuple(b for j in range(i + 1) for b in _pair(i + t, j))))
        steps.append(step)
    return steps


def pairwise_all_to_all(n: int) -> Schedule:
    """Blocks ``(source, target, half)`` straight to their target, one peer a step; for a network of switches."""
    n = checked_ranks(n)
    return [[Send(i, (i + t) % n, tuple(_pair(i, (i + t) % n))) for i in range(n)] for t in range(1, n)]


def shift(n: int) -> Schedule:
    """A permute: block ``i`` from each rank to the next one round the ring."""
    n = checked_ranks(n)
    return [[Send(i, (i + 1) % n, (i,)) for i in range(n)]]


def run(schedule: Schedule, held: Sequence[Mapping[Block, Any]]) -> list[dict[Block, Any]]:
    """What each rank holds afterwards: values of any kind that can be added.

    Raises ``ValueError`` when a rank sends a block that it does not have.
    """
    state = [dict(one) for one in held]
    for number, step in enumerate(schedule):
        before = [dict(one) for one in state]
        for send in step:
            for block in send.blocks:
                if block not in before[send.source]:
                    raise ValueError(phrase("collective.not_held", step=number, rank=send.source, block=repr(block)))
                value = before[send.source][block]
                mine = state[send.target]
                mine[block] = mine[block] + value if send.reduces and block in mine else value
    return state


def traffic(schedule: Schedule, *, ports: bool = False) -> Traffic:
    """Steps and blocks on the busiest link: each ordered pair of ranks is a link. With ``ports`` a rank has one link
    out and one in, to a switch."""
    critical, total = 0, Counter[Hashable]()
    for step in schedule:
        load = Counter[Hashable]()
        for send in step:
            for link in ((send.source, "out"), (send.target, "in")) if ports else ((send.source, send.target),):
                load[link] += len(send.blocks)
        critical += max(load.values(), default=0)
        total.update(load)
    return Traffic(len(schedule), critical, max(total.values(), default=0))


def _shard(rank: int, half: int | None = None) -> tuple[Block, ...]:
    return tuple((rank, one) for one in ((0, 1) if half is None else (half,)))


def _pair(source: int, target: int) -> list[Block]:
    return [(source, target, 0), (source, target, 1)]


def _message(source: int, distance: int, n: int, half: int | None = None) -> list[Block]:
    both = _pair(source % n, (source + distance) % n)
    return both if half is None else [both[int(half)]]
