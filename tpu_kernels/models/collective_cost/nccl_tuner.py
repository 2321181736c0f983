"""The latency that NCCL's own tuner adds up (NVIDIA NCCL src/graph/tuning.cc at 5067397c2676, 2026-06-11).

Ring: ``base + (steps - inter) * max(intra, post) + inter * net`` (formula F9). Tree, for all-reduce: ``base + 2 *
((ranks / nodes - 1) * intra + log2(nodes) * net)`` (F10), the logarithm rounded down. With one rank a machine the
network latency is the tree's. The latency that the tuner adds for the NIC that it detects is left out. The constants
suit RDMA: measured floors of other transports are far above them.
"""

from tpu_kernels.models.collective_cost.bus_bandwidth import ALL_GATHER, ALL_REDUCE, REDUCE_SCATTER, checked_ranks
from tpu_kernels.models.matrix import whole
from tpu_kernels.models.network.facts import number, numbers
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.models.roofline.amounts import one_of
from tpu_kernels.phrases import phrase

PROTOCOLS = ("LL", "LL128", "Simple")
COLLECTIVES = (ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER)
INTRA, CPUS = ("nvlink", "pci"), ("intel", "amd", "other")
SIMPLE_POSTS = 3  # the Simple protocol posts three times a step (note of the fact nccl.net_overhead)


def ring_latency(
    collective: str, *, nodes: int, ranks: int, protocol: str, intra: str = "nvlink", cpu: str = "intel"
) -> Quantity:
    """Seconds that a ring of ``ranks`` on ``nodes`` machines takes for no data, by NCCL's tuner (F9).

    ``protocol``: ``LL``, ``LL128`` or ``Simple``; ``intra``: ``nvlink`` or ``pci``; ``cpu``: ``intel``, ``amd``,
    ``other``. ``ValueError`` for other words, for ranks that do not divide among nodes, and fewer than two.
    """
    one_of("collective", collective, COLLECTIVES)
    m, n = _checked(nodes, ranks)
    rounds = 2 if collective == ALL_REDUCE else 1
    steps, between = rounds * (n - 1), rounds * (m - 1)
    post = number(f"nccl.net_overhead.{one_of('cpu', cpu, CPUS)}") * (SIMPLE_POSTS if protocol == "Simple" else 1)
    inside = max(_of("Ring", protocol, one_of("intra", intra, INTRA)), post if m > 1 else 0.0)
    net = _of("Tree" if m == n else "Ring", protocol, "net")
    return Quantity(_of("Ring", protocol, "base") + (steps - between) * inside + between * net, "s")


def tree_latency(*, nodes: int, ranks: int, protocol: str, intra: str = "nvlink") -> Quantity:
    """Seconds that an all-reduce by tree takes for no data, by NCCL's tuner (F10). Raises as :func:`ring_latency`."""
    m, n = _checked(nodes, ranks)
    inside = (n // m - 1) * _of("Tree", protocol, one_of("intra", intra, INTRA))
    between = (m.bit_length() - 1) * _of("Tree", protocol, "net")
    return Quantity(_of("Tree", protocol, "base") + 2 * (inside + between), "s")


def _checked(nodes: int, ranks: int) -> tuple[int, int]:
    m, n = whole("nodes", nodes), checked_ranks(ranks)
    if n % m:
        raise ValueError(phrase("collective.uneven", ranks=n, nodes=m))
    return m, n


def _of(algorithm: str, protocol: str, part: str) -> float:
    place = PROTOCOLS.index(one_of("protocol", protocol, PROTOCOLS))
    fact = "nccl.base_lat" if part == "base" else f"nccl.hw_lat.{part}"
    return numbers(f"{fact}.{algorithm}")[place]
