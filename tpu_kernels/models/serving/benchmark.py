"""How many requests a minute the simulator does, and whether twice as many take twice as long.

``python -m tpu_kernels.models.serving`` prints a table; ``--profile`` says what the time goes into.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tpu_kernels.models.draws import Draws, Length
from tpu_kernels.models.matrix import whole
from tpu_kernels.models.serving.arrivals import gamma_arrivals, take
from tpu_kernels.models.serving.comparison import simulate
from tpu_kernels.models.serving.replica_spec import published_replica
from tpu_kernels.models.serving.report import Report
from tpu_kernels.models.serving.request import Request
from tpu_kernels.models.serving.routing import EXACT, LeastRequests, QueueDepth, RoundRobin, Router
from tpu_kernels.models.serving.scoring import StickyUntilSaturated, WeightedScores
from tpu_kernels.models.serving.traffic import SharedPrefixes

ROUTERS: dict[str, Callable[[], Router]] = {
    "round_robin": RoundRobin,
    "least_requests": LeastRequests,
    "queue_depth": QueueDepth,
    "weighted_scores": WeightedScores,
    "weighted_scores_exact": lambda: WeightedScores(index=EXACT),
    "sticky_until_saturated": StickyUntilSaturated,
}
REPLICAS, RATE = 8, 16.0


class Measure(NamedTuple):
    """One run: ``seconds`` of user CPU for making the traffic, simulating it and computing the percentiles."""

    router: str
    requests: int
    seconds: float
    report: Report

    @property
    def per_minute(self) -> float:
        """Requests a minute."""
        return 60 * self.requests / self.seconds if self.seconds else float("inf")


def benchmark_traffic(requests: int, seed: int = 1) -> Iterator[Request]:
    """Bursts (coefficient of variation 2) of 16 requests/s: 150 prompts of 6,000 tokens, a question of 1,200 on average
    after each, and answers of 300."""
    prompts = SharedPrefixes(groups=150, system=6000, question=Length(1200, 400), output=Length(300, 150), seed=seed)
    return prompts.at(take(gamma_arrivals(RATE, Draws(seed), burstiness=2), whole("requests", requests)))


def measure(router: str, requests: int, seed: int = 1) -> Measure:
    """One run on 8 replicas of Qwen3-32B on 2 H100, on one core."""
    spec = published_replica("qwen3_32b_2xh100")
    before = os.times().user
    report = simulate(benchmark_traffic(requests, seed), spec, ROUTERS[router](), replicas=REPLICAS)
    _ = report.ttft, report.tpot, report.itl, report.latency
    return Measure(router, requests, os.times().user - before, report)


def profile(router: str, requests: int, seed: int = 1) -> list[tuple[float, str]]:
    """The share of the time of a run that each function takes by itself, the largest first."""
    import cProfile
    import pstats

    profiler = cProfile.Profile()
    profiler.runcall(measure, router, requests, seed)
    stats: dict[tuple[str, int, str], Any] = pstats.Stats(profiler).stats  # type: ignore[attr-defined]  # not in typeshed
    total = sum(row[2] for row in stats.values())
    shares = [(row[2] / total, f"{Path(path).name}:{name}") for (path, _, name), row in stats.items()]
    return sorted(shares, reverse=True)


def lines(sizes: Sequence[int], routers: Sequence[str], profiled: bool) -> Iterator[str]:
    """The table, a line at a time, so that a long run shows where it is."""
    headings = f"{'user s':>9}{'us/request':>12}{'requests/min':>14}{'TTFT p90 s':>12}{'cached':>8}"
    yield f"{'router':24}{'requests':>10}{headings}"
    for router in routers:
        for size in sizes:
            run = measure(router, size)
            each, report = run.seconds / size * 1e6, run.report
            yield (
                f"{router:24}{size:>10}{run.seconds:>9.2f}{each:>12.1f}{run.per_minute:>14,.0f}"
                f"{float(report.ttft.p90):>12.3f}{float(report.hit_rate):>8.2f}"
            )
    if profiled:
        yield "\nshare of the time in each function itself, under the profiler:"
        for share, name in profile(routers[-1], sizes[0])[:20]:
            yield f"{share:7.1%}  {name}"
