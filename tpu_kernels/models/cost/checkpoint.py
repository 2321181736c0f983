"""How often to save: the interval between checkpoints that wastes the least time when interruptions come at random.

``checkpoint`` (delta) is the time that saving stops the work, ``restart`` (R) the time to load and go on, ``mtti`` (M)
the mean time between interruptions, ``interval`` (tau) the work between two checkpoints. Any unit of time, the same for
all.
"""

import math

from tpu_kernels.models.checked_number import positive_number
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.models.roofline.amounts import not_negative
from tpu_kernels.models.share import positive_share
from tpu_kernels.phrases import phrase


def young_interval(checkpoint: float, mtti: float) -> float:
    """``sqrt(2 * delta * M)``. Source: Young, CACM 17(9), 1974, as in LLNL's SCR (scr_ckpt_interval.py, 2024-10-21).

    Raises ``ValueError`` unless both are positive.
    """
    return math.sqrt(2 * positive_number("checkpoint", checkpoint) * positive_number("mtti", mtti))


def daly_first_interval(checkpoint: float, mtti: float, restart: float = 0.0) -> float:
    """``sqrt(2 * delta * (M + R))``: Daly's first-order model, for intervals far below ``M``.

    Source: Daly, Future Generation Computer Systems 22(3), 2006, as restated in reviews of it. Raises ``ValueError``
    unless the first two are positive and the third is not negative.
    """
    delta, mean = positive_number("checkpoint", checkpoint), positive_number("mtti", mtti)
    return math.sqrt(2 * delta * (mean + not_negative("restart", restart)))


def daly_interval(checkpoint: float, mtti: float) -> float:
    """Daly's higher-order estimate: ``sqrt(2 d M) * (1 + sqrt(d / 2M) / 3 + d / 2M / 9) - d`` below ``d = 2M``, else
    ``M``.

    The restart does not enter: it delays every interval alike. Source: Daly 2006, equation 37, as in LLNL's SCR
    (scr_ckpt_interval.py, 2024-10-21). Raises ``ValueError`` unless both are positive.
    """
    delta, mean = positive_number("checkpoint", checkpoint), positive_number("mtti", mtti)
    if delta >= 2 * mean:
        return mean
    ratio = delta / (2 * mean)
    return math.sqrt(2 * delta * mean) * (1 + math.sqrt(ratio) / 3 + ratio / 9) - delta


def best_interval(checkpoint: float, mtti: float) -> float:
    """The interval that is best exactly, when times between interruptions are exponential.

    Where the derivative of the expected time is zero: ``(1 - x) * exp(x + delta / M) = 1`` for ``x = tau / M``, which
    has one root in (0, 1), found by Newton's method. Raises ``ValueError`` unless both are positive.
    """
    delta, mean = positive_number("checkpoint", checkpoint), positive_number("mtti", mtti)
    ratio = delta / mean
    if ratio > 1:  # x is near 1: solve for y = 1 - x, y = exp(y - 1 - ratio)
        small = math.exp(-1 - ratio)
        y = small
        for _ in range(STEPS):
            y -= (y - small * math.exp(y)) / (1 - small * math.exp(y))
        return (1 - y) * mean
    # f(x) = x + log(1 - x) + ratio falls and bends down all the way: Newton's steps come from the right and stay there.
    x = -math.expm1(-math.sqrt(2 * ratio) - ratio)
    for _ in range(STEPS):
        x += (x + math.log1p(-x) + ratio) * (1 - x) / x
    return x * mean


STEPS = 30  # Newton's method doubles the digits with each; the last ones change nothing


def expected_time(
    work: float, interval: float, *, checkpoint: float, mtti: float, restart: float = 0.0, wait: float = 0.0
) -> float:
    """The mean time to finish ``work`` saved every ``interval``, when times between interruptions are exponential.

    ``(M + wait) * exp(R / M) * (exp((tau + delta) / M) - 1)`` for each interval: interruptions may hit work,
    checkpoints and restarts alike; ``wait`` is the time to get a machine again, in which nothing can be interrupted.
    Sources: Daly 2006 for ``wait`` = 0; Bougeret et al. 2011 with it. Raises ``ValueError`` for what is negative or,
    where it must be positive, zero.
    """
    amount, tau = positive_number("work", work), positive_number("interval", interval)
    delta, mean = not_negative("checkpoint", checkpoint), positive_number("mtti", mtti)
    lost, down = not_negative("restart", restart), not_negative("wait", wait)
    try:
        each = (mean + down) * math.exp(lost / mean) * math.expm1((tau + delta) / mean)
    except OverflowError:
        return math.inf
    return amount / tau * each


def expected_goodput(
    interval: float, *, checkpoint: float, mtti: float, restart: float = 0.0, wait: float = 0.0
) -> Quantity:
    """The share of the time that is work that stays: ``1 / expected_time`` for a unit of work."""
    time = expected_time(1.0, interval, checkpoint=checkpoint, mtti=mtti, restart=restart, wait=wait)
    return Quantity(1 / time, "share")


def greatest_restart(goodput: float, *, checkpoint: float, mtti: float, interval: float | None = None) -> float:
    """The longest restart with which a run still reaches ``goodput`` (0 to 1); negative when none is short enough.

    At the best interval unless one is given: ``R = M * log(tau / (goodput * M * (exp((tau + delta) / M) - 1)))``, from
    :func:`expected_time`. Tells which costs are consistent with a goodput that was reported.
    """
    delta, mean = positive_number("checkpoint", checkpoint), positive_number("mtti", mtti)
    wanted = positive_share("goodput", goodput)
    tau = best_interval(delta, mean) if interval is None else positive_number("interval", interval)
    return mean * math.log(tau / (wanted * mean * math.expm1((tau + delta) / mean)))


def mtti_of(machines: int, mean_time_each: float) -> float:
    """The mean time to interruption of ``machines`` that are interrupted independently: ``mean_time_each / machines``.

    Raises ``ValueError`` for no machines and a time that is not positive.
    """
    if isinstance(machines, bool) or machines < 1:
        raise ValueError(phrase("matrix.not_whole", name="machines", got=repr(machines)))
    return positive_number("mean_time_each", mean_time_each) / machines
