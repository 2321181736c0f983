"""Checkpoint intervals: Young's, Daly's, the exact one and the simulated one, against each other."""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import repeat

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_kernels import messages
from tpu_kernels.models import cost

TIMES = st.floats(1e-3, 1e3)


def golden(function: Callable[[float], float], low: float, high: float) -> float:
    """The minimum of a function with one, by golden section."""
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(200):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, right) if function(left) < function(right) else (left, high)
    return (low + high) / 2


@settings(deadline=None)
@given(TIMES, TIMES)
def test_the_exact_interval_is_where_the_expected_time_is_least(checkpoint: float, mtti: float) -> None:
    best = cost.best_interval(checkpoint, mtti)
    # Of the logarithm, which has the same minimum and no overflow; in units of mtti.
    ratio = checkpoint / mtti
    searched = golden(lambda x: x + ratio + math.log(-math.expm1(-x - ratio)) - math.log(x), 1e-7, 1.0)
    assert best / mtti == pytest.approx(searched, rel=1e-5, abs=1e-6)
    assert 0 < best <= mtti


@settings(deadline=None)
@given(st.floats(1e-9, 600))
def test_the_exact_interval_solves_its_equation(ratio: float) -> None:
    x = Fraction(cost.best_interval(ratio, 1.0))
    residue = float(x) + ratio + math.log(1 - x) if x < 1 else 0.0
    assert abs(residue) < 1e-9 * max(1.0, ratio, 1 / (1 - float(x)) if x < 1 else 1e9)


@settings(deadline=None)
@given(st.floats(1e-6, 0.5))
def test_the_estimates_come_nearer_in_the_order_of_their_papers(ratio: float) -> None:
    best = cost.best_interval(ratio, 1.0)
    daly, young = cost.daly_interval(ratio, 1.0), cost.young_interval(ratio, 1.0)
    assert abs(daly - best) <= abs(young - best) + 1e-12
    assert daly == pytest.approx(best, rel=0.006)
    # What matters is the time that a wrong interval costs: Daly's stays under a fifth of a percent, as he says.
    loss = [cost.expected_time(1, tau, checkpoint=ratio, mtti=1) for tau in (daly, best)]
    assert loss[0] / loss[1] < 1.002


def test_estimates_by_hand() -> None:
    assert cost.young_interval(2, 100) == 20
    assert cost.daly_first_interval(2, 100, 44) == 24
    assert cost.daly_first_interval(2, 100) == cost.young_interval(2, 100)
    # sqrt(2 * 2 * 100) * (1 + 0.1 / 3 + 0.01 / 9) - 2
    assert cost.daly_interval(2, 100) == pytest.approx(20 * (1 + 0.1 / 3 + 0.01 / 9) - 2)
    assert cost.daly_interval(200, 100) == cost.daly_interval(1000, 100) == 100


@settings(deadline=None)
@given(TIMES, TIMES, st.floats(0, 50), st.floats(0, 50), st.floats(0.01, 100))
def test_more_trouble_is_never_less_time(
    checkpoint: float, mtti: float, restart: float, wait: float, interval: float
) -> None:
    def time(**changes: float) -> float:
        given = {"checkpoint": checkpoint, "mtti": mtti, "restart": restart, "wait": wait, **changes}
        return cost.expected_time(100.0, interval, **given)

    base = time()
    assert base >= 100
    assert time(checkpoint=2 * checkpoint) >= base
    assert time(restart=2 * restart + 1) >= base
    assert time(wait=2 * wait + 1) >= base
    assert time(mtti=2 * mtti) <= base
    assert cost.expected_time(200.0, interval, checkpoint=checkpoint, mtti=mtti) >= 200


def stepwise(
    work: int, interval: int, lives: list[int], *, checkpoint: int, restart: int, wait: int
) -> tuple[int, int, int, int, int, int]:
    """The run tick by tick: (work, saving, lost, restarting, waiting, interruptions)."""
    saved = saving = lost = restarting = waiting = interruptions = 0
    for number, life in enumerate(lives):
        phase, left, at_risk, current = ("loading", restart, 0, 0) if number else ("working", 0, 0, 0)
        for _ in range(life):
            if phase == "loading" and not left:
                phase = "working"
            if phase == "loading":
                left, restarting = left - 1, restarting + 1
                continue
            at_risk += 1
            if current < min(interval, work - saved):
                current += 1
            else:
                left += 1
            if current == min(interval, work - saved) and left == checkpoint:
                saved, saving, at_risk, current, left = saved + current, saving + checkpoint, 0, 0, 0
                if saved == work:
                    return saved, saving, lost, restarting, waiting, interruptions
        lost, waiting, interruptions = lost + at_risk, waiting + wait, interruptions + 1
    raise AssertionError("the lives were too short")


@settings(deadline=None)
@given(
    st.integers(1, 60),
    st.integers(1, 20),
    st.lists(st.integers(1, 40), max_size=8),
    st.integers(0, 5),
    st.integers(0, 9),
    st.integers(0, 9),
)
def test_a_run_is_that_of_a_clock_that_ticks(
    work: int, interval: int, lives: list[int], checkpoint: int, restart: int, wait: int
) -> None:
    lives = [*lives, 10_000]
    costs = {"checkpoint": checkpoint, "restart": restart, "wait": wait}
    run = cost.run_with_restarts(work, interval, [float(life) for life in lives], **costs)
    assert tuple(run) == stepwise(work, interval, lives, **costs)
    assert run.elapsed == sum(run[:5])
    assert float(run.goodput) + sum(map(float, run.badput.values())) == pytest.approx(1)
    assert run.goodput == pytest.approx(run.scheduling_goodput * run.runtime_goodput)


@pytest.mark.parametrize(
    ("interval", "costs"),
    [
        (1.0, {"checkpoint": 0.1, "restart": 0.3, "wait": 0.0}),
        (3.0, {"checkpoint": 0.05, "restart": 0.5, "wait": 2.0}),
        (0.2, {"checkpoint": 0.02, "restart": 0.0, "wait": 0.0}),
    ],
)
def test_the_formula_is_the_mean_of_simulated_runs(interval: float, costs: dict[str, float]) -> None:
    lives = cost.Interruptions(10.0, seed=4)
    simulated = cost.simulated_goodput(interval, lives, **costs, count=20_000)
    expected = cost.expected_goodput(interval, mtti=10.0, **costs)
    assert float(simulated) == pytest.approx(float(expected), rel=0.01)


def test_simulation_finds_the_exact_interval_when_times_are_exponential() -> None:
    found = cost.best_interval_by_simulation(cost.Interruptions(24.0, seed=1), checkpoint=0.1, restart=0.2, count=4000)
    exact = cost.best_interval(0.1, 24.0)
    assert found == pytest.approx(exact, rel=0.25)  # candidates are 11 % apart, and the optimum is flat
    goodput = [cost.expected_goodput(tau, checkpoint=0.1, mtti=24.0, restart=0.2) for tau in (found, exact)]
    assert float(goodput[0]) == pytest.approx(float(goodput[1]), rel=2e-3)


def test_when_age_protects_a_longer_interval_is_best() -> None:
    # Weibull with a falling hazard: interruptions come early and together, and long lives are very long. There is no
    # formula for it: compared with the exponential's own simulation.
    def best(shape: float) -> float:
        lives = cost.Interruptions(24.0, shape=shape, seed=2)
        return cost.best_interval_by_simulation(lives, checkpoint=0.2, restart=0.2, count=3000)

    def goodput(shape: float) -> float:
        lives = cost.Interruptions(24.0, shape=shape, seed=2)
        return float(cost.simulated_goodput(3.0, lives, checkpoint=0.2, restart=0.2, count=6000))

    assert best(0.5) > 1.2 * best(1.0)
    assert goodput(0.5) > goodput(1.0)


@pytest.mark.parametrize("shape", [0.5, 1.0, 2.0])
def test_interruptions_have_the_mean_asked_for(shape: float) -> None:
    lives = cost.Interruptions(7.0, shape=shape, seed=3).lives()
    assert sum(next(lives) for _ in range(40_000)) / 40_000 == pytest.approx(7.0, rel=0.03)


def endless(life: float) -> Iterator[float]:
    return repeat(life)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: cost.young_interval(0, 1), "checkpoint.*0"),
        (lambda: cost.young_interval(1, -1), "mtti.*-1"),
        (lambda: cost.daly_interval(True, 1), "checkpoint.*True"),
        (lambda: cost.daly_first_interval(1, 1, -1), "restart.*-1"),
        (lambda: cost.best_interval(1, float("nan")), "mtti.*nan"),
        (lambda: cost.expected_time(0, 1, checkpoint=1, mtti=1), "work.*0"),
        (lambda: cost.expected_goodput(0, checkpoint=1, mtti=1), "interval.*0"),
        (lambda: cost.greatest_restart(90, checkpoint=1, mtti=1), "goodput.*90"),
        (lambda: cost.mtti_of(0, 100), "machines.*0"),
        (lambda: cost.Interruptions(0), "mtti.*0"),
        (lambda: cost.Interruptions(1, shape=-1), "shape.*-1"),
        (lambda: cost.Interruptions(1, seed=0.5), "seed.*0.5"),  # type: ignore[arg-type]
        (lambda: cost.run_with_restarts(10, 1, [1.0, 2.0], checkpoint=0.1), "2 duraciones"),
        (lambda: cost.run_with_restarts(10, 1, endless(1.0), checkpoint=-1), "checkpoint.*-1"),
        (lambda: cost.simulated_goodput(1, cost.Interruptions(9), checkpoint=1, count=0), "count.*0"),
    ],
)
def test_what_cannot_be_is_refused(wrong: Callable[[], object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        wrong()


def test_a_run_reads_in_both_languages() -> None:
    run = cost.run_with_restarts(100, 5, cost.Interruptions(20, seed=1), checkpoint=0.5, restart=1)
    assert "interrupciones" in repr(run)
    messages.use("pt")
    assert "interrupções" in repr(run)
