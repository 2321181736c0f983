"""The simulator against benchmarks of real servers (data/serving.toml). Nothing was fitted to them.

The servers are Qwen3-32B on 2 H100: prefill at the rate that llm-d calibrated, decoding from the data sheet, the KV
cache that the report gives. Real servers decode about half as fast as a data sheet lets them, and a request costs some
tenths of a second before a model sees it: so levels are missed, in the same direction for all schedulers. What is
compared is the order of the schedulers, their ratios, and where the load becomes too much. Each miss is a line of the
test.
"""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import repeat

import pytest

from tpu_kernels.models import serving
from tpu_kernels.models.serving import Draws, Length, Report, Request
from tpu_kernels.models.serving.traffic import QUESTION, SYSTEM

SPEC = serving.published_replica("qwen3_32b_2xh100")

# The configurations of the report, by its own names for them.
SCHEDULERS: dict[str, Callable[[], serving.Router]] = {
    "precise": lambda: serving.WeightedScores("gaie_v1_5", index=serving.EXACT),  # 2 / 2 / 3, and sees every cache
    "estimated": lambda: serving.WeightedScores("gaie_v1_0"),  # 1 / 1 / 1, and remembers where it sent what
    "load": lambda: serving.WeightedScores("gaie_v1_0", prefix=0),
    "random": serving.RandomChoice,
    "round robin": serving.RoundRobin,
    "sticky": serving.StickyUntilSaturated,
}
MEANS = {row[0]: row[1:] for row in serving.table("V6").rows}
BY_RATE = {(row[1], row[0]): row[2:] for row in serving.table("V6_by_rate").rows}


@cache
def ladder(scheduler: str) -> dict[float, Report]:
    """The stages of V6 on 8 servers, by requests per second; 17,000 requests. Warm-up left out."""
    prompts = serving.SharedPrefixes(
        groups=150, system=6000, question=1200, output=1000, questions=5, order="cycle", seed=1
    )
    cluster, draws = serving.Cluster(SPEC, 8, SCHEDULERS[scheduler]()), Draws(101)
    reports = {}
    for stage, (rate, seconds) in enumerate(serving.table("V6_stages").rows):
        cluster.pause(1)
        report = cluster.run(prompts.at(serving.take(serving.gamma_arrivals(rate, draws), round(rate * seconds))))
        if stage:
            reports[rate] = report
    return reports


def mean(scheduler: str, what: str) -> float:
    reports = ladder(scheduler).values()
    values = {
        "output": [report.output_throughput for report in reports],
        "ttft p90": [float(report.ttft.p90) for report in reports],
        "ttft mean": [float(report.ttft.mean) for report in reports],
        "waiting": [report.mean_waiting for report in reports],
    }
    return sum(values[what]) / len(reports)


def test_v6_schedulers_rank_as_measured() -> None:
    for what in ("ttft p90", "ttft mean", "waiting"):
        assert mean("precise", what) < mean("estimated", what) < min(mean("load", what), mean("random", what))
    assert mean("precise", "output") > mean("estimated", "output") > mean("load", "output")
    assert mean("estimated", "output") > mean("random", "output")
    # Load without caches gains nothing over chance: 4,266 against 4,429 tokens/s measured; here 7 % more.
    assert mean("load", "output") == pytest.approx(mean("random", "output"), rel=0.1)


def test_v6_ratios_of_throughput() -> None:
    def ratios(of: dict[str, float]) -> tuple[float, float]:
        return of["precise"] / of["estimated"], of["precise"] / of["random"]

    measured = ratios({name: row[0] for name, row in MEANS.items()})
    modelled = ratios({name: mean(name, "output") for name in MEANS})
    assert measured == pytest.approx((1.257, 1.971), abs=1e-3)
    assert modelled[0] == pytest.approx(measured[0], rel=0.05)  # 1.21: 4 % low
    assert modelled[1] == pytest.approx(measured[1], rel=0.20)  # 1.64: 17 % low


def test_v6_levels_are_missed_by_a_third_to_four_fifths() -> None:
    # Decoding from the data sheet is too fast: 1.36, 1.42, 1.81 and 1.64 times the tokens per second.
    for name, row in MEANS.items():
        assert 1.3 < mean(name, "output") / row[0] < 1.9
    # And a first token costs more than its computing: 0.10 s against 0.54 s where nothing waits.
    waits = {name: sum(row[1] for (of, _), row in BY_RATE.items() if of == name) / 16 for name in MEANS}
    assert mean("precise", "ttft p90") < waits["precise"] / 4
    # Which makes ratios of TTFT to the best scheduler too large: 45 and 145 from the stages, 370 and 620 here.
    assert mean("estimated", "ttft p90") / mean("precise", "ttft p90") > 4 * waits["estimated"] / waits["precise"]
    assert mean("estimated", "ttft p90") == pytest.approx(waits["estimated"], rel=0.6)  # 36 s against 24 s
    assert mean("random", "ttft p90") == pytest.approx(waits["random"], rel=0.25)  # 61 s against 78 s


def test_v6_queues_of_overloaded_schedulers_are_met() -> None:
    # From 40 requests/s on the wait is that of the whole queue, and does not ask what an idle server takes.
    for name in ("load", "random"):
        for rate in (40, 43, 46, 49, 52, 55, 57, 60):
            measured = BY_RATE[name, rate]
            assert float(ladder(name)[rate].ttft.p90) == pytest.approx(measured[1], rel=0.16)
            assert float(ladder(name)[rate].ttft.mean) == pytest.approx(measured[2], rel=0.10)
    assert mean("random", "waiting") == pytest.approx(MEANS["random"][3], rel=0.35)  # 36 against 27.3 a server
    assert mean("precise", "waiting") == pytest.approx(MEANS["precise"][3], abs=6)  # 5.4 against 0.1: a miss


def bend(waits: dict[float, float], limit: float = 10.0) -> tuple[float, float]:
    """The first rate at which the wait passes the limit, after the one before it; infinite if none does."""
    good = 0.0
    for rate in sorted(waits):
        if waits[rate] > limit:
            return good, rate
        good = rate
    return good, float("inf")


def test_v6_where_the_load_becomes_too_much() -> None:
    modelled = {n: bend({rate: float(r.ttft.p90) for rate, r in ladder(n).items()}) for n in MEANS}
    measured = {n: bend({rate: row[1] for (name, rate), row in BY_RATE.items() if name == n}) for n in MEANS}
    assert measured == {"precise": (60, float("inf")), "estimated": (35, 40), "load": (15, 20), "random": (15, 20)}
    for name in ("precise", "load", "random"):
        assert modelled[name] == measured[name]
    assert modelled["estimated"] == (25, 30)  # two stages early: a miss


def test_v7_b2b_saas_bends_where_measured_and_at_half_the_throughput() -> None:
    # Measured: knee at 18 requests/s with 45k prompt tokens/s, against 38 with 90k (the same ladder of rates assumed).
    robin, sticky = ladder("round robin"), ladder("sticky")
    assert bend({rate: float(report.ttft.p90) for rate, report in robin.items()}) == (15, 20)
    most = max(report.input_throughput for report in sticky.values())
    assert sticky[40].input_throughput > 0.97 * most > 1.08 * sticky[35].input_throughput  # grows up to 40, not beyond
    ratio = sticky[40].input_throughput / robin[20].input_throughput
    assert ratio == pytest.approx(90 / 45, rel=0.10)  # 1.85
    assert sticky[40].input_throughput == pytest.approx(90_000, rel=0.25)  # 109k
    assert robin[20].input_throughput == pytest.approx(45_000, rel=0.35)  # 59k


def reasoning(concurrency: int) -> Iterator[Request]:
    """V7: as many prompts as requests at a time, each asked three times; answers of 8,000 tokens on average."""
    draws = Draws(3)
    question, output = Length(1000, 800, least=100, most=5000), Length(8000, 6500, least=500, most=32000)
    asked = [(question.draw(draws), output.draw(draws)) for _ in range(concurrency)]
    for _ in range(3):
        for number, (tokens, answer) in enumerate(asked):
            yield Request(0.0, 250 + tokens, answer, ((SYSTEM, 250), (QUESTION + number, tokens)))


def test_v7_reasoning_bends_where_memory_runs_out() -> None:
    def runs(concurrency: int) -> tuple[Report, Report]:
        routers = (serving.RoundRobin(), serving.StickyUntilSaturated("requests"))
        made = [
            serving.simulate(reasoning(concurrency), SPEC, router, replicas=10, concurrency=concurrency)
            for router in routers
        ]
        return made[0], made[1]

    # Published knees: 250 requests at a time with round robin, 350 with the matched router. In the simulator these are
    # the first loads at which a server's KV cache is full and requests are computed again.
    robin, matched = runs(200)
    assert robin.recomputed == matched.recomputed == 0
    robin, matched = runs(250)
    assert robin.recomputed > 0 == matched.recomputed
    assert runs(300)[1].recomputed == 0
    robin, matched = runs(350)
    assert matched.recomputed > 0
    # 7.0k against 6.8k output tokens/s: parity. Here 0.93; and both are a third too fast.
    assert matched.output_throughput / robin.output_throughput == pytest.approx(7.0 / 6.8, rel=0.12)
    assert matched.output_throughput == pytest.approx(7000, rel=0.4)


def test_v7_code_generation_gains_as_much_as_measured() -> None:
    # Conversations that begin with 55,000 tokens. Their spread is not published: 35,000 (and 4 of 6 turns) are assumed.
    def run(router: serving.Router, concurrency: int) -> Report:
        talks = serving.conversations(
            repeat(0.0, concurrency),
            turns=Length(6, 4, least=2, most=20),
            question=Length(1500, 1200, least=100, most=10_000),
            output=Length(800, 825, least=50, most=4000),
            system=Length(55_000, 35_000, least=3000, most=100_000),
            seed=3,
        )
        return serving.simulate(talks, SPEC, router, replicas=10, concurrency=concurrency)

    sticky = {load: run(serving.StickyUntilSaturated(), load) for load in (20, 60, 100)}
    robin = {load: run(serving.RoundRobin(), load) for load in (20, 30, 60)}
    # Knees at 60 and 30: 46k against 16k prompt tokens/s, 2.9 times.
    ratio = sticky[60].input_throughput / robin[30].input_throughput
    assert ratio == pytest.approx(46 / 16, rel=0.05)
    assert sticky[100].input_throughput < 1.05 * sticky[60].input_throughput  # 60 is where it stops growing
    assert sticky[20].input_throughput < 0.5 * sticky[60].input_throughput
    assert sticky[60].input_throughput == pytest.approx(46_000, rel=0.6)  # 70k: half as much again
    # The simulator does not see why round robin stops at 30: there it goes on to grow, which is a miss.
    assert robin[60].input_throughput > 1.4 * robin[30].input_throughput
    assert sticky[60].hit_rate > 3 * robin[60].hit_rate


@pytest.mark.parametrize("row", serving.table("V8").rows, ids=lambda row: f"{row[0]} {row[1]}")
def test_v8_the_gap_is_rate_times_delay(row: tuple[str, str, int, float, float]) -> None:
    # Printed to the nearest thousand.
    assert serving.saturation_gap(row[3], 14) == pytest.approx(row[4], abs=500)


def test_v8_the_default_gap_and_the_calibrated_step() -> None:
    assert serving.StickyUntilSaturated().gap == 15_928 * 18 == 286_704
    chunk = 8192
    assert SPEC.step.mixed(chunk, chunk * (chunk + 1) // 2, 0, 0) / 1e12 == pytest.approx(chunk / 20_480, rel=1e-4)


def test_the_kv_cache_of_the_report_is_what_the_memory_leaves() -> None:
    # 307,328 tokens of 2 * 64 * 8 * 128 * 2 bytes beside 65.6 GB of weights: 91 % of 2 * 80 GB.
    model = serving.language_model("Qwen3-32B")
    token = 2 * model.layers * model.kv_heads * model.head_dim * 2
    assert 0.9 < (2 * model.parameters + SPEC.kv_tokens * token) / 160e9 < 0.92


def test_v9_an_inference_gateway_beats_round_robin_in_all_three() -> None:
    # 8 A100 40GB with Llama 3.1 8B. Neither prompts nor rates of the study are restated: prefixes that fit into all
    # caches together but not into each, at a rate that is just too much for round robin, show the direction, no more.
    step = serving.roofline_step("Llama-3.1-8B", "A100 40GB")
    model = serving.language_model("Llama-3.1-8B")
    room = int((0.9 * 40e9 - 2 * model.parameters) / (2 * model.layers * model.kv_heads * model.head_dim * 2))
    spec = serving.replica_spec(step, kv_tokens=room)

    def run(router: serving.Router) -> Report:
        prompts = serving.SharedPrefixes(
            groups=200, system=4000, question=Length(200, 100), output=Length(250, 100), seed=1
        )
        arrivals = serving.take(serving.gamma_arrivals(44, Draws(1)), 4000)
        return serving.simulate(prompts.at(arrivals), spec, router, replicas=8)

    gateway, robin = run(serving.WeightedScores()), run(serving.RoundRobin())
    published = {row[0]: row[1:3] for row in serving.table("V9").rows}
    assert published["output throughput"][0] / published["output throughput"][1] == pytest.approx(1.187, abs=1e-3)
    assert gateway.output_throughput > robin.output_throughput
    assert robin.ttft.mean > 5 * gateway.ttft.mean  # 13.9 times in the study
    assert robin.itl.mean > 1.5 * gateway.itl.mean  # 2.7 times
    assert gateway.hit_rate > 2 * robin.hit_rate
