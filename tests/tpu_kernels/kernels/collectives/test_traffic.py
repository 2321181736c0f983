"""What kernels count on each link is what the models say must go over it."""

from collections import Counter
from collections.abc import Mapping
from math import prod
from typing import Any

import jax
import numpy as np
import pytest

from tests.tpu_kernels.kernels.collectives import oracle
from tpu_kernels.kernels.collectives import bytes_sent
from tpu_kernels.models.collective_cost import AlphaBeta, schedule, torus_cost
from tpu_kernels.models.topology.torus import Torus

TILE = 4096  # bytes: no shard of a whole even number of them is padded
Links = Counter[tuple[int, int]]


def counted(
    collective: str, sizes: Mapping[str, int], shape: tuple[int, ...], dtype: str = "float32", **how: Any
) -> Links:
    """Bytes from each device to each of its neighbours."""
    run = oracle.program(lambda x: bytes_sent(collective, x, tuple(sizes), **how), sizes)
    devices = prod(sizes.values())
    sent = run(np.zeros((devices, *shape), dtype))
    numbers = np.arange(devices).reshape(tuple(sizes.values()))
    found = Links()
    for (axis, way), counts in sent.items():
        there = np.roll(numbers, -way, axis=list(sizes).index(axis)).reshape(-1)
        for source in range(devices):
            found[source, int(there[source])] += int(counts[source, 0])
    return +found


def scheduled(steps: schedule.Schedule, block: int) -> Links:
    """The same of a schedule whose blocks are of so many bytes."""
    found = Links()
    for step in steps:
        for send in step:
            found[send.source, send.target] += block * len(send.blocks)
    return +found


RING = {"ring": schedule.ring_all_gather, "bidirectional": schedule.bidirectional_ring_all_gather}
EXCHANGE = {"ring": schedule.ring_all_to_all, "bidirectional": schedule.bidirectional_ring_all_to_all}


@pytest.mark.parametrize(("impl", "n"), [("ring", 4), ("bidirectional", 2), ("bidirectional", 4), ("bidirectional", 5)])
def test_an_all_gather_and_its_reverse_send_what_the_model_says(impl: str, n: int) -> None:
    shard, half = 2 * TILE // 4, TILE
    steps = RING[impl](n)
    gathered = counted("all_gather", {"x": n}, (shard,), impl=impl)
    assert gathered == scheduled(steps, half)
    assert max(gathered.values()) == half * schedule.traffic(steps).busiest
    backwards = schedule.ring_all_gather(n, -1) if impl == "ring" else steps  # whose sums then go the kernel's way
    assert counted("reduce_scatter", {"x": n}, (n * shard,), impl=impl) == scheduled(
        schedule.reversed_to_reduce(backwards), half
    )


def test_an_all_reduce_sends_both_one_after_the_other() -> None:
    shard, steps = 2 * TILE // 4, schedule.bidirectional_ring_all_gather(4)
    both = scheduled(steps, TILE) + scheduled(schedule.reversed_to_reduce(steps), TILE)
    assert counted("all_reduce", {"x": 4}, (4 * shard,), impl="bidirectional") == both


@pytest.mark.parametrize(("impl", "n"), [("ring", 4), ("bidirectional", 4), ("bidirectional", 5)])
def test_an_all_to_all_sends_what_the_model_says(impl: str, n: int) -> None:
    steps = EXCHANGE[impl](n)
    got = counted("all_to_all", {"x": n}, (n * 2 * TILE // 4,), impl=impl)
    assert got == scheduled(steps, TILE)
    assert max(got.values()) == TILE * schedule.traffic(steps).busiest


def test_a_broadcast_sends_every_chunk_once_down_each_chain() -> None:
    size = 4 * 64 * 2**10  # bytes: four chunks
    chunk, chain = size // 4, schedule.chain_broadcast
    got = counted("broadcast", {"x": 4}, (size // 4,), root=3, impl="ring")
    assert got == scheduled(chain([3, 0, 1, 2], 4), chunk)
    assert max(got.values()) == chunk * schedule.traffic(chain([3, 0, 1, 2], 4)).busiest
    got = counted("broadcast", {"x": 5}, (size // 4,), root=1, impl="bidirectional")
    assert got == scheduled(chain([1, 2, 3], 4), chunk) + scheduled(chain([1, 0, 4], 4), chunk)


def test_a_shift_sends_one_array_over_each_link() -> None:
    shifted = [(i, (i + 1) % 4) for i in range(4)]
    assert counted("permute", {"x": 4}, (2 * TILE // 4,), pairs=shifted) == scheduled(schedule.shift(4), 2 * TILE)
    back = counted("permute", {"x": 2, "y": 2}, (2 * TILE // 4,), pairs=[(0, 2), (3, 3)], impl="torus")
    assert back == {(0, 2): 2 * TILE}


@pytest.mark.parametrize(
    ("collective", "name", "whole"),
    [("all_gather", "all-gather", 4), ("reduce_scatter", "reduce-scatter", 1), ("all_to_all", "all-to-all", 1)],
)
def test_on_a_square_torus_every_link_carries_the_lower_bound(collective: str, name: str, whole: int) -> None:
    """``whole``: how many times what a device gives is the array that the model means."""
    sizes = {"x": 2, "y": 2}
    given = (1 if collective == "all_gather" else 4) * 4 * TILE
    got = counted(collective, sizes, (given // 4,), impl="torus")
    of = torus_cost(name, Torus((2, 2), (True, True)), size=given * whole, on=AlphaBeta(1e-6, 1e9))
    assert set(got.values()) == {of.link_bytes}
    assert len(got) == 4 * 2


def test_what_fills_a_tile_up_is_counted() -> None:
    """One number a device: two tiles of it, and no more for all that fit into them."""
    for numbers in (1, 2 * TILE // 4):
        assert set(counted("all_gather", {"x": 3}, (numbers,), impl="ring").values()) == {2 * 2 * TILE}
    assert set(counted("all_gather", {"x": 3}, (2 * TILE // 2 + 1,), "bfloat16").values()) == {2 * 4 * TILE}


def test_nothing_is_counted_where_nothing_travels() -> None:
    run = oracle.program(lambda x: bytes_sent("all_gather", x, "x"), {"x": 1})
    assert run(np.zeros((1, 4), np.float32)) == {}


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"collective": "gather"}, r"No hay una colectiva 'gather'; las que hay: all_gather, .*permute"),
        ({"impl": "xla"}, r'impl="xla" no se cuentan; se cuentan los de ring, bidirectional, torus'),
        ({"collective": "permute", "pairs": [(0, 2)]}, "Ningún enlace va del dispositivo 0 al 2"),
    ],
)
def test_what_is_not_counted_is_refused(how: dict[str, Any], said: str) -> None:
    given = {"collective": "all_gather", **how}
    with pytest.raises(ValueError, match=said):
        oracle.program(lambda x: bytes_sent(given.pop("collective"), x, "x", **given), {"x": 4})(np.zeros((4, 4), "f4"))


def test_more_bytes_than_the_counters_hold_are_refused() -> None:
    run = oracle.program(lambda x: bytes_sent("all_gather", x, "x"), {"x": 4})
    with pytest.raises(ValueError, match="podría enviar 2147483648 bytes, y solo se pueden contar menos de 2147483648"):
        run.lower(jax.ShapeDtypeStruct((4, 2**27), np.float32))
