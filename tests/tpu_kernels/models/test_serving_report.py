"""Latencies, percentiles and goodput: by their definitions, and numpy's percentiles."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_kernels import messages
from tpu_kernels.models import serving
from tpu_kernels.models.serving import Draws, Length, Request

SPEC = serving.published_replica("gaie_simulator")


def run(rate: float = 6.0, count: int = 300, seed: int = 3) -> serving.Report:
    arrivals = serving.take(serving.gamma_arrivals(rate, Draws(seed)), count)
    traffic = serving.plain(arrivals, prompt=Length(250, 100), output=Length(120, 80), seed=seed)
    return serving.simulate(traffic, SPEC, serving.LeastRequests(), replicas=2)


REPORT = run()
FIRST = np.array(REPORT.ledger.first) / 1e12
ARRIVAL = np.array(REPORT.ledger.arrival) / 1e12
FINISH = np.array(REPORT.ledger.finish) / 1e12
OUTPUT = np.array(REPORT.ledger.output)


@settings(deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50), st.floats(0, 1))
def test_percentiles_are_numpys(values: list[float], share: float) -> None:
    expected = np.percentile(values, 100 * share)
    assert serving.percentile(sorted(values), share) == pytest.approx(expected, rel=1e-9, abs=1e-6)


@pytest.mark.parametrize(
    ("latency", "values"),
    [
        (REPORT.ttft, FIRST - ARRIVAL),
        (REPORT.tpot, ((FINISH - FIRST) / (OUTPUT - 1))[OUTPUT > 1]),
        (REPORT.latency, FINISH - ARRIVAL),
    ],
)
def test_latencies_are_what_their_names_say(latency: serving.Latency, values: np.ndarray) -> None:
    expected = [values.mean(), *np.percentile(values, [50, 90, 95, 99])]
    assert [float(value) for value in latency] == pytest.approx(expected)
    assert {value.unit for value in latency} == {"s"}


def test_a_whole_answer_is_the_first_token_and_the_gaps_after_it() -> None:
    # inference-perf: E2E = TTFT + TPOT * (output - 1); the gaps of all requests have the mean of all gaps.
    gaps = (FINISH - FIRST).sum() / (OUTPUT - 1).sum()
    assert float(REPORT.itl.mean) == pytest.approx(gaps)
    assert REPORT.itl.p50 <= REPORT.itl.p90 <= REPORT.itl.p95 <= REPORT.itl.p99


def test_throughput_counts_to_the_last_answer() -> None:
    assert float(REPORT.duration) == pytest.approx(FINISH.max())
    assert REPORT.request_throughput == pytest.approx(300 / FINISH.max())
    assert REPORT.output_throughput == pytest.approx(OUTPUT.sum() / FINISH.max())
    assert REPORT.input_throughput == pytest.approx(sum(REPORT.ledger.prompt) / FINISH.max())
    assert sum(REPORT.requests_by_replica) == 300


@settings(deadline=None)
@given(st.floats(0.01, 5), st.floats(0.001, 0.1))
def test_goodput_counts_the_requests_that_meet_every_objective(ttft: float, tpot: float) -> None:
    good = (ttft >= FIRST - ARRIVAL) & ((FINISH - FIRST) / np.maximum(OUTPUT - 1, 1) <= tpot)
    tokens = (OUTPUT + np.array(REPORT.ledger.prompt))[good].sum()
    goodput = REPORT.goodput(ttft=ttft, tpot=tpot)
    assert goodput.requests == pytest.approx(good.sum() / FINISH.max())
    assert goodput.tokens == pytest.approx(tokens / FINISH.max())
    assert goodput.share == pytest.approx(good.mean())
    assert goodput.requests <= REPORT.goodput(ttft=ttft).requests <= REPORT.request_throughput * (1 + 1e-12)


def test_other_objectives() -> None:
    slow = float(REPORT.latency.p90)
    assert REPORT.goodput(latency=slow).share == pytest.approx(0.9, abs=0.005)
    each = float(np.median((FINISH - ARRIVAL) / OUTPUT))
    assert REPORT.goodput(ntpot=each).share == pytest.approx(0.5, abs=0.005)
    with pytest.raises(ValueError, match=r"ttft.*-1"):
        REPORT.goodput(ttft=-1)


def test_waiting_follows_littles_law() -> None:
    # The mean queue is what is found by looking at it: here, from the times of waiting one by one.
    crowded = run(rate=40.0, count=400)
    first, arrival = (np.array(getattr(crowded.ledger, name)) for name in ("first", "arrival"))
    assert 0 < crowded.mean_waiting < (first - arrival).sum() / (2 * float(crowded.duration) * 1e12)


def test_of_nothing_there_is_no_latency() -> None:
    report = serving.simulate([], SPEC, serving.RoundRobin(), replicas=1)
    assert report.requests == report.request_throughput == float(report.hit_rate) == 0
    assert np.isnan(report.ttft.p90)
    assert np.isnan(report.itl.mean)


def test_answers_of_one_token_have_no_gaps() -> None:
    report = serving.simulate([Request(0.0, 100, 1)], SPEC, serving.RoundRobin(), replicas=1)
    assert np.isnan(report.tpot.mean)
    assert report.ttft.mean == report.latency.mean == 0.04


def test_a_report_reads_in_both_languages() -> None:
    assert "300 respuestas en" in repr(REPORT)
    assert "TTFT" in REPORT._repr_html_()
    messages.use("pt")
    assert "300 respostas em" in repr(REPORT)


def test_a_comparison_is_a_table_of_the_runs() -> None:
    requests = [Request(0.1 * number, 200, 20) for number in range(40)]
    routers = [serving.RoundRobin(), serving.QueueDepth()]
    compared = serving.compare(requests, SPEC, routers, replicas=2)
    again = serving.compare(lambda: iter(requests), SPEC, routers, replicas=2)
    assert list(compared) == ["round_robin", "queue_depth"]
    assert compared["round_robin"].ttft == again["round_robin"].ttft
    weighted = [serving.WeightedScores(), serving.WeightedScores("gaie_v1_0")]
    assert list(serving.compare(requests, SPEC, weighted, replicas=2)) == ["weighted_scores", "weighted_scores 2"]
    table = compared.table()
    assert [row[0].text for row in table.rows] == ["Por turnos (round robin)", "Profundidad de cola"]
    assert len(table.headings) == 8
    assert "<table" in compared._repr_html_()
    assert "Solicitudes/s" in repr(compared)


@pytest.mark.parametrize(("values", "share"), [([], 0.5), ([1.0], 1.5), ([1.0], -0.1)])
def test_percentiles_of_nothing_and_beyond_are_refused(values: list[float], share: float) -> None:
    with pytest.raises(ValueError, match="Percentil"):
        serving.percentile(values, share)
