"""Switched fabrics: leaf-spine (a folded Clos of two tiers), its oversubscription, hops and bisection.

Hops count links: host, leaf, host is 2; host, leaf, spine, leaf, host is 4. Bandwidths are one way.
"""

from collections.abc import Iterator
from typing import NamedTuple

from tpu_kernels.models.matrix import whole
from tpu_kernels.models.network.link_rates import bits_per_second
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.phrases import phrase


class LeafSpine(NamedTuple):
    """``leaves`` switches with ``hosts_per_leaf`` ports down at ``host_rate``, and one uplink of ``uplink_rate`` to
    each of ``spines`` switches. Rates in bit/s, one way. Make it with :func:`leaf_spine`."""

    leaves: int
    hosts_per_leaf: int
    spines: int
    host_rate: Quantity
    uplink_rate: Quantity

    def __repr__(self) -> str:
        return phrase(
            "topology.leaf_spine",
            leaves=self.leaves,
            spines=self.spines,
            hosts=self.hosts,
            ratio=Quantity(self.oversubscription, "count").format(),
        )

    @property
    def hosts(self) -> int:
        """Ports for hosts in all."""
        return self.leaves * self.hosts_per_leaf

    @property
    def oversubscription(self) -> float:
        """What the hosts of a leaf can send over what its uplinks carry: 1 or less is non-blocking."""
        return self.hosts_per_leaf * self.host_rate / (self.spines * self.uplink_rate)

    def leaf(self, host: int) -> int:
        """The leaf of a host: they are numbered leaf by leaf. ``ValueError`` outside."""
        if isinstance(host, bool) or not isinstance(host, int) or not 0 <= host < self.hosts:
            raise ValueError(phrase("topology.no_host_port", got=repr(host), last=self.hosts - 1))
        return host // self.hosts_per_leaf

    def hops(self, start: int, end: int) -> int:
        """Links on a shortest path between two hosts: 0, 2 under one leaf, 4 through a spine."""
        here, there = self.leaf(start), self.leaf(end)
        if start == end:
            return 0
        return 2 if here == there else 4

    @property
    def diameter(self) -> int:
        """Links between the two hosts farthest apart."""
        return self.hops(0, self.hosts - 1)

    @property
    def bisection_bandwidth(self) -> Quantity:
        """What crosses the narrowest cut into two halves of the hosts (they differ by one when odd), bit/s one way.

        With ``a`` leaves on the smaller side, as many hosts as fit go with them; each host on the other side of its
        leaf is cut at its port, and each spine at the uplinks of those leaves. The cheapest ``a`` counts.
        """
        half = self.hosts // 2
        uplinks = self.spines * self.uplink_rate
        cuts = (abs(a * self.hosts_per_leaf - half) * self.host_rate + a * uplinks for a in range(self.leaves // 2 + 1))
        return Quantity(min(cuts), "bit/s")

    def fair_rate(self) -> Quantity:
        """What each host gets, bit/s, when all of them send through the spines at once."""
        return Quantity(min(self.host_rate, self.host_rate / self.oversubscription), "bit/s")

    def links(self) -> Iterator[tuple[str, str, float]]:
        """Every link with its capacity in bit/s one way; hosts are ``h0``, leaves ``l0`` and spines ``s0``."""
        for host in range(self.hosts):
            yield f"h{host}", f"l{self.leaf(host)}", float(self.host_rate)
        for leaf in range(self.leaves):
            for spine in range(self.spines):
                yield f"l{leaf}", f"s{spine}", float(self.uplink_rate)


def leaf_spine(
    *, leaves: int, hosts_per_leaf: int, spines: int, host_rate: float, uplink_rate: float | None = None
) -> LeafSpine:
    """A leaf-spine fabric; ``uplink_rate`` is that of the hosts when not given. Rates in bit/s one way.

    ``ValueError`` for counts below one and rates that are not positive.
    """
    host = bits_per_second("host_rate", host_rate)
    uplink = host if uplink_rate is None else bits_per_second("uplink_rate", uplink_rate)
    return LeafSpine(
        whole("leaves", leaves),
        whole("hosts_per_leaf", hosts_per_leaf),
        whole("spines", spines),
        Quantity(host, "bit/s"),
        Quantity(uplink, "bit/s"),
    )
