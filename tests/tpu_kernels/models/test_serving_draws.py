"""The random numbers: their laws against numpy's, and the very numbers that a seed must give everywhere."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_kernels.models.draws import Draws, Length, Popularity, as_length

COUNT = 4000


def distance(ours: list[float], theirs: np.ndarray) -> float:
    """The largest gap between two empirical distributions (Kolmogorov and Smirnov)."""
    both = np.concatenate([ours, theirs])
    below = [np.searchsorted(np.sort(sample), both, side="right") / len(sample) for sample in (ours, theirs)]
    return float(np.max(np.abs(below[0] - below[1])))


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (lambda d: d.exponential(3.0), lambda g: g.exponential(3.0, COUNT)),
        (lambda d: d.normal(), lambda g: g.normal(size=COUNT)),
        (lambda d: d.gamma(0.25, 2.0), lambda g: g.gamma(0.25, 8.0, COUNT)),
        (lambda d: d.gamma(1.7, 2.0), lambda g: g.gamma(1.7, 2.0 / 1.7, COUNT)),
        (lambda d: d.weibull(2.0, 0.6), lambda g: 2.0 * g.weibull(0.6, COUNT)),
        (lambda d: d.weibull(2.0, 3.0), lambda g: 2.0 * g.weibull(3.0, COUNT)),
        (lambda d: d.lognormal(1.0, 0.5), lambda g: g.lognormal(1.0, 0.5, COUNT)),
        (lambda d: float(d.below(7)), lambda g: g.integers(0, 7, COUNT).astype(float)),
    ],
)
def test_the_laws_are_those_of_numpy(
    ours: Callable[[Draws], float], theirs: Callable[[np.random.Generator], np.ndarray]
) -> None:
    draws = Draws(11)
    sample = [ours(draws) for _ in range(COUNT)]
    # Two samples of one law are this far apart once in ten thousand times.
    assert distance(sample, theirs(np.random.default_rng(5))) < 2.225 * (2 / COUNT) ** 0.5


def test_a_seed_gives_the_same_numbers_on_every_machine() -> None:
    draws = Draws(7)
    seen = [draws.exponential(2.0), draws.gamma(0.25, 1.0), draws.gamma(4.0, 1.0), draws.lognormal(1.0, 0.5)]
    assert [value.hex() for value in [*seen, draws.weibull(1.0, 0.7)]] == [
        "0x1.90b4d6a9b6160p-1",
        "0x1.2d0402687f36fp+1",
        "0x1.ae5eec0463129p-1",
        "0x1.0ce7332b7749ap+1",
        "0x1.8120e62a894ccp-6",
    ]
    assert draws.below(1000) == 90
    assert draws.shuffled(8) == [6, 4, 7, 2, 1, 0, 5, 3]


@settings(deadline=None)
@given(st.integers(1, 60), st.integers(0, 2**70))
def test_a_shuffle_holds_every_number_once(count: int, seed: int) -> None:
    assert sorted(Draws(seed).shuffled(count)) == list(range(count))


def test_popularity_follows_zipf() -> None:
    popularity, draws = Popularity(5, 1.2), Draws(3)
    counts = np.bincount([popularity.draw(draws) for _ in range(20_000)], minlength=5) / 20_000
    expected = np.arange(1, 6) ** -1.2
    assert counts == pytest.approx(expected / expected.sum(), abs=0.012)


def test_lengths_have_the_mean_and_deviation_asked_for() -> None:
    length, draws = Length(1000, 400), Draws(3)
    sample = [length.draw(draws) for _ in range(20_000)]
    assert np.mean(sample) == pytest.approx(1000, rel=0.01)
    assert np.std(sample) == pytest.approx(400, rel=0.03)


@settings(deadline=None)
@given(st.integers(0, 999))
def test_lengths_stay_within_their_limits(seed: int) -> None:
    length, draws = Length(100, 300, least=50, most=200), Draws(seed)
    assert all(50 <= length.draw(draws) <= 200 for _ in range(20))
    assert as_length("output", 42).draw(draws) == 42


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: Draws(1.5), "seed.*1.5"),  # type: ignore[arg-type]
        (lambda: Draws(True), "seed"),
        (lambda: Popularity(0), "count.*0"),
        (lambda: Popularity(3, -1), "exponent.*-1"),
        (lambda: Length(0), "mean"),
        (lambda: Length(10, float("nan")), "deviation"),
        (lambda: Length(10, least=5, most=3), "de 5 a 3"),
        (lambda: as_length("prompt", 0), "prompt"),
    ],
)
def test_what_is_no_number_is_refused(wrong: Callable[[], object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        wrong()
