"""Index maps and conditions at every point of a grid, against Python's loops."""

import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax

from tpu_kernels.xray.grid import Points, changes, results

MAPS: list[Callable[..., Any]] = [
    lambda i, j, k: (i, k),
    lambda i, j, k: (j // 2, k % 3),
    lambda i, j, k: (lax.rem(i - 4, 3), lax.div(k - 5, 2)),
    lambda i, j, k: (jnp.where(j > 1, i, k), jnp.minimum(i, j)),
    lambda i, j, k: (jnp.clip(i - 1, 0, 1), 0),
    lambda i, j, k: (i * 3 + j, -k),
]


@pytest.mark.parametrize("index_map", MAPS)
def test_a_map_has_its_value_at_each_point(index_map: Callable[..., Any]) -> None:
    grid = (3, 4, 2)
    jaxpr = jax.make_jaxpr(index_map)(*(np.int32(0),) * 3)
    points = Points(grid)
    found = results(points, jaxpr, points.coordinates)
    expected = [index_map(*map(jnp.int32, point)) for point in itertools.product(*map(range, grid))]
    for axis, values in enumerate(found):
        assert values is not None
        assert values.tolist() == [int(one[axis]) for one in expected]


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.lists(st.lists(st.integers(0, 2), min_size=2, max_size=2), min_size=1, max_size=12))
def test_runs_of_equal_blocks_are_counted(blocks: list[list[int]]) -> None:
    runs = sum(1 for _ in itertools.groupby(blocks))
    assert changes([np.array(axis) for axis in zip(*blocks, strict=True)]) == runs


def test_the_last_axis_is_the_fastest() -> None:
    assert [axis.tolist() for axis in Points((2, 3)).coordinates] == [[0, 0, 0, 1, 1, 1], [0, 1, 2, 0, 1, 2]]


def test_no_axes_are_one_point() -> None:
    points = Points(())
    assert (points.count, points.coordinates, changes([])) == (1, (), 1)


def test_what_is_not_known_stays_so() -> None:
    jaxpr = jax.make_jaxpr(lambda i, data: (i, data + i))(np.int32(0), np.int32(0))
    points = Points((4,))
    known, unknown = results(points, jaxpr, [points.coordinates[0], None])
    assert known is not None
    assert unknown is None
    assert changes([known, unknown]) is None
