"""The cost formulas against the algorithms themselves: chunks that really move, results checked, bytes counted."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_kernels.models.collective_cost import Cost, cost, least_time, link
from tpu_kernels.models.collective_cost import schedule as steps

RANKS = st.integers(2, 11)
POWERS = st.sampled_from([2, 4, 8, 16])
ALPHA, BANDWIDTH, SIZE = 3e-6, 45e9, 7e6
ON = link(alpha=ALPHA, bandwidth=BANDWIDTH)

Gather = Callable[[int], steps.Schedule]
SCATTERS: dict[str, Gather] = {
    "ring": lambda n: steps.reversed_to_reduce(steps.ring_all_gather(n, way=-1)),  # the same way round as the gather
    "bidirectional-ring": lambda n: steps.reversed_to_reduce(steps.bidirectional_ring_all_gather(n)),
    "line": lambda n: steps.reversed_to_reduce(steps.line_all_gather(n)),
}
GATHERS: dict[str, Gather] = {
    "ring": steps.ring_all_gather,
    "bidirectional-ring": steps.bidirectional_ring_all_gather,
    "line": steps.line_all_gather,
}
EXCHANGES: dict[str, Gather] = {
    "ring": steps.ring_all_to_all,
    "bidirectional-ring": steps.bidirectional_ring_all_to_all,
    "line": steps.line_all_to_all,
}


def contribution(rank: int, block: Any) -> int:
    """A number of its own for each rank and block, so that a sum tells what went into it."""
    return hash((rank, block)) % 10_007


def shards(n: int) -> list[tuple[int, int]]:
    return [(rank, half) for rank in range(n) for half in (0, 1)]


def check(found: Cost, schedule: steps.Schedule, blocks: float, *, ports: bool = False) -> None:
    """A formula's steps, busiest link and time, against what the schedule moves of ``blocks`` an array."""
    moved = steps.traffic(schedule, ports=ports)
    assert found.steps == moved.steps
    assert found.link_bytes == pytest.approx(moved.busiest / blocks * SIZE)
    assert found.critical_bytes == pytest.approx(moved.critical / blocks * SIZE)
    assert found.time == pytest.approx(moved.steps * ALPHA + moved.critical / blocks * SIZE / BANDWIDTH)


@pytest.mark.parametrize("algorithm", GATHERS)
@settings(deadline=None)
@given(RANKS)
def test_all_gather_and_its_mirror(algorithm: str, n: int) -> None:
    gather = GATHERS[algorithm](n)
    own = [{block: contribution(rank, block) for block in shards(n) if block[0] == rank} for rank in range(n)]
    everything = {block: value for one in own for block, value in one.items()}
    assert steps.run(gather, own) == [everything] * n
    check(cost("all-gather", algorithm, ranks=n, size=SIZE, on=ON), gather, 2 * n)

    scatter = SCATTERS[algorithm](n)
    full = [{block: contribution(rank, block) for block in shards(n)} for rank in range(n)]
    sums = {block: sum(contribution(rank, block) for rank in range(n)) for block in shards(n)}
    held = steps.run(scatter, full)
    assert all(held[rank][rank, half] == sums[rank, half] for rank in range(n) for half in (0, 1))
    check(cost("reduce-scatter", algorithm, ranks=n, size=SIZE, on=ON), scatter, 2 * n)

    assert steps.run(scatter + gather, full) == [sums] * n
    check(cost("all-reduce", algorithm, ranks=n, size=SIZE, on=ON), scatter + gather, 2 * n)


@settings(deadline=None)
@given(POWERS)
def test_halving_and_doubling(n: int) -> None:
    gather = steps.doubling_all_gather(n)
    own = [{block: block for block in shards(n) if block[0] == rank} for rank in range(n)]
    assert steps.run(gather, own) == [{block: block for block in shards(n)}] * n
    check(cost("all-gather", "halving-doubling", ranks=n, size=SIZE, on=ON), gather, 2 * n, ports=True)

    scatter = steps.reversed_to_reduce(gather)
    full = [{block: contribution(rank, block) for block in shards(n)} for rank in range(n)]
    sums = {block: sum(contribution(rank, block) for rank in range(n)) for block in shards(n)}
    assert steps.run(scatter + gather, full) == [sums] * n
    check(cost("reduce-scatter", "halving-doubling", ranks=n, size=SIZE, on=ON), scatter, 2 * n, ports=True)
    check(cost("all-reduce", "halving-doubling", ranks=n, size=SIZE, on=ON), scatter + gather, 2 * n, ports=True)

    doubling = steps.doubling_all_reduce(n)
    whole = [{0: contribution(rank, 0)} for rank in range(n)]
    assert steps.run(doubling, whole) == [{0: sum(one[0] for one in whole)}] * n
    check(cost("all-reduce", "recursive-doubling", ranks=n, size=SIZE, on=ON), doubling, 1, ports=True)


@settings(deadline=None)
@given(RANKS)
def test_a_binomial_tree(n: int) -> None:
    down = steps.tree_broadcast(n)
    assert steps.run(down, [{0: 42}, *({} for _ in range(n - 1))]) == [{0: 42}] * n
    check(cost("broadcast", "tree", ranks=n, size=SIZE, on=ON), down, 1, ports=True)

    up = steps.reversed_to_reduce(down)
    whole = [{0: contribution(rank, 0)} for rank in range(n)]
    total = sum(one[0] for one in whole)
    assert steps.run(up, whole)[0] == {0: total}
    check(cost("reduce", "tree", ranks=n, size=SIZE, on=ON), up, 1, ports=True)

    assert steps.run(up + down, whole) == [{0: total}] * n
    check(cost("all-reduce", "tree", ranks=n, size=SIZE, on=ON), up + down, 1, ports=True)


@settings(deadline=None)
@given(RANKS, st.integers(1, 6))
def test_a_chain_in_chunks(n: int, chunks: int) -> None:
    down = steps.chain_broadcast(range(n), chunks)
    array = dict(enumerate(range(100, 100 + chunks)))
    assert steps.run(down, [array, *({} for _ in range(n - 1))]) == [array] * n
    check(cost("broadcast", "ring", ranks=n, size=SIZE, on=ON, chunks=chunks), down, chunks)
    check(cost("broadcast", "line", ranks=n, size=SIZE, on=ON, chunks=chunks), down, chunks)
    check(cost("reduce", "ring", ranks=n, size=SIZE, on=ON, chunks=chunks), steps.reversed_to_reduce(down), chunks)


@settings(deadline=None)
@given(st.integers(3, 11), st.integers(1, 4))
def test_a_broadcast_both_ways_round(n: int, chunks: int) -> None:
    right = steps.chain_broadcast(range(n // 2 + 1), chunks)
    left = steps.chain_broadcast([0, *range(n - 1, n // 2, -1)], chunks)
    both = [step + other for step, other in zip(right, [*left, *([] for _ in right[len(left) :])], strict=True)]
    array = dict(enumerate(range(chunks)))
    assert steps.run(both, [array, *({} for _ in range(n - 1))]) == [array] * n
    check(cost("broadcast", "bidirectional-ring", ranks=n, size=SIZE, on=ON, chunks=chunks), both, chunks)


@pytest.mark.parametrize("algorithm", [*EXCHANGES, "pairwise"])
@settings(deadline=None)
@given(RANKS)
def test_all_to_all(algorithm: str, n: int) -> None:
    schedule = (EXCHANGES | {"pairwise": steps.pairwise_all_to_all})[algorithm](n)
    own = [{(rank, to, half): (rank, to, half) for to in range(n) for half in (0, 1)} for rank in range(n)]
    held = steps.run(schedule, own)
    assert all((source, rank, half) in held[rank] for rank in range(n) for source in range(n) for half in (0, 1))
    found = cost("all-to-all", algorithm, ranks=n, size=SIZE, on=ON)
    check(found, schedule, 2 * n, ports=algorithm == "pairwise")


@settings(deadline=None)
@given(RANKS)
def test_a_permute(n: int) -> None:
    schedule = steps.shift(n)
    held = steps.run(schedule, [{rank: rank} for rank in range(n)])
    assert all((rank - 1) % n in held[rank] for rank in range(n))
    check(cost("permute", "ring", ranks=n, size=SIZE, on=ON), schedule, 1)


# PERFORMANCE.md of the NCCL tests (2026-07-09): the least that point-to-point sends can take.
@settings(deadline=None)
@given(st.integers(3, 64), st.sampled_from(["all-reduce", "all-gather", "reduce-scatter"]))
def test_a_ring_carries_the_lower_bound_and_both_ways_half_of_it(n: int, collective: str) -> None:
    bound = least_time(collective, n, SIZE, BANDWIDTH) * BANDWIDTH
    assert cost(collective, "ring", ranks=n, size=SIZE, on=ON).link_bytes == pytest.approx(bound)
    assert cost(collective, "bidirectional-ring", ranks=n, size=SIZE, on=ON).link_bytes == pytest.approx(bound / 2)


# Scaling book, sharding.md (2025-02-18): on a ring both ways an all-to-all takes a quarter of the all-gather of the
# same global array, of which each rank here holds 1/n.
@pytest.mark.parametrize("n", [4, 8, 16])
def test_an_all_to_all_costs_a_quarter_of_an_all_gather(n: int) -> None:
    free = link(alpha=0, bandwidth=BANDWIDTH)
    exchange = cost("all-to-all", "bidirectional-ring", ranks=n, size=SIZE / n, on=free)
    gather = cost("all-gather", "bidirectional-ring", ranks=n, size=SIZE, on=free)
    assert exchange.time / gather.time == pytest.approx(1 / 4 * n / (n - 1))  # the book drops the (n - 1) / n


def test_a_schedule_that_sends_what_it_does_not_have_is_refused() -> None:
    with pytest.raises(ValueError, match="Paso 0: el rango 1 envía el bloque 'x'"):
        steps.run([[steps.Send(1, 0, ("x",))]], [{"x": 1}, {}])


@pytest.mark.parametrize("make", [steps.ring_all_gather, steps.tree_broadcast, steps.line_all_to_all, steps.shift])
@pytest.mark.parametrize("n", [1, 0, -2, 2.5, True])
def test_a_schedule_needs_two_ranks(make: Any, n: Any) -> None:
    with pytest.raises(ValueError, match="ranks"):
        make(n)


@pytest.mark.parametrize("make", [steps.doubling_all_gather, steps.doubling_all_reduce])
def test_exchanges_by_bit_need_a_power_of_two(make: Any) -> None:
    with pytest.raises(ValueError, match="potencia de dos y se recibieron 6"):
        make(6)


def test_a_wrong_schedule_gives_a_wrong_result() -> None:
    """The simulation can tell: one send less and the sums are off, one block more and the bytes are."""
    n = 4
    gather = steps.ring_all_gather(n)
    full = [dict.fromkeys(shards(n), 1) for _ in range(n)]
    scatter = steps.reversed_to_reduce(gather)
    broken = [scatter[0][:-1], *scatter[1:]]
    assert steps.run(scatter + gather, full) != steps.run(broken + gather, full)
    longer = [[*gather[0], steps.Send(0, 1, gather[0][0].blocks)], *gather[1:]]
    assert steps.traffic(longer).critical == steps.traffic(gather).critical + 2
