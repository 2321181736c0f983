"""A row of the benchmark of collectives: one contestant on one case, out of place and in place."""

from dataclasses import dataclass
from itertools import chain
from statistics import fmean, median
from typing import Any

from tpu_kernels.bench.collective_case import Case
from tpu_kernels.models.collective_cost import algbw, busbw


@dataclass(frozen=True)
class Outcome:
    """``wrong``: elements on all ranks that were not what they had to be. ``samples``: seconds of every call on every
    rank that has a clock of its own; empty where a kernel was interpreted, which has values and no speed."""

    wrong: int
    samples: tuple[tuple[float, ...], ...]

    @property
    def seconds(self) -> float | None:
        """The average over the calls, and over the ranks."""
        return fmean(chain.from_iterable(self.samples)) if self.samples else None

    def to_dict(self, case: Case) -> dict[str, Any]:
        ranks = [fmean(rank) for rank in self.samples]
        # A call lasts as long as its slowest rank. On a busy machine a few stalls make most of an average.
        calls = [max(one) for one in zip(*self.samples, strict=True)]
        seconds = self.seconds
        return {
            "wrong": self.wrong,
            "seconds": seconds,
            "median": median(calls) if calls else None,
            "best": min(calls, default=None),
            "fastest_rank": min(ranks, default=None),
            "slowest_rank": max(ranks, default=None),
            "algbw": None if seconds is None else float(algbw(case.size, seconds)),
            "busbw": None if seconds is None else float(busbw(case.collective, case.ranks, case.size, seconds)),
            "samples": [list(rank) for rank in self.samples],
        }


@dataclass(frozen=True)
class Row:
    """``contestant``: ``"xla"``, ``"ring"``, ``"gloo"``; ``place``: the platform of jax's devices, or the peer;
    ``kind``: jax's device_kind. None where a contestant has no such form."""

    case: Case
    contestant: str
    place: str
    kind: str
    out_of_place: Outcome | None
    in_place: Outcome | None

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        return tuple(one for one in (self.out_of_place, self.in_place) if one is not None)

    @property
    def right(self) -> bool:
        return not any(one.wrong for one in self.outcomes)

    @property
    def interpreted(self) -> bool:
        return not any(one.samples for one in self.outcomes)

    @property
    def seconds(self) -> float | None:
        """Out of place, or in place where that is the only form."""
        return self.outcomes[0].seconds

    def to_dict(self) -> dict[str, Any]:
        return {
            **self.case.to_dict(),
            "count": self.case.count,
            "contestant": self.contestant,
            "label": "interpreted" if self.interpreted else "measured",
            "place": self.place,
            "kind": self.kind,
            "right": self.right,
            "out_of_place": self.out_of_place and self.out_of_place.to_dict(self.case),
            "in_place": self.in_place and self.in_place.to_dict(self.case),
        }
