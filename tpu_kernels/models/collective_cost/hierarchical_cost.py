"""Collectives in two tiers, on rails: inside each machine over NVLink, between machines one ring a rail.

An all-reduce is a reduce-scatter inside, an all-reduce between peers of equal index, an all-gather inside (formula
F11): each GPU sends ``1 / gpus`` of the array over its NIC, and nothing crosses from rail to rail. Phases do not
overlap.
"""

from typing import NamedTuple

from tpu_kernels.models.collective_cost.algorithm_cost import Cost, cost
from tpu_kernels.models.collective_cost.alpha_beta import AlphaBeta
from tpu_kernels.models.collective_cost.bus_bandwidth import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    REDUCE_SCATTER,
    algbw,
    busbw,
)
from tpu_kernels.models.collective_cost.rules import PAIRWISE, RING
from tpu_kernels.models.matrix import whole
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.models.roofline.amounts import not_negative, one_of
from tpu_kernels.phrases import phrase

COLLECTIVES = (ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL)


class HierarchicalCost(NamedTuple):
    """A collective in phases, each a :class:`Cost` of its own tier; ``time`` is their sum in seconds."""

    collective: str
    nodes: int
    gpus: int
    size: Quantity
    inside: tuple[Cost, ...]
    between: tuple[Cost, ...]
    time: Quantity

    def __repr__(self) -> str:
        return phrase(
            "collective.hierarchical",
            collective=self.collective,
            nodes=self.nodes,
            gpus=self.gpus,
            size=self.size,
            time=self.time,
            inside=self.inside_time,
            between=self.between_time,
        )

    @property
    def ranks(self) -> int:
        """GPUs in all."""
        return self.nodes * self.gpus

    @property
    def inside_time(self) -> Quantity:
        """Seconds on NVLink."""
        return Quantity(sum(phase.time for phase in self.inside), "s")

    @property
    def between_time(self) -> Quantity:
        """Seconds on the rails."""
        return Quantity(sum(phase.time for phase in self.between), "s")

    @property
    def nic_bytes(self) -> Quantity:
        """What one GPU sends to other machines, in bytes."""
        return Quantity(sum(phase.link_bytes for phase in self.between), "bytes")

    @property
    def algbw(self) -> Quantity:
        """``size / time`` in bytes/s."""
        return algbw(self.size, self.time)

    @property
    def busbw(self) -> Quantity:
        """Bus bandwidth in bytes/s, as the NCCL tests define it."""
        return busbw(self.collective, self.ranks, self.size, self.time)


def hierarchical_cost(
    collective: str, *, nodes: int, gpus: int, size: float, nvlink: AlphaBeta, rail: AlphaBeta
) -> HierarchicalCost:
    """What ``collective`` costs on ``nodes`` machines of ``gpus`` GPUs each.

    ``nvlink`` is what a GPU can send inside its machine, ``rail`` what it can send over its NIC (its part, when
    several GPUs share one), one way. All-reduce, all-gather, reduce-scatter and all-to-all, with rings of ``gpus``
    inside and of ``nodes`` between; ``ValueError`` for another collective, counts below one or a single GPU in all.
    """
    one_of("collective", collective, COLLECTIVES)
    m, g, total = whole("nodes", nodes), whole("gpus", gpus), not_negative("size", size)
    if m * g < 2:
        raise ValueError(phrase("collective.one_rank", got=1))
    if collective == ALL_REDUCE:
        inside = [*_phase(REDUCE_SCATTER, g, total, nvlink), *_phase(ALL_GATHER, g, total, nvlink)]
        between = _phase(ALL_REDUCE, m, total / g, rail)
    elif collective == ALL_TO_ALL:
        inside = _phase(ALL_TO_ALL, g, total, nvlink, PAIRWISE)
        between = _phase(ALL_TO_ALL, m, total, rail, PAIRWISE)
    else:
        inside = _phase(collective, g, total, nvlink)
        between = _phase(collective, m, total / g, rail)
    time = sum(phase.time for phase in (*inside, *between))
    return HierarchicalCost(
        collective, m, g, Quantity(total, "bytes"), tuple(inside), tuple(between), Quantity(time, "s")
    )


def _phase(collective: str, ranks: int, size: float, on: AlphaBeta, algorithm: str = RING) -> list[Cost]:
    """The phase, or none when a tier has one member."""
    return [cost(collective, algorithm, ranks=ranks, size=size, on=on)] if ranks > 1 else []
