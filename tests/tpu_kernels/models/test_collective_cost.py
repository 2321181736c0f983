"""Costs of single algorithms: properties, the definitions of the NCCL tests, and what is refused."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_kernels import messages
from tpu_kernels.models.collective_cost import (
    ALGORITHMS,
    COLLECTIVES,
    Cost,
    algbw,
    busbw,
    busbw_factor,
    comparison,
    cost,
    least_time,
    link,
    ring_latency,
    tree_latency,
)
from tpu_kernels.models.network import measurements, number, numbers
from tpu_kernels.models.quantity import Quantity

POSITIVE = st.floats(1e-3, 1e15)
PAIRS = [
    (collective, algorithm)
    for algorithm in ALGORITHMS
    for collective in COLLECTIVES
    if algorithm
    in {
        "all-reduce": ("ring", "bidirectional-ring", "line", "tree", "halving-doubling", "recursive-doubling"),
        "all-gather": ("ring", "bidirectional-ring", "line", "halving-doubling"),
        "reduce-scatter": ("ring", "bidirectional-ring", "line", "halving-doubling"),
        "all-to-all": ("ring", "bidirectional-ring", "line", "pairwise"),
        "broadcast": ("ring", "bidirectional-ring", "line", "tree"),
        "reduce": ("ring", "bidirectional-ring", "line", "tree"),
        "permute": ("ring", "bidirectional-ring", "pairwise"),
    }[collective]
]


# PERFORMANCE.md of the NCCL tests, summary (2026-07-09).
@pytest.mark.parametrize(
    ("collective", "factor"),
    [
        ("all-reduce", 2 * 15 / 16),
        ("reduce-scatter", 15 / 16),
        ("all-gather", 15 / 16),
        ("all-to-all", 15 / 16),
        ("broadcast", 1),
        ("reduce", 1),
        ("permute", 1),
    ],
)
def test_bus_bandwidth_is_that_of_the_nccl_tests(collective: str, factor: float) -> None:
    assert busbw_factor(collective, 16) == factor
    assert algbw(2**30, 0.01) == pytest.approx(2**30 / 0.01)
    assert busbw(collective, 16, 2**30, 0.01) == pytest.approx(factor * 2**30 / 0.01)


@settings(deadline=None)
@given(st.sampled_from(COLLECTIVES), st.integers(2, 10_000), POSITIVE, POSITIVE)
def test_what_takes_the_least_time_has_the_bus_bandwidth_of_the_link(
    collective: str, ranks: int, size: float, bandwidth: float
) -> None:
    time = least_time(collective, ranks, size, bandwidth)
    assert busbw(collective, ranks, size, time) == pytest.approx(bandwidth)


@settings(deadline=None)
@given(st.sampled_from(PAIRS), st.sampled_from([2, 4, 8, 32]), POSITIVE, POSITIVE, st.floats(0, 1), st.floats(1, 100))
def test_more_bandwidth_is_never_slower_and_more_of_anything_never_faster(
    pair: tuple[str, str], ranks: int, size: float, bandwidth: float, alpha: float, more: float
) -> None:
    def time(**change: float) -> float:
        given = {"size": size, "bandwidth": bandwidth, "alpha": alpha} | change
        on = link(alpha=given["alpha"], bandwidth=given["bandwidth"])
        return float(cost(*pair, ranks=ranks, size=given["size"], on=on).time)

    assert time(bandwidth=bandwidth * more) <= time() * (1 + 1e-12)
    assert time(size=size * more) >= time() * (1 - 1e-12)
    assert time(alpha=alpha * more) >= time() * (1 - 1e-12)


@settings(deadline=None)
@given(st.sampled_from(PAIRS), st.sampled_from([4, 8, 32]), POSITIVE, POSITIVE)
def test_nothing_beats_the_least_time_of_its_links(
    pair: tuple[str, str], ranks: int, size: float, bandwidth: float
) -> None:
    found = cost(*pair, ranks=ranks, size=size, on=link(alpha=0, bandwidth=bandwidth))
    ways = 2 if pair[1] in ("bidirectional-ring", "line") else 1
    assert found.time >= least_time(pair[0], ranks, size, ways * bandwidth) * (1 - 1e-12)


def test_small_messages_want_few_steps_and_large_ones_few_bytes() -> None:
    on = link(alpha=10e-6, bandwidth=25e9)

    def best(size: float) -> str:
        found = [
            cost("all-reduce", name, ranks=64, size=size, on=on) for name in ("ring", "tree", "recursive-doubling")
        ]
        return min(found, key=lambda one: one.time).algorithm

    assert best(1e3) == "recursive-doubling"
    assert best(1e9) == "ring"


def test_chunks_turn_a_slow_broadcast_into_a_fast_one() -> None:
    on = link(alpha=1e-6, bandwidth=45e9)
    whole, cut = (cost("broadcast", "ring", ranks=16, size=2**30, on=on, chunks=chunks) for chunks in (1, 256))
    assert whole.time == pytest.approx(15 * (1e-6 + 2**30 / 45e9))
    assert cut.time < whole.time / 10
    assert cut.link_bytes == whole.link_bytes == 2**30


def test_a_link_knows_the_message_that_reaches_half_of_its_bandwidth() -> None:
    # scaling book: v5e below 4.5e10 * 1e-6 = 45 kB is latency bound
    on = link(alpha=number("ici.hop"), bandwidth=number("ici.link.oneway.v5e"))
    assert on.half_size == pytest.approx(number("ici.latbound.v5e"))
    assert on.half_size / on.time(on.half_size) == pytest.approx(on.bandwidth / 2)
    assert link(alpha=0, bandwidth=Quantity(400e9, "bit/s")).bandwidth == 50e9


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"collective": "all-broadcast"}, "'all-broadcast'"),
        ({"algorithm": "star"}, "'star'"),
        ({"ranks": 1}, "ranks.*1"),
        ({"ranks": 0}, "ranks"),
        ({"ranks": 2.5}, "ranks"),
        ({"ranks": True}, "ranks"),
        ({"size": -1}, "size"),
        ({"size": float("nan")}, "size"),
        ({"size": True}, "size"),
        ({"size": "1 GB"}, "size"),
        ({"chunks": 0}, "chunks"),
        ({"algorithm": "halving-doubling", "ranks": 6}, "potencia de dos y se recibieron 6"),
        ({"collective": "all-gather", "algorithm": "tree"}, "tree no hace all-gather. Lo hacen: ring"),
    ],
)
def test_costs_that_cannot_be_are_refused(wrong: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"collective": "all-reduce", "algorithm": "ring", "ranks": 8, "size": 1e6} | wrong
    given["on"] = link(alpha=0, bandwidth=1)
    with pytest.raises(ValueError, match=message):
        cost(given.pop("collective"), given.pop("algorithm"), **given)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [({"bandwidth": 0}, "bandwidth"), ({"alpha": -1}, "alpha"), ({"bandwidth": Quantity(1, "s")}, "bandwidth")],
)
def test_links_that_cannot_be_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        link(**({"alpha": 0.0, "bandwidth": 1.0} | wrong))


def test_a_comparison_has_the_algorithms_that_can() -> None:
    table = comparison("all-reduce", ranks=6, size=2**30, on=link(alpha=1e-6, bandwidth=45e9))
    assert [row[0].text for row in table.rows] == ["ring", "bidirectional-ring", "line", "tree"]
    assert table.caption == "all-reduce de 1\N{NO-BREAK SPACE}GiB en 6 rangos"
    messages.use("pt")
    table = comparison("broadcast", ranks=8, size=2**20, on=link(alpha=1e-6, bandwidth=45e9), algorithms=["tree"])
    assert table.headings == ("Algoritmo", "Passos", "Bytes por enlace", "Tempo", "Largura de banda de barramento")
    assert [row[1].text for row in table.rows] == ["3"]


def test_a_cost_says_what_it_is_in_the_language_in_force() -> None:
    found = cost("all-reduce", "ring", ranks=8, size=2**30, on=link(alpha=0, bandwidth=45e9))
    assert repr(found).startswith("all-reduce de 1\N{NO-BREAK SPACE}GiB con ring en 8 rangos: 41,8\N{NO-BREAK SPACE}ms")
    messages.use("pt")
    assert "14 passos" in repr(found)
    assert isinstance(found, Cost)


# NVIDIA NCCL src/graph/tuning.cc (2026-06-11): the latency that its tuner adds up for an all-gather of 16 on 2 nodes.
def test_the_latency_of_the_nccl_tuner() -> None:
    for name, protocol in (("ll", "LL"), ("ll128", "LL128"), ("simple", "Simple")):
        found = ring_latency("all-gather", nodes=2, ranks=16, protocol=protocol)
        assert found == pytest.approx(number(f"nccl.pred.ag16.{name}"), abs=5e-8)


def test_the_tuner_suits_rdma_and_misses_the_floor_of_tcpx_13_times() -> None:
    """The smallest measured all-gathers: A3 Ultra (V2) lies between two protocols, A3 Mega (V1) a fifth above the
    slowest, A3 High (V3, over TCPX) far above all of them."""
    ll128, simple = (ring_latency("all-gather", nodes=2, ranks=16, protocol=name) for name in ("LL128", "Simple"))
    floors = {name: min(measurements(name).column("time")) for name in ("V1", "V2", "V3")}
    assert ll128 < floors["V2"] < simple
    assert floors["V1"] / simple == pytest.approx(1.2, abs=0.01)
    assert floors["V3"] / simple == pytest.approx(13.5, abs=0.1)


def test_a_tree_needs_fewer_steps_than_a_ring_between_many_nodes() -> None:
    tree = tree_latency(nodes=64, ranks=512, protocol="LL")
    assert tree == pytest.approx(6.8e-6 + 2 * (7 * 0.6e-6 + 6 * 5e-6))
    assert tree < ring_latency("all-reduce", nodes=64, ranks=512, protocol="LL") / 10
    # one rank a machine: the network latency of the tree, no post between steps of the network
    alone = ring_latency("all-gather", nodes=4, ranks=4, protocol="LL")
    assert alone == pytest.approx(6.6e-6 + 3 * numbers("nccl.hw_lat.net.Tree")[0])
    # three posts a step of 2 us on AMD are longer than a step over NVLink
    posted = ring_latency("all-gather", nodes=2, ranks=16, protocol="Simple", cpu="amd")
    assert posted == pytest.approx(8.4e-6 + 14 * 3 * 2e-6 + 14e-6)
    # inside one machine nothing is posted to the network
    inside = ring_latency("all-reduce", nodes=1, ranks=8, protocol="LL", cpu="amd")
    assert inside == pytest.approx(6.6e-6 + 14 * 0.6e-6)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"ranks": 15}, "15 rangos"),
        ({"protocol": "LL64"}, "LL64"),
        ({"intra": "pcie"}, "pcie"),
        ({"cpu": "arm"}, "arm"),
        ({"collective": "broadcast"}, "broadcast"),
        ({"nodes": 0}, "nodes"),
    ],
)
def test_tuners_that_cannot_be_are_refused(wrong: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"collective": "all-gather", "nodes": 2, "ranks": 16, "protocol": "LL"} | wrong
    with pytest.raises(ValueError, match=message):
        ring_latency(given.pop("collective"), **given)
