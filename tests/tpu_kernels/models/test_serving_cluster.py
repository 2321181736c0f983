"""Whole runs: what must hold of any, and what each part is there for."""

import sys
from collections.abc import Callable, Sequence
from hashlib import sha256
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_kernels.models import serving
from tpu_kernels.models.serving import Draws, Endpoint, Length, Request

SPEC = serving.published_replica("gaie_simulator")


def shared(rate: float, count: int, seed: int = 1, **changes: object) -> list[Request]:
    sizes: dict[str, object] = {"groups": 12, "system": 600, "question": Length(100, 60), "output": Length(80, 40)}
    prompts = serving.SharedPrefixes(**{**sizes, **changes}, seed=seed)  # type: ignore[arg-type]
    return list(prompts.at(serving.take(serving.gamma_arrivals(rate, Draws(seed), burstiness=2), count)))


ROUTERS: list[Callable[[], serving.Router]] = [
    serving.RoundRobin,
    serving.RandomChoice,
    serving.LeastRequests,
    serving.QueueDepth,
    serving.KVUse,
    serving.PrefixAffinity,
    serving.WeightedScores,
    serving.StickyUntilSaturated,
    lambda: serving.ByConnection(serving.LeastRequests()),
]


@pytest.mark.parametrize("router", ROUTERS)
def test_every_request_is_answered_once_and_leaves_nothing_behind(router: Callable[[], serving.Router]) -> None:
    requests = shared(25, 400, connections=9)
    cluster = serving.Cluster(SPEC, 4, router())
    report = cluster.run(requests)
    ledger = report.ledger
    assert report.answered == report.requests == 400
    assert list(ledger.output) == [request.output_tokens for request in requests]
    assert all(a < f <= e for a, f, e in zip(ledger.arrival, ledger.first, ledger.finish, strict=True))
    assert sum(ledger.gaps.values()) == sum(ledger.output) - 400
    assert [(e.in_flight, e.uncached) for e in cluster.endpoints] == [(0, 0)] * 4
    assert all(replica.cache.held == 0 and not replica.running for replica in cluster.replicas)
    assert all(0 <= share <= 1 for share in report.utilisation)
    assert max(report.utilisation) > 0.3


@pytest.mark.parametrize("router", ROUTERS)
def test_the_same_seed_gives_the_same_run_and_a_router_can_run_twice(router: Callable[[], serving.Router]) -> None:
    used, requests = router(), shared(25, 200, connections=5)
    first, second = (serving.simulate(requests, SPEC, used, replicas=3).ledger for _ in range(2))
    assert list(first.finish) == list(second.finish)
    assert list(first.replica) == list(second.replica)


def test_a_run_is_the_same_to_the_last_digit_in_every_python() -> None:
    # Written down once, with CPython 3.11; Pyodide 314 (Python 3.14, WebAssembly) gives the same.
    report = serving.simulate(shared(25, 300), SPEC, serving.WeightedScores(), replicas=3)
    ledger = report.ledger
    said = [*map(list, (ledger.first, ledger.finish, ledger.cached, ledger.replica)), sorted(ledger.gaps.items())]
    latencies = [float(value).hex() for latency in (report.ttft, report.tpot, report.latency) for value in latency]
    assert sha256(repr((said, latencies)).encode()).hexdigest()[:16] == "1a2426c57cec6479"


@settings(deadline=None, max_examples=30)
@given(st.integers(2, 9), st.integers(0, 5))
def test_a_clock_that_ticks_slower_changes_nothing_but_the_numbers(factor: int, seed: int) -> None:
    requests = [request._replace(arrival=round(request.arrival, 6)) for request in shared(25, 60, seed)]
    slow = [request._replace(arrival=round(request.arrival * factor, 6)) for request in requests]
    step = serving.StepTime(*(part * factor for part in SPEC.step))
    fast_run = serving.simulate(requests, SPEC, serving.LeastRequests(), replicas=2).ledger
    slow_run = serving.simulate(slow, SPEC._replace(step=step), serving.LeastRequests(), replicas=2).ledger
    assert [time * factor for time in fast_run.finish] == list(slow_run.finish)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 50))
def test_prompts_of_a_replica_are_computed_in_the_order_of_arrival(seed: int) -> None:
    report = serving.simulate(shared(20, 80, seed), SPEC, serving.RoundRobin(), replicas=1)
    if not report.recomputed:
        assert all(earlier <= later for earlier, later in pairwise(report.ledger.first))


def test_a_lone_request_takes_what_its_steps_take() -> None:
    report = serving.simulate([Request(1.0, 400, 3)], SPEC, serving.RoundRobin(), replicas=1)
    prefill = 0.01969 + 400 * 6.769375513e-05  # GAIE v1.3.0: c0 + c1 * tokens, and at least 0.04 s
    steps = [0.014 + 0.0001026494433 + 5.353485087e-07 * context for context in (401, 402)]
    assert [SPEC.step.decode(1, context) / 1e12 for context in (401, 402)] == pytest.approx(steps, rel=1e-7)
    assert float(report.ttft.mean) == pytest.approx(prefill, rel=1e-8)
    assert float(report.latency.mean) == pytest.approx(prefill + sum(steps), rel=1e-8)


def test_long_prompts_are_computed_in_chunks_while_others_decode() -> None:
    requests = [Request(0.0, 100, 60), Request(0.1, 3000, 2)]
    ledger = serving.simulate(requests, SPEC, serving.RoundRobin(), replicas=1).ledger
    chunks = [512 - 1] * 5 + [3000 - 5 * 511]  # the budget of a step less the token of the one that decodes
    assert sum(chunks) == 3000
    # While the chunks are computed the first request goes on, a token with each: no gap is longer than a chunk's step.
    slowest = 0.01969 + 511 * 6.769375513e-05 + 0.0001026494433 + 5.353485087e-07 * 200
    assert max(ledger.gaps) <= slowest * 1e4 + 1
    waited = (ledger.first[1] - ledger.arrival[1]) / 1e12
    assert 5 * 0.054 < waited < 6.5 * slowest


def test_memory_that_runs_out_makes_the_latest_start_again() -> None:
    spec = SPEC._replace(kv_tokens=300)
    requests = [Request(0.0, 100, 90), Request(0.001, 100, 90)]
    report = serving.simulate(requests, spec, serving.RoundRobin(), replicas=1)
    assert report.recomputed == 1
    assert report.ledger.finish[0] < report.ledger.finish[1]
    assert serving.simulate(requests, SPEC, serving.RoundRobin(), replicas=1).recomputed == 0


def test_stale_metrics_herd_a_burst_onto_one_replica() -> None:
    busy = [Request(2.4, 400, 60)]
    burst = [Request(2.5 + 0.02 * (number + 1), 400, 60) for number in range(100)]
    fresh, stale = (
        serving.simulate(busy + burst, SPEC, serving.KVUse(), replicas=2, refresh=refresh).requests_by_replica
        for refresh in (0.05, 2.5)
    )
    assert sorted(stale) == [1, 100]  # whoever comes before the next reading sees the same idle replica
    assert min(fresh) > 40


def test_metrics_are_as_old_as_the_last_whole_refresh() -> None:
    seen: list[float] = []

    class Watch(serving.Router):
        metrics = True

        def pick(self, request: Request, endpoints: Sequence[Endpoint]) -> int:
            seen.append(endpoints[0].kv_use)
            return 0

    serving.simulate([Request(0.01 * number, 400, 60) for number in range(30)], SPEC, Watch(), replicas=1)
    assert all(len(set(seen[start : start + 5])) == 1 for start in range(0, 30, 5))  # every 50 ms
    assert seen[0] == 0 < seen[5] < seen[15] < seen[25]


def test_balancing_connections_leaves_the_load_uneven() -> None:
    # Few long-lived connections, one of them much busier: a balancer of connections cannot spread it.
    requests = [request._replace(connection=0 if n % 2 else n % 7) for n, request in enumerate(shared(30, 600))]
    by_connection = serving.simulate(requests, SPEC, serving.ByConnection(serving.RoundRobin()), replicas=4)
    by_request = serving.simulate(requests, SPEC, serving.RoundRobin(), replicas=4)
    assert max(by_request.requests_by_replica) - min(by_request.requests_by_replica) <= 1
    assert max(by_connection.requests_by_replica) > 600 / 2
    assert by_connection.ttft.p90 > 2 * by_request.ttft.p90


def test_a_saturated_pool_refuses_only_what_may_be_refused() -> None:
    arrivals = list(serving.take(serving.gamma_arrivals(60, Draws(2)), 600))
    requests = list(serving.plain(arrivals, prompt=400, output=200, seed=2, shed_share=0.4))
    detector = serving.SaturationDetector()
    open_run = serving.simulate(requests, SPEC, serving.LeastRequests(), replicas=2)
    shed_run = serving.simulate(requests, SPEC, serving.LeastRequests(), replicas=2, detector=detector)
    refused = [request for request, replica in zip(requests, shed_run.ledger.replica, strict=True) if replica < 0]
    assert shed_run.shed == len(refused) > 100
    assert all(request.priority < 0 for request in refused)
    assert shed_run.answered + shed_run.shed == 600
    assert shed_run.ttft.p90 < open_run.ttft.p90
    assert open_run.shed == 0


def test_saturation_is_the_mean_of_the_worse_of_queue_and_memory() -> None:
    pool = [Endpoint(0), Endpoint(1)]
    pool[0].queue_depth, pool[0].kv_use, pool[1].kv_use = 10, 0.4, 0.2
    assert serving.SaturationDetector().saturation(pool) == pytest.approx((10 / 5 + 0.2 / 0.8) / 2)


def test_a_closed_loop_keeps_so_many_at_work() -> None:
    requests = [Request(0.0, 200, 50) for _ in range(60)]
    report = serving.simulate(requests, SPEC, serving.LeastRequests(), replicas=2, concurrency=6)
    events = sorted([(t, 1) for t in report.ledger.arrival] + [(t, -1) for t in report.ledger.finish])
    level, most = 0, 0
    for _, change in events:
        level += change
        most = max(most, level)
    assert most == 6
    assert report.answered == 60


def test_turns_wait_for_the_answer_before_them() -> None:
    talks = list(serving.conversations([0.0, 0.1], turns=4, question=30, output=20, system=100, think=0.5, seed=1))
    report = serving.simulate(talks, SPEC, serving.RoundRobin(), replicas=2)
    assert report.answered == 8
    # Every turn but the first two arrives after some answer has ended.
    assert sorted(report.ledger.arrival)[2] > min(report.ledger.finish)


def test_a_cluster_goes_on_with_warm_caches() -> None:
    cluster = serving.Cluster(SPEC, 1, serving.RoundRobin())
    cold = cluster.run([Request(0.0, 400, 5, ((1, 320),))])
    cluster.pause(3.0)
    warm = cluster.run([Request(0.0, 400, 5, ((1, 320),))])
    assert (float(cold.hit_rate), float(warm.hit_rate)) == (0, 0.8)
    assert warm.ttft.mean <= cold.ttft.mean
    assert float(warm.duration) == pytest.approx(float(warm.latency.mean))


def test_a_readers_own_router_needs_nothing_but_pick() -> None:
    class Mine:
        def pick(self, request: Request, endpoints: Sequence[Endpoint]) -> int:
            return max(endpoints, key=lambda e: (e.prefix_match(request), -e.in_flight)).index

    report = serving.simulate(shared(10, 100), SPEC, Mine(), replicas=3)
    blind = serving.simulate(shared(10, 100), SPEC, serving.RoundRobin(), replicas=3)
    assert report.hit_rate > blind.hit_rate


def calls(count: int, router: serving.Router) -> int:
    """Python calls that a run makes: a measure of work that no clock disturbs."""
    requests, made = shared(25, count), 0

    def trace(frame: object, event: str, argument: object) -> None:
        nonlocal made
        made += event == "call"

    sys.setprofile(trace)
    try:
        serving.simulate(requests, SPEC, router, replicas=4)
    finally:
        sys.setprofile(None)
    return made


@pytest.mark.parametrize("router", [serving.LeastRequests, serving.WeightedScores])
def test_twice_the_requests_are_twice_the_work(router: Callable[[], serving.Router]) -> None:
    small, large = calls(500, router()), calls(4000, router())
    assert large / small == pytest.approx(8, rel=0.1)
    assert small / 500 < 100
