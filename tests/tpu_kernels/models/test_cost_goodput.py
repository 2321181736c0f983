"""The parts of goodput, and what the published interruptions of a large run tell of its checkpoints."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_kernels.models import cost

TIMES = st.floats(0, 1e4)
MTTI = float(cost.run_number("mean_time_between"))  # hours
MINUTE = 1 / 60


def test_the_parts_multiply() -> None:
    assert cost.productivity_goodput(scheduling=0.95, runtime=0.9, program=0.5) == pytest.approx(0.4275)


def test_runtime_goodput_by_hand() -> None:
    # A day: three interruptions cost 40 minutes of progress and 10 to resume each, and 30 without a slice.
    share = cost.runtime_goodput(24 * 60, lost=3 * 40, resuming=3 * 10, rescheduling=3 * 30)
    assert share == pytest.approx((1440 - 150 - 90) / (1440 - 90))


@settings(deadline=None)
@given(TIMES.filter(bool), st.dictionaries(st.sampled_from("abcdef"), TIMES))
def test_shares_add_up_to_one(productive: float, badput: dict[str, float]) -> None:
    shares = cost.badput_shares(productive, badput)
    assert next(iter(shares)) == "goodput"
    assert sum(map(float, shares.values())) == pytest.approx(1)


@settings(deadline=None)
@given(st.integers(1, 400), st.floats(0, 0.5), st.floats(0, 1), st.floats(0, 2))
def test_a_simulated_run_has_the_same_parts(seed: int, checkpoint: float, restart: float, wait: float) -> None:
    lives = cost.Interruptions(10, seed=seed)
    run = cost.run_with_restarts(100, 2, lives, checkpoint=checkpoint, restart=restart, wait=wait)
    overall = cost.productivity_goodput(scheduling=run.scheduling_goodput, runtime=run.runtime_goodput, program=1)
    assert overall == pytest.approx(run.goodput)
    # The blog's formula leaves saving out of the badput; the rest is the same.
    blog = cost.runtime_goodput(run.elapsed, lost=run.lost, resuming=run.restarting, rescheduling=run.waiting)
    assert float(blog) == pytest.approx((run.work + run.saving) / (run.elapsed - run.waiting))


def test_v11_the_record_is_consistent_but_for_one_percentage() -> None:
    days, unexpected = cost.run_number("days"), cost.run_number("unexpected")
    assert pytest.approx(days * 24 / unexpected, rel=1e-12) == MTTI
    assert pytest.approx(3.09, abs=0.005) == MTTI
    assert cost.run_number("planned") + unexpected == 466
    for cause, count, percent in cost.causes().rows:
        stated = percent == pytest.approx(100 * count / unexpected, abs=0.06)
        assert stated != (cause == "faulty GPU")  # 148 of 419 is 35.3 %, printed as 30.1 %
    assert sum(row[1] for row in cost.causes().rows) == 291 < unexpected


def test_v11_ninety_percent_needs_checkpoints_under_a_minute() -> None:
    wanted = float(cost.run_number("effective_share"))

    def restart(checkpoint_minutes: float) -> float:
        """The longest restart in minutes that leaves 90 %."""
        return cost.greatest_restart(wanted, checkpoint=checkpoint_minutes * MINUTE, mtti=MTTI) / MINUTE

    # With saving for nothing, an interruption may take 19.6 minutes in all: a tenth of the time between two, roughly.
    assert restart(1e-6) == pytest.approx(19.6, abs=0.1)
    assert restart(10 / 60) == pytest.approx(11.6, abs=0.1)
    assert restart(30 / 60) == pytest.approx(5.8, abs=0.1)
    assert restart(59 / 60) > 0 > restart(1.0)  # at a minute of saving no restart is short enough
    # The interval that goes with half a minute: every 13 minutes.
    assert cost.best_interval(30 / 60 * MINUTE, MTTI) / MINUTE == pytest.approx(13.3, abs=0.1)


@pytest.mark.parametrize("seconds", [5, 15, 30, 50])
def test_v11_simulation_agrees_with_what_the_formula_allows(seconds: float) -> None:
    checkpoint = seconds / 3600
    interval = cost.best_interval(checkpoint, MTTI)
    longest = cost.greatest_restart(0.9, checkpoint=checkpoint, mtti=MTTI)
    assert cost.expected_goodput(interval, checkpoint=checkpoint, mtti=MTTI, restart=longest) == pytest.approx(0.9)
    lives = cost.Interruptions(MTTI, seed=6)
    simulated = cost.simulated_goodput(interval, lives, checkpoint=checkpoint, restart=longest, count=8000)
    assert float(simulated) == pytest.approx(0.9, abs=0.005)


@settings(deadline=None)
@given(st.floats(0.01, 0.5), st.floats(1, 100), st.floats(0.5, 0.99), st.floats(1.1, 5))
def test_less_restart_is_allowed_where_more_is_asked(
    checkpoint: float, mtti: float, goodput: float, factor: float
) -> None:
    longest = cost.greatest_restart(goodput, checkpoint=checkpoint, mtti=mtti)
    assert cost.greatest_restart(min(goodput * 1.005, 1), checkpoint=checkpoint, mtti=mtti) <= longest
    assert cost.greatest_restart(goodput, checkpoint=checkpoint * factor, mtti=mtti) <= longest
    own = cost.greatest_restart(goodput, checkpoint=checkpoint, mtti=mtti, interval=mtti / 2)
    assert own <= longest + 1e-9 * mtti


def test_twice_the_machines_are_interrupted_twice_as_often() -> None:
    # From 16,384 GPUs every 3.09 hours: one GPU in 50,677 hours, and 8 of them every 264 days.
    each = MTTI * 16384
    assert cost.mtti_of(16384, each) == pytest.approx(MTTI)
    assert cost.mtti_of(8, each) / 24 == pytest.approx(264, abs=1)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: cost.productivity_goodput(scheduling=95, runtime=0.9, program=0.5), "scheduling.*95"),
        (lambda: cost.productivity_goodput(scheduling=0.9, runtime=0, program=0.5), "runtime.*0"),
        (lambda: cost.runtime_goodput(10, lost=6, resuming=5), "11.*10"),
        (lambda: cost.runtime_goodput(10, lost=0, resuming=0, rescheduling=10), "10.*10"),
        (lambda: cost.runtime_goodput(0, lost=0, resuming=0), "window.*0"),
        (lambda: cost.runtime_goodput(10, lost=-1, resuming=0), "lost.*-1"),
        (lambda: cost.badput_shares(0, {}), "elapsed.*0"),
        (lambda: cost.badput_shares(1, {"saving": -1}), "saving.*-1"),
    ],
)
def test_what_cannot_be_is_refused(wrong: object, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        wrong()  # type: ignore[operator]
