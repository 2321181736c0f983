"""Algorithm and bus bandwidth, as the NCCL tests define them (NVIDIA nccl-tests, doc/PERFORMANCE.md, 2026-07-09).

``algbw = size / time``; ``busbw = algbw * factor`` so that it can be held against the rate of a link whatever the
number of ranks. ``size`` is the whole array in bytes: for all-gather and reduce-scatter the sum of all ranks' shards,
for all-to-all what one rank sends in all, itself included.
"""

from tpu_kernels.models.checked_number import positive_number
from tpu_kernels.models.matrix import whole
from tpu_kernels.models.network.link_rates import bytes_per_second
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.models.roofline.amounts import not_negative, one_of
from tpu_kernels.phrases import phrase

ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER = "all-reduce", "all-gather", "reduce-scatter"
ALL_TO_ALL, BROADCAST, REDUCE, PERMUTE = "all-to-all", "broadcast", "reduce", "permute"
COLLECTIVES = (ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, BROADCAST, REDUCE, PERMUTE)


def checked_ranks(ranks: object) -> int:
    """``ranks`` as an int of at least two: one rank has nobody to talk to. ``ValueError`` otherwise."""
    n = whole("ranks", ranks)
    if n < 2:
        raise ValueError(phrase("collective.one_rank", got=n))
    return n


def busbw_factor(collective: str, ranks: int) -> float:
    """What turns algorithm bandwidth into bus bandwidth: ``2 * (n - 1) / n`` for all-reduce, ``(n - 1) / n`` for
    all-gather, reduce-scatter and all-to-all, 1 for broadcast, reduce and permute (send and receive).

    ``ValueError`` for another collective or fewer than two ranks.
    """
    n = checked_ranks(ranks)
    one_of("collective", collective, COLLECTIVES)
    if collective == ALL_REDUCE:
        return 2 * (n - 1) / n
    return (n - 1) / n if collective in (ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL) else 1.0


def algbw(size: float, time: float) -> Quantity:
    """Algorithm bandwidth ``size / time`` in bytes/s, of ``size`` bytes in ``time`` seconds."""
    return Quantity(not_negative("size", size) / positive_number("time", time), "bytes/s")


def busbw(collective: str, ranks: int, size: float, time: float) -> Quantity:
    """Bus bandwidth in bytes/s of a collective on ``size`` bytes that took ``time`` seconds."""
    return Quantity(algbw(size, time) * busbw_factor(collective, ranks), "bytes/s")


def least_time(collective: str, ranks: int, size: float, bandwidth: float) -> Quantity:
    """Seconds below which no algorithm of point-to-point sends gets, with ``bandwidth`` bytes/s out of each rank:
    ``size / bandwidth * factor`` (formulas F5 and F6)."""
    rate = bytes_per_second("bandwidth", bandwidth)
    return Quantity(not_negative("size", size) / rate * busbw_factor(collective, ranks), "s")
