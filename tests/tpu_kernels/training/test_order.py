"""The order of an epoch: a permutation that depends on nothing but seed and epoch."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_kernels.training.order import shuffled


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 300), st.integers(0, 2**64), st.integers(0, 2**40))
def test_every_example_comes_once(count: int, seed: int, epoch: int) -> None:
    assert sorted(shuffled(count, seed, epoch)) == list(range(count))


def test_it_is_the_same_order_for_ever() -> None:
    assert shuffled(8, seed=0, epoch=0).tolist() == GOLDEN[0]
    assert shuffled(8, seed=0, epoch=1).tolist() == GOLDEN[1]


GOLDEN = [[0, 3, 7, 5, 1, 2, 6, 4], [3, 7, 4, 2, 1, 6, 5, 0]]


def test_seeds_and_epochs_give_orders_of_their_own() -> None:
    orders = {tuple(shuffled(50, seed, epoch)) for seed in range(5) for epoch in range(5)}
    assert len(orders) == 25


def test_no_place_is_preferred() -> None:
    places = np.array([shuffled(4, seed, 0) for seed in range(4000)])
    for place in range(4):
        counts = np.bincount(places[:, place], minlength=4)
        assert abs(counts - 1000).max() < 150  # five deviations of a binomial are 137


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(ValueError, match="non-negative"):
        shuffled(3, -1, 0)
