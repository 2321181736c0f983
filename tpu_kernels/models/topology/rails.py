"""Rails: NIC ``i`` of every machine goes to leaf switch ``i``, so traffic between equal indices crosses one switch.

A GPU reaches a peer of another index in two moves: over NVLink to the local GPU of that index, then along its rail.
NCCL calls it PXN
(https://developer.nvidia.com/blog/doubling-all2all-performance-with-nvidia-collective-communication-library-2-12/,
2022-02). Without spines the same wiring is the *rail-only* network (arXiv 2307.12169).
"""

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from tpu_kernels.models.matrix import whole
from tpu_kernels.models.network.facts import document, number
from tpu_kernels.models.network.link_rates import bits_per_second
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.phrases import phrase


class GpuMachine(NamedTuple):
    """A GPU machine type: ``nics`` for GPU traffic at ``nic_rate`` each (bit/s), ``total_rate`` of the whole machine
    with its other NICs (bit/s), ``nvlink_bandwidth`` of one GPU both ways (bytes/s) and the ``mtu`` of its GPU
    network."""

    type: str
    name: str
    gpus: int
    nics: int
    nic_rate: Quantity
    total_rate: Quantity
    nvlink_bandwidth: Quantity
    mtu: Quantity

    @property
    def gpu_rate(self) -> Quantity:
        """What all GPU NICs carry together, bit/s one way."""
        return Quantity(self.nics * self.nic_rate, "bit/s")


@cache
def gpu_machines() -> Mapping[str, GpuMachine]:
    """Every GPU machine type of the facts, by its name in Google Cloud."""
    return {key: _machine(key, entry) for key, entry in document()["machines"].items()}


def gpu_machine(name: str) -> GpuMachine:
    """The machine type with this name, as ``"a3-megagpu-8g"`` or ``"A3 Mega"``; ``ValueError`` when there is none."""
    for machine in gpu_machines().values():
        if name.casefold() in (machine.type.casefold(), machine.name.casefold()):
            return machine
    raise ValueError(phrase("topology.unknown_machine", got=repr(name), known=", ".join(gpu_machines())))


def _machine(key: str, entry: Mapping[str, str]) -> GpuMachine:
    return GpuMachine(
        type=key,
        name=entry["name"],
        gpus=int(entry["gpus"]),
        nics=int(number(entry["nics"])),
        nic_rate=number(entry["nic_rate"]),
        total_rate=number(entry["total"]),
        nvlink_bandwidth=number(entry["nvlink"]),
        mtu=number(entry["mtu"]),
    )


class Path(NamedTuple):
    """How bytes go from one GPU to another: NVLink moves, links of the rail network, and leaf or spine switches."""

    nvlink_moves: int
    network_links: int
    switches: int


class Rails(NamedTuple):
    """``nodes`` machines of ``gpus`` GPUs, each with ``rails`` NICs of ``rate`` bit/s; GPU ``i`` uses the NIC of rail
    ``i * rails // gpus``. ``spines``: the leaves of the rails are joined. Make it with :func:`rails`."""

    nodes: int
    gpus: int
    rails: int
    rate: Quantity
    spines: bool = True

    def __repr__(self) -> str:
        return phrase("topology.rails", nodes=self.nodes, gpus=self.gpus, rails=self.rails, rate=self.rate)

    @property
    def ranks(self) -> int:
        """GPUs in all; rank ``r`` is GPU ``r % gpus`` of node ``r // gpus``."""
        return self.nodes * self.gpus

    def rail(self, rank: int) -> int:
        """The rail of a rank. ``ValueError`` outside."""
        if isinstance(rank, bool) or not isinstance(rank, int) or not 0 <= rank < self.ranks:
            raise ValueError(phrase("topology.no_rank", got=repr(rank), last=self.ranks - 1))
        return rank % self.gpus * self.rails // self.gpus

    def path(self, start: int, end: int, *, pxn: bool = True) -> Path:
        """The way from one rank to another: with ``pxn`` over NVLink to the right rail first, without it over a spine.

        ``ValueError`` for ranks outside, and for a crossing that needs spines when there are none.
        """
        here, there = self.rail(start), self.rail(end)
        if start == end:
            return Path(0, 0, 0)
        if start // self.gpus == end // self.gpus:
            return Path(1, 0, 0)
        if here == there:
            return Path(0, 2, 1)
        if pxn:
            return Path(1, 2, 1)
        if not self.spines:
            raise ValueError(phrase("topology.no_spine", start=here, end=there))
        return Path(0, 4, 3)

    def spine_share(self, *, pxn: bool = True) -> float:
        """Part of the traffic between machines that crosses a spine when every rank sends the same to every other."""
        if pxn or self.nodes == 1:
            return 0.0
        of_rail = [sum(self.rail(gpu) == rail for gpu in range(self.gpus)) for rail in range(self.rails)]
        return 1 - sum(count * count for count in of_rail) / self.gpus**2

    @property
    def node_rate(self) -> Quantity:
        """What a machine can send to the others, bit/s one way."""
        return Quantity(self.rails * self.rate, "bit/s")

    @property
    def rank_rate(self) -> Quantity:
        """What one GPU can send to other machines while all of them do, bit/s one way: its part of a rail."""
        return Quantity(self.node_rate / self.gpus, "bit/s")

    @property
    def bisection_bandwidth(self) -> Quantity:
        """What crosses the narrowest cut into two halves of the machines, bit/s one way: the rails do not block."""
        return Quantity(self.nodes // 2 * self.node_rate, "bit/s")


def rails(nodes: int, *, gpus: int, rate: float, rails: int | None = None, spines: bool = True) -> Rails:
    """Machines on rails: ``rails`` NICs each (one a GPU when not given), of ``rate`` bit/s one way.

    ``ValueError`` for counts below one, more rails than GPUs, and a rate that is not positive.
    """
    many, wide = whole("gpus", gpus), whole("rails", gpus if rails is None else rails)
    if wide > many:
        raise ValueError(phrase("topology.too_many_rails", got=wide, most=many))
    return Rails(whole("nodes", nodes), many, wide, Quantity(bits_per_second("rate", rate), "bit/s"), bool(spines))


def cluster(machine: str | GpuMachine, nodes: int) -> Rails:
    """``nodes`` machines of a type of :func:`gpu_machines`, one rail a GPU NIC."""
    of = gpu_machine(machine) if isinstance(machine, str) else machine
    return rails(nodes, gpus=of.gpus, rails=of.nics, rate=of.nic_rate)
