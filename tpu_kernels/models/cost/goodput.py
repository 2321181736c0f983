"""The parts of ML productivity goodput, as Google defines them (blog of 2024-04-10, arXiv 2502.06982).

``scheduling``: the share of the capacity's time in which all workers of a job are up. ``runtime``: the share of that
time that makes progress that a checkpoint keeps. ``program``: ideal time over actual time of that progress; for
training, close to the MFU. Their product is the share of what the chips could have done that became a better model.
"""

import math

from tpu_kernels.models.checked_number import positive_number
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.models.roofline.amounts import not_negative
from tpu_kernels.models.share import positive_share
from tpu_kernels.phrases import phrase


def productivity_goodput(*, scheduling: float, runtime: float, program: float) -> Quantity:
    """``scheduling * runtime * program``, each above 0 and up to 1; ``ValueError`` otherwise."""
    parts = {"scheduling": scheduling, "runtime": runtime, "program": program}
    product = 1.0
    for name, part in parts.items():
        product *= positive_share(name, part)
    return Quantity(product, "share")


def runtime_goodput(window: float, *, lost: float, resuming: float, rescheduling: float = 0.0) -> Quantity:
    """``(window - lost - resuming - rescheduling) / (window - rescheduling)``, all summed over the interruptions.

    ``lost``: time since the last checkpoint; ``resuming``: time to resume; ``rescheduling``: time without the slice,
    which belongs to scheduling. Time to save counts as work here: add it to ``lost`` where saving stops the work.
    Source: third-party notes on a figure of the blog; any one unit of time. Raises ``ValueError`` for negative times,
    and for more time lost than the window has.
    """
    whole = positive_number("window", window)
    bad = not_negative("lost", lost) + not_negative("resuming", resuming)
    away = not_negative("rescheduling", rescheduling)
    if bad + away > whole or away == whole:
        raise ValueError(phrase("cost.more_than_window", got=bad + away, window=whole))
    return Quantity((whole - bad - away) / (whole - away), "share")


def badput_shares(productive: float, badput: dict[str, float]) -> dict[str, Quantity]:
    """Every part of the elapsed time as a share: ``goodput`` first, then the ``badput`` by its names; they add up to
    one.

    ``goodput = productive / elapsed`` (ml-goodput-measurement, 2026-08-17). Raises ``ValueError`` for negative times
    and when nothing elapsed.
    """
    parts = {"goodput": not_negative("productive", productive)}
    for name, part in badput.items():
        parts[name] = not_negative(name, part)
    elapsed = positive_number("elapsed", math.fsum(parts.values()))
    return {name: Quantity(part / elapsed, "share") for name, part in parts.items()}
