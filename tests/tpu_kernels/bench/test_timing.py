"""Clocks that cannot be fooled: results waited for, the first call apart, contestants in turns."""

import pytest

from tpu_kernels.bench.timing import Timing, time_in_turns


class Machine:
    """A clock, and calls that return at once and are done ``work`` seconds later, as on an accelerator."""

    def __init__(self):
        self.now = 0.0
        self.log = []

    def clock(self):
        return self.now

    def call(self, name, *works):
        """A call named ``name`` whose n-th run takes ``works[n]`` seconds; the last one repeats."""
        runs = iter(works)
        work = [works[-1]]

        def run():
            work[0] = next(runs, works[-1])
            self.log.append(name)
            return Pending(self, work[0])

        return run


class Pending:
    def __init__(self, machine, work):
        self.machine, self.work = machine, work

    def block_until_ready(self):
        self.machine.now += self.work
        return self


def test_a_result_is_waited_for_before_the_clock_stops():
    machine = Machine()
    timed = time_in_turns({"a": machine.call("a", 0.25)}, warmup=0, repeats=3, clock=machine.clock)
    assert timed["a"].samples == (0.25, 0.25, 0.25)


def test_the_first_call_and_the_warm_up_do_not_count():
    machine = Machine()
    timed = time_in_turns({"a": machine.call("a", 9, 5, 5, 1)}, warmup=2, repeats=2, clock=machine.clock)
    assert timed["a"] == Timing(first=9, samples=(1, 1))


def test_contestants_take_turns_and_change_places():
    machine = Machine()
    calls = {"a": machine.call("a", 1), "b": machine.call("b", 1)}
    time_in_turns(calls, warmup=0, repeats=3, clock=machine.clock)
    assert machine.log == ["a", "b", "a", "b", "b", "a", "a", "b"]


def test_the_ratio_compares_within_rounds():
    """A machine that slows down tenfold halfway changes no ratio."""
    mine, theirs = Timing(0, (2, 2, 20, 20, 20)), Timing(0, (1, 1, 10, 10, 10))
    assert mine.ratio(theirs) == 2


def test_progress_is_told_after_each_round():
    machine, rounds = Machine(), []
    time_in_turns(
        {"a": machine.call("a", 1)}, warmup=1, repeats=2, clock=machine.clock, progress=lambda: rounds.append(1)
    )
    assert len(rounds) == 3


def test_percentiles_are_samples():
    timing = Timing(0, (5, 1, 4, 2, 3))
    assert (timing.median, timing.best) == (3, 1)
    assert [timing.percentile(p) for p in (0, 10, 20, 50, 90, 100)] == [1, 1, 1, 3, 5, 5]


@pytest.mark.parametrize("rounds", [{"repeats": 0}, {"warmup": -1}])
def test_nothing_to_time_is_refused(rounds):
    with pytest.raises(ValueError, match="hace falta al menos 1"):
        time_in_turns({"a": lambda: 1}, **rounds)
