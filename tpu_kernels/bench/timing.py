"""How long calls take: each waited for, the first one apart, contestants in turns.

A call on an accelerator returns before its work is done, and the first one compiles: a clock that ignores either
measures something else. Machines are noisy, so two contestants are compared within the same round, never across runs.
"""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax

from tpu_kernels.phrases import phrase

Call = Callable[[], Any]
Clock = Callable[[], float]


@dataclass(frozen=True)
class Timing:
    """Seconds on the host's clock, from the call until its result is there.

    ``first``: the first call, which traces and compiles. ``samples``: the calls after the warm-up, in order.
    """

    first: float
    samples: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    @property
    def best(self) -> float:
        return min(self.samples)

    def percentile(self, percent: float) -> float:
        """The sample that ``percent`` of them do not exceed (nearest rank)."""
        ordered = sorted(self.samples)
        rank = -(-len(ordered) * percent // 100)
        return ordered[max(int(rank), 1) - 1]

    def ratio(self, other: "Timing") -> float:
        """How many times as long as ``other`` this one took: the median over rounds in which both ran."""
        return statistics.median(mine / theirs for mine, theirs in zip(self.samples, other.samples, strict=True))

    def to_dict(self) -> dict[str, Any]:
        return {
            "first": self.first,
            "median": self.median,
            "p10": self.percentile(10),
            "p90": self.percentile(90),
            "best": self.best,
            "samples": list(self.samples),
        }


def time_in_turns(
    calls: Mapping[str, Call],
    *,
    warmup: int = 2,
    repeats: int = 10,
    clock: Clock = time.perf_counter,
    progress: Callable[[], None] = lambda: None,
) -> dict[str, Timing]:
    """Times every call of ``calls``: once apart, ``warmup`` rounds unseen, ``repeats`` rounds that count.

    In a round each contestant runs once, and whoever began the last round ends this one, so that a slow moment of the
    machine, or a cache that the one before left warm, favours nobody. ``progress`` is called after each round.
    Results are waited for with ``jax.block_until_ready``. Raises ``ValueError`` for fewer than one repeat.
    """
    if repeats < 1 or warmup < 0:
        raise ValueError(phrase("bench.rounds", warmup=warmup, repeats=repeats))
    first = {name: _seconds(call, clock) for name, call in calls.items()}
    samples: dict[str, list[float]] = {name: [] for name in calls}
    order = list(calls)
    for number in range(warmup + repeats):
        for name in order:
            seconds = _seconds(calls[name], clock)
            if number >= warmup:
                samples[name].append(seconds)
        order.append(order.pop(0))
        progress()
    return {name: Timing(first[name], tuple(samples[name])) for name in calls}


def _seconds(call: Call, clock: Clock) -> float:
    start = clock()
    jax.block_until_ready(call())
    return clock() - start
