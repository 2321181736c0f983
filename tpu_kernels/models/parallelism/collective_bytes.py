"""Bytes that each device must send in a collective over ``devices``: the least that any algorithm can, and what a ring
sends.

An all-gather must bring every device the ``(n - 1) / n`` of the array that it lacks, and on average a device sends what
one receives. A reduce-scatter is its reverse, an all-reduce is one after the other, and in an all-to-all a device sends
all it holds but its own part. Source: Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
workstations", 2009.
"""

from tpu_kernels.models.matrix import whole
from tpu_kernels.models.roofline.amounts import not_negative


def all_gather(total: float, devices: int) -> float:
    """``total`` bytes of the gathered array: ``total * (n - 1) / n``."""
    return not_negative("total", total) * _missing(devices)


def reduce_scatter(total: float, devices: int) -> float:
    """``total`` bytes of the array that each device starts with: ``total * (n - 1) / n``."""
    return not_negative("total", total) * _missing(devices)


def all_reduce(total: float, devices: int) -> float:
    """``total`` bytes of the array: ``2 * total * (n - 1) / n``."""
    return 2 * not_negative("total", total) * _missing(devices)


def all_to_all(held: float, devices: int) -> float:
    """``held`` bytes on each device, in equal parts for all: ``held * (n - 1) / n``."""
    return not_negative("held", held) * _missing(devices)


def _missing(devices: int) -> float:
    count = whole("devices", devices)
    return (count - 1) / count
