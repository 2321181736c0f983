"""When requests come: at even gaps, at random, in bursts; and stages that follow one another."""

from collections.abc import Iterator
from itertools import islice

from tpu_kernels.models.checked_number import positive_number
from tpu_kernels.models.draws import Draws
from tpu_kernels.models.matrix import whole


def even_arrivals(rate: float) -> Iterator[float]:
    """Seconds of arrival at exactly ``rate`` requests per second, without end."""
    gap = 1 / positive_number("rate", rate)
    count = 0
    while True:
        count += 1
        yield count * gap


def gamma_arrivals(rate: float, draws: Draws, *, burstiness: float = 1.0) -> Iterator[float]:
    """Seconds of arrival at ``rate`` requests per second on average, without end.

    ``burstiness`` is the coefficient of variation of the gaps, which are gamma distributed: 1 is a Poisson process,
    above it requests come in clusters, below it they are more even. Raises ``ValueError`` unless both are positive.
    """
    mean, cv = 1 / positive_number("rate", rate), positive_number("burstiness", burstiness)
    shape, time = 1 / (cv * cv), 0.0
    while True:
        time += draws.exponential(mean) if shape == 1 else draws.gamma(shape, mean)
        yield time


def switching_arrivals(rates: tuple[float, float], stays: tuple[float, float], draws: Draws) -> Iterator[float]:
    """Seconds of arrival of a Markov-modulated Poisson process with two states, without end.

    In state ``i`` requests come at ``rates[i]`` per second, and it lasts ``stays[i]`` seconds on average: calm and
    bursts that last. The average rate is ``(r0 * s0 + r1 * s1) / (s0 + s1)``. Raises ``ValueError`` unless all are
    positive.
    """
    rates = (positive_number("rates[0]", rates[0]), positive_number("rates[1]", rates[1]))
    stays = (positive_number("stays[0]", stays[0]), positive_number("stays[1]", stays[1]))
    time, state = 0.0, 0
    change = draws.exponential(stays[0])
    while True:
        gap = draws.exponential(1 / rates[state])
        while time + gap > change:  # the process has no memory: what is left of the gap is drawn anew at the new rate
            time, state = change, 1 - state
            change = time + draws.exponential(stays[state])
            gap = draws.exponential(1 / rates[state])
        time += gap
        yield time


def within(arrivals: Iterator[float], seconds: float) -> Iterator[float]:
    """The arrivals of the first ``seconds``."""
    limit = positive_number("seconds", seconds)
    for time in arrivals:
        if time > limit:
            return
        yield time


def take(arrivals: Iterator[float], count: int) -> Iterator[float]:
    """The first ``count`` arrivals; ``ValueError`` for a count under one."""
    return islice(arrivals, whole("count", count))
