"""What a run was like: latencies with their percentiles, throughput, cache hits, goodput under an objective.

Definitions as in inference-perf (docs/metrics.md, docs/goodput.md, 2026-08-19): TTFT from the sending of a request to
its first token; TPOT the mean gap between later tokens of a request; ITL the gaps of all requests, one by one; NTPOT
the whole latency over the output tokens. Percentiles interpolate linearly between the two nearest values, as numpy's
do.
"""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from tpu_kernels.models.checked_number import positive_number
from tpu_kernels.models.numerals import number
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.models.serving.ledger import GAP_BUCKET, Ledger
from tpu_kernels.models.serving.request import PICOSECONDS
from tpu_kernels.models.table import Table, TableCell
from tpu_kernels.phrases import phrase


class Latency(NamedTuple):
    """A latency over the requests of a run, in seconds."""

    mean: Quantity
    p50: Quantity
    p90: Quantity
    p95: Quantity
    p99: Quantity


class Goodput(NamedTuple):
    """Requests that met every objective: ``requests`` per second, their input and output ``tokens`` per second, and
    their ``share`` of those that were answered."""

    requests: float
    tokens: float
    share: Quantity


def percentile(ordered: Sequence[float], share: float) -> float:
    """The value below which a ``share`` (0 to 1) of the ``ordered`` values lie, interpolated linearly.

    Raises ``ValueError`` for no values and for a share outside.
    """
    if not ordered or not 0 <= share <= 1:
        raise ValueError(phrase("serving.no_percentile", count=len(ordered), got=repr(share)))
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


class Report:
    """The outcome of a run, from its ``ledger``; times there are picoseconds, everything here is in seconds."""

    def __init__(self, ledger: Ledger, begin: int, end: int, busy: Sequence[int]) -> None:
        self.ledger = ledger
        self._begin, self._end, self._busy = begin, end, tuple(busy)
        self._rows = [row for row, finish in enumerate(ledger.finish) if finish >= 0]

    @property
    def requests(self) -> int:
        """Requests that arrived."""
        return len(self.ledger.finish)

    @property
    def answered(self) -> int:
        """Requests that were answered to the end."""
        return len(self._rows)

    @property
    def shed(self) -> int:
        """Requests that were refused because the pool was saturated."""
        return self.requests - self.answered

    @property
    def recomputed(self) -> int:
        """How many times a request lost its memory and was computed again."""
        return self.ledger.recomputed

    @property
    def duration(self) -> Quantity:
        """Seconds from the beginning to the last event: the wait for the slowest answer is part of it."""
        return Quantity((self._end - self._begin) / PICOSECONDS, "s")

    @property
    def request_throughput(self) -> float:
        """Answers per second."""
        return self._per_second(self.answered)

    @property
    def output_throughput(self) -> float:
        """Output tokens per second."""
        output = self.ledger.output
        return self._per_second(sum(output[row] for row in self._rows))

    @property
    def input_throughput(self) -> float:
        """Prompt tokens per second, found in a cache or not."""
        prompt = self.ledger.prompt
        return self._per_second(sum(prompt[row] for row in self._rows))

    @property
    def hit_rate(self) -> Quantity:
        """The share of the prompt tokens that was in a cache."""
        prompt = sum(self.ledger.prompt[row] for row in self._rows)
        return Quantity(sum(self.ledger.cached[row] for row in self._rows) / prompt if prompt else 0.0, "share")

    @property
    def mean_waiting(self) -> float:
        """Requests waiting in a replica's queue, over time and replicas (Little's law on the waits)."""
        elapsed = (self._end - self._begin) * len(self._busy)
        return self.ledger.waited / elapsed if elapsed else 0.0

    @property
    def utilisation(self) -> tuple[Quantity, ...]:
        """The share of the time in which each replica had work."""
        elapsed = self._end - self._begin
        return tuple(Quantity(busy / elapsed if elapsed else 0.0, "share") for busy in self._busy)

    @property
    def requests_by_replica(self) -> tuple[int, ...]:
        """How many requests each replica answered."""
        counts = [0] * len(self._busy)
        for row in self._rows:
            counts[self.ledger.replica[row]] += 1
        return tuple(counts)

    @cached_property
    def ttft(self) -> Latency:
        """Time to first token."""
        ledger = self.ledger
        return _latency([ledger.first[row] - ledger.arrival[row] for row in self._rows])

    @cached_property
    def tpot(self) -> Latency:
        """Time per output token after the first; over the requests with more than one."""
        ledger = self.ledger
        first, finish, output = ledger.first, ledger.finish, ledger.output
        return _latency([(finish[row] - first[row]) / (output[row] - 1) for row in self._rows if output[row] > 1])

    @cached_property
    def latency(self) -> Latency:
        """Time from the sending of a request to the end of its answer."""
        ledger = self.ledger
        return _latency([ledger.finish[row] - ledger.arrival[row] for row in self._rows])

    @cached_property
    def itl(self) -> Latency:
        """Gaps between consecutive tokens. The mean is exact; percentiles are the middle of a step of 0.1 ms."""
        gaps = sorted(self.ledger.gaps.items())
        count = sum(times for _, times in gaps)
        if not count:
            return _latency([])
        points = []
        for share in SHARES:
            rank, seen = share * (count - 1), 0
            for bucket, times in gaps:
                seen += times
                if seen > rank:
                    points.append((bucket + 0.5) * GAP_BUCKET / PICOSECONDS)
                    break
        return Latency(*(Quantity(value, "s") for value in (self.ledger.gap_total / count / PICOSECONDS, *points)))

    def goodput(
        self,
        *,
        ttft: float | None = None,
        tpot: float | None = None,
        ntpot: float | None = None,
        latency: float | None = None,
    ) -> Goodput:
        """Requests that met every objective given (seconds, at most), per second of the run.

        Raises ``ValueError`` for an objective that is not positive.
        """
        given = {"ttft": ttft, "tpot": tpot, "ntpot": ntpot, "latency": latency}
        limits = {
            name: positive_number(name, limit) * PICOSECONDS for name, limit in given.items() if limit is not None
        }
        good = [row for row in self._rows if self._meets(row, limits)]
        tokens = sum(self.ledger.prompt[row] + self.ledger.output[row] for row in good)
        share = Quantity(len(good) / self.answered if self.answered else 0.0, "share")
        return Goodput(self._per_second(len(good)), self._per_second(tokens), share)

    def _meets(self, row: int, limits: dict[str, float]) -> bool:
        ledger = self.ledger
        first = ledger.first[row] - ledger.arrival[row]
        whole = ledger.finish[row] - ledger.arrival[row]
        output = ledger.output[row]
        measured = {
            "ttft": first,
            "tpot": (whole - first) / max(output - 1, 1),
            "ntpot": whole / output,
            "latency": whole,
        }
        return all(measured[name] <= limit for name, limit in limits.items())

    def _per_second(self, amount: float) -> float:
        elapsed = self._end - self._begin
        return amount * PICOSECONDS / elapsed if elapsed else 0.0

    def __repr__(self) -> str:
        return phrase(
            "serving.report",
            answered=number(self.answered),
            seconds=self.duration.format(),
            ttft=self.ttft.p90.format(),
            tpot=self.tpot.mean.format(),
            tokens=number(self.output_throughput, digits=3),
            hits=self.hit_rate.format(),
        )

    def table(self) -> Table:
        """Latencies as rows: mean, median, p90, p95 and p99."""
        rows = []
        named = (("TTFT", self.ttft), ("TPOT", self.tpot), ("ITL", self.itl), (phrase("serving.latency"), self.latency))
        for name, latency in named:
            rows.append([TableCell(name), *(TableCell(value.format(), numeric=True) for value in latency)])
        headings = [phrase("serving.measure"), phrase("serving.mean"), "p50", "p90", "p95", "p99"]
        return Table(repr(self), headings, rows)

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


SHARES = (0.5, 0.9, 0.95, 0.99)


def _latency(picoseconds: Sequence[float]) -> Latency:
    """Of no requests at all, nothing: NaN. ``fsum``, because what ``sum`` makes of floats changed in Python 3.12."""
    if not picoseconds:
        return Latency(*(Quantity(math.nan, "s") for _ in range(5)))
    ordered = sorted(picoseconds)
    points = (math.fsum(ordered) / len(ordered), *(percentile(ordered, share) for share in SHARES))
    return Latency(*(Quantity(point / PICOSECONDS, "s") for point in points))
