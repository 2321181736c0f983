"""A run that is interrupted, simulated: work, checkpoints, restarts, what is lost, and what waits for a machine.

One step an interruption, however many checkpoints lie between two of them.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

from tpu_kernels.models.checked_number import positive_number
from tpu_kernels.models.cost.checkpoint import best_interval
from tpu_kernels.models.cost.interruptions import Interruptions
from tpu_kernels.models.matrix import whole
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.models.roofline.amounts import not_negative
from tpu_kernels.phrases import phrase


class RunTime(NamedTuple):
    """Where the time of a run went, in the unit of its inputs.

    ``work`` stayed; ``saving`` is checkpoints that were completed; ``lost`` is work since the last checkpoint, and
    checkpoints cut short; ``restarting`` includes restarts cut short; ``waiting`` had no machine.
    """

    work: float
    saving: float
    lost: float
    restarting: float
    waiting: float
    interruptions: int

    @property
    def elapsed(self) -> float:
        """From the beginning to the last checkpoint."""
        return math.fsum((self.work, self.saving, self.lost, self.restarting, self.waiting))

    @property
    def goodput(self) -> Quantity:
        """The share of the elapsed time that is work that stayed (ml-goodput-measurement's definition)."""
        return Quantity(self.work / self.elapsed, "share")

    @property
    def scheduling_goodput(self) -> Quantity:
        """The share of the elapsed time in which there was a machine."""
        return Quantity((self.elapsed - self.waiting) / self.elapsed, "share")

    @property
    def runtime_goodput(self) -> Quantity:
        """The share of the time with a machine that is work that stayed."""
        return Quantity(self.work / (self.elapsed - self.waiting), "share")

    @property
    def badput(self) -> dict[str, Quantity]:
        """The other shares, by what took them; with the goodput they add up to one."""
        parts = {"saving": self.saving, "lost": self.lost, "restarting": self.restarting, "waiting": self.waiting}
        return {name: Quantity(part / self.elapsed, "share") for name, part in parts.items()}

    def __repr__(self) -> str:
        parts = {name: part.format() for name, part in self.badput.items()}
        return phrase("cost.run_time", goodput=self.goodput.format(), interruptions=self.interruptions, **parts)


def run_with_restarts(
    work: float,
    interval: float,
    lives: Interruptions | Iterable[float],
    *,
    checkpoint: float,
    restart: float = 0.0,
    wait: float = 0.0,
) -> RunTime:
    """Runs ``work`` with a checkpoint after each ``interval`` and one at the end.

    ``lives``: how long the machine lasts each time. At an interruption the machine is gone for ``wait``; then
    ``restart`` passes, which may be cut short too, and work goes on from the last checkpoint. Raises ``ValueError`` for
    what is negative or, where it must be positive, zero; and when finite ``lives`` end before the work.
    """
    total, tau = positive_number("work", work), positive_number("interval", interval)
    delta, loading = not_negative("checkpoint", checkpoint), not_negative("restart", restart)
    down = not_negative("wait", wait)
    whole_segments = math.ceil(total / tau * (1 - 1e-12)) - 1  # those before the last, which may be shorter
    rest = total - whole_segments * tau
    done = 0
    lost = restarting = 0.0
    count = 0
    for left in lives.lives() if isinstance(lives, Interruptions) else lives:
        if count:
            spent = min(left, loading)
            restarting += spent
            left -= spent
        fitted = min(int(left / (tau + delta)), whole_segments - done)
        done += fitted
        left -= fitted * (tau + delta)
        if done == whole_segments and left >= rest + delta:
            saving = (whole_segments + 1) * delta
            return RunTime(total, saving, lost, restarting, count * down, count)
        lost += left
        count += 1
    raise ValueError(phrase("cost.lives_ended", got=count, done=done * tau, work=total))


def simulated_goodput(
    interval: float,
    interruptions: Interruptions,
    *,
    checkpoint: float,
    restart: float = 0.0,
    wait: float = 0.0,
    count: int = 2000,
) -> Quantity:
    """The goodput of a run long enough to meet about ``count`` interruptions."""
    work = interruptions.mtti * whole("count", count)
    run = run_with_restarts(work, interval, interruptions, checkpoint=checkpoint, restart=restart, wait=wait)
    return run.goodput


def best_interval_by_simulation(
    interruptions: Interruptions,
    *,
    checkpoint: float,
    restart: float = 0.0,
    wait: float = 0.0,
    count: int = 2000,
    candidates: int = 41,
) -> float:
    """The best of ``candidates`` intervals, spread evenly on a logarithmic scale over a factor of eight each way from
    the exponential's best; every one meets the same interruptions. For laws of which no formula is known.

    Raises ``ValueError`` for sizes under one and what :func:`run_with_restarts` refuses.
    """
    centre = best_interval(checkpoint, interruptions.mtti)
    steps = whole("candidates", candidates)

    def goodput(interval: float) -> float:
        return simulated_goodput(
            interval, interruptions, checkpoint=checkpoint, restart=restart, wait=wait, count=count
        )

    return max((centre * 8 ** (2 * step / max(steps - 1, 1) - 1) for step in range(steps)), key=goodput)
