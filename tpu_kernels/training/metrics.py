"""How fast a run goes: steps, examples and tokens a second, and the share of the hardware's peak that it uses (MFU).

A step returns before its work is done, and the first one compiles. So the clock starts when the first step's results
are there, and it is read when results have been waited for anyway.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax

from tpu_kernels.backend import announce, here
from tpu_kernels.models import hardware
from tpu_kernels.phrases import phrase

FORMAT = "bf16"  # whose dense peak MFU is a share of, whatever the step computes in: the convention of the field


@dataclass(frozen=True)
class Work:
    """What one example asks for: ``tokens`` that are predicted, and ``flops``, forward and backward, of the model.

    ``flops`` counts the arithmetic that the model needs, not what a program does twice to save memory: A. Chowdhery et
    al., "PaLM", JMLR 24 (2023), appendix B.
    """

    tokens: int | None = None
    flops: float | None = None


UNKNOWN = Work()


class Speed(NamedTuple):
    """Rates per second, and MFU as a share of 1; None where the work or the peak is not known, never a guess."""

    steps: float
    examples: float
    tokens: float | None
    flops: float | None
    mfu: float | None


class Meter:
    """Measures from one :meth:`read` to the next. ``devices``: those that do the work. ``clock``: seconds."""

    def __init__(
        self, work: Work, devices: Iterable[jax.Device], clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._work, self._clock = work, clock
        self._peak = peak_flops(devices)
        self._since: float | None = None

    def start(self, results: Any) -> None:
        """Waits for ``results``, any tree of arrays, and starts the clock: what came before does not count."""
        jax.block_until_ready(results)
        self._since = self._clock()

    def read(self, steps: int, examples: int) -> Speed | None:
        """The speed of ``steps`` steps of ``examples`` rows in all since the last reading; their results must be there.

        Rows that fill up a batch count: the device computes them. None before :meth:`start` and for no steps.
        """
        if self._since is None or not steps:
            return None
        now = self._clock()
        seconds, self._since = now - self._since, now
        if seconds <= 0:
            return None
        rate = examples / seconds
        tokens = None if self._work.tokens is None else rate * self._work.tokens
        flops = None if self._work.flops is None else rate * self._work.flops
        return Speed(steps / seconds, rate, tokens, flops, self._mfu(flops))

    def _mfu(self, flops: float | None) -> float | None:
        if flops is None or self._peak is None:
            return None
        if flops > self._peak:  # no chip does more than its peak: the count is wrong, not the chip
            announce(phrase("metrics.above_peak", got=f"{flops:.3g}", peak=f"{self._peak:.3g}"))
            return None
        return flops / self._peak


def peak_flops(devices: Iterable[jax.Device]) -> float | None:
    """The dense bf16 peak of the chips that ``devices`` are on, in FLOP/s; None for a chip or a peak that no source
    gives."""
    name = here().chip
    if name is None:
        return None
    try:
        peak = float(hardware.chip(name).peak_flops[FORMAT])
    except KeyError:  # no source for it, or no such field
        return None
    # Some chips are two devices, one a core; coordinates are the chip's. Other devices are a chip each.
    chips = {(device.process_index, *getattr(device, "coords", (device.id,))) for device in devices}
    return peak * len(chips)
