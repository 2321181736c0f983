"""Leaf-spine fabrics and rails: against search on the graph, and against what the sources say of real machines."""

from collections import deque
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_kernels import messages
from tpu_kernels.models.network import number
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.models.topology import LeafSpine, Path, cluster, gpu_machine, leaf_spine, rails


def hops(fabric: LeafSpine, start: str) -> dict[str, int]:
    joined: dict[str, list[str]] = {}
    for one, other, _ in fabric.links():
        joined.setdefault(one, []).append(other)
        joined.setdefault(other, []).append(one)
    found, queue = {start: 0}, deque([start])
    while queue:
        here = queue.popleft()
        for there in joined[here]:
            if there not in found:
                found[there] = found[here] + 1
                queue.append(there)
    return found


def narrowest_cut(fabric: LeafSpine) -> float:
    """Every half of the hosts with every placement of the switches, counted."""
    links = list(fabric.links())
    hosts = [f"h{host}" for host in range(fabric.hosts)]
    switches = sorted({end for link in links for end in link[:2]} - set(hosts))
    best = float("inf")
    for chosen in combinations(hosts, len(hosts) // 2):
        for mask in range(2 ** len(switches)):
            side = {*chosen, *(switch for bit, switch in enumerate(switches) if mask >> bit & 1)}
            best = min(best, sum(rate for one, other, rate in links if (one in side) != (other in side)))
    return best


FABRICS = st.builds(
    leaf_spine,
    leaves=st.integers(1, 4),
    hosts_per_leaf=st.integers(1, 2),
    spines=st.integers(1, 2),
    host_rate=st.sampled_from([1.0, 2.0, 3.0]),
    uplink_rate=st.sampled_from([1.0, 2.0, 5.0]),
)


@settings(deadline=None, max_examples=40)
@given(FABRICS)
def test_hops_and_bisection_are_those_of_a_search(fabric: LeafSpine) -> None:
    apart = [hops(fabric, f"h{host}") for host in range(fabric.hosts)]
    assert all(fabric.hops(a, b) == apart[a][f"h{b}"] for a in range(fabric.hosts) for b in range(fabric.hosts))
    assert fabric.diameter == max(apart[a][f"h{b}"] for a in range(fabric.hosts) for b in range(fabric.hosts))
    assert fabric.bisection_bandwidth == pytest.approx(narrowest_cut(fabric))


@settings(deadline=None)
@given(FABRICS)
def test_oversubscription_is_what_the_hosts_lack(fabric: LeafSpine) -> None:
    assert fabric.fair_rate() * max(1.0, fabric.oversubscription) == pytest.approx(fabric.host_rate)
    # with one more spine it never gets worse
    wider = fabric._replace(spines=fabric.spines + 1)
    assert wider.oversubscription < fabric.oversubscription
    assert wider.bisection_bandwidth >= fabric.bisection_bandwidth


def test_a_fabric_with_as_much_up_as_down_does_not_block() -> None:
    fabric = leaf_spine(leaves=8, hosts_per_leaf=16, spines=16, host_rate=400e9)
    assert fabric.oversubscription == 1
    assert fabric.bisection_bandwidth == 64 * 400e9
    cheap = leaf_spine(leaves=8, hosts_per_leaf=16, spines=4, host_rate=400e9)
    assert (cheap.oversubscription, float(cheap.fair_rate())) == (4, 100e9)
    # a quantity in bytes/s means the same as the bits that it is
    same = leaf_spine(leaves=8, hosts_per_leaf=16, spines=16, host_rate=Quantity(50e9, "bytes/s"))
    assert same == fabric


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"leaves": 0}, "leaves"),
        ({"spines": -1}, "spines"),
        ({"hosts_per_leaf": 1.5}, "hosts_per_leaf"),
        ({"host_rate": 0}, "host_rate"),
        ({"uplink_rate": float("nan")}, "uplink_rate"),
        ({"uplink_rate": True}, "uplink_rate"),
        ({"host_rate": Quantity(1, "bytes")}, "host_rate"),
    ],
)
def test_fabrics_that_cannot_be_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        leaf_spine(**({"leaves": 2, "hosts_per_leaf": 2, "spines": 2, "host_rate": 1e9} | wrong))


def test_a_host_outside_the_fabric_is_refused() -> None:
    with pytest.raises(ValueError, match="del 0 al 3"):
        leaf_spine(leaves=2, hosts_per_leaf=2, spines=1, host_rate=1e9).hops(0, 4)


# Rails: NVIDIA's note on PXN (2022-02), arXiv 2307.12169, and the facts of Google's machines.


def test_equal_indices_meet_at_one_switch_and_pxn_makes_indices_equal() -> None:
    of = rails(4, gpus=8, rate=400e9)
    assert of.path(0, 0) == Path(0, 0, 0)
    assert of.path(0, 5) == Path(nvlink_moves=1, network_links=0, switches=0)  # inside a machine
    assert of.path(3, 11) == Path(nvlink_moves=0, network_links=2, switches=1)  # GPU 3 to GPU 3
    assert of.path(3, 12) == Path(nvlink_moves=1, network_links=2, switches=1)  # GPU 3 to GPU 4
    assert of.path(3, 12, pxn=False) == Path(nvlink_moves=0, network_links=4, switches=3)


def test_without_spines_only_pxn_crosses_rails() -> None:
    of = rails(4, gpus=8, rate=400e9, spines=False)
    assert of.path(3, 12).switches == 1
    with pytest.raises(ValueError, match="Del raíl 3 al raíl 4"):
        of.path(3, 12, pxn=False)


def test_the_share_that_crosses_spines_is_that_of_all_pairs() -> None:
    for gpus, wide in ((8, 8), (8, 4), (4, 4), (8, 3)):
        of = rails(3, gpus=gpus, rate=1e9, rails=wide)
        pairs = [(a, b) for a in range(of.ranks) for b in range(of.ranks) if a // gpus != b // gpus]
        crossing = sum(of.path(a, b, pxn=False).network_links == 4 for a, b in pairs)
        assert of.spine_share(pxn=False) == pytest.approx(crossing / len(pairs))
        assert of.spine_share() == 0


def test_the_machines_of_google_have_the_published_rates() -> None:
    mega = cluster("a3-megagpu-8g", 2)
    assert (mega.node_rate, mega.rank_rate) == (1600e9, 200e9)
    high = cluster("A3 High", 2)  # 4 NICs for 8 GPUs: two share a rail
    assert (high.rails, high.rank_rate) == (4, 100e9)
    assert [high.rail(rank) for rank in range(8)] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert gpu_machine("A4").gpu_rate == number("gpu.a3ultra_a4.gpu_bw")
    assert mega.bisection_bandwidth == mega.node_rate


@pytest.mark.parametrize(
    ("wrong", "message"),
    [({"rails": 9}, "9 raíles"), ({"gpus": 0}, "gpus"), ({"rate": -1}, "rate"), ({"rails": 0}, "rails")],
)
def test_rails_that_cannot_be_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rails(2, **({"gpus": 8, "rate": 1e9} | wrong))
    with pytest.raises(ValueError, match="a3-megagpu-8g"):
        gpu_machine("a5")
    with pytest.raises(ValueError, match="del 0 al 15"):
        rails(2, gpus=8, rate=1e9).path(0, 16)


def test_fabrics_say_what_they_are_in_the_language_in_force() -> None:
    assert "sobresuscripción 4:1" in repr(leaf_spine(leaves=8, hosts_per_leaf=16, spines=4, host_rate=400e9))
    messages.use("pt")
    assert repr(cluster("A4", 2)) == "2 máquinas de 8 GPUs, alinhadas por 8 trilhos de 400\N{NO-BREAK SPACE}Gbit/s"
