"""Tori and meshes against search on the graph itself: breadth first for hops, every cut for the bisection."""

from collections import deque
from itertools import combinations, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_kernels import messages
from tpu_kernels.models.topology import Torus, torus

Graph = dict[Any, list[Any]]


def graph(of: Torus) -> Graph:
    """From the list of links, not from ``neighbours``: another way to say who is joined to whom."""
    found: Graph = {place: [] for place in of.coordinates()}
    for one, other in of.links():
        found[one].append(other)
        found[other].append(one)
    return found


def distances(of: Graph, start: Any) -> dict[Any, int]:
    found, queue = {start: 0}, deque([start])
    while queue:
        here = queue.popleft()
        for there in of[here]:
            if there not in found:
                found[there] = found[here] + 1
                queue.append(there)
    return found


def narrowest_cut(of: Torus) -> int:
    """Every way to split the chips in halves, counted."""
    places = {place: bit for bit, place in enumerate(of.coordinates())}
    links = [(places[one], places[other]) for one, other in of.links()]
    sides = (sum(1 << bit for bit in chosen) for chosen in combinations(range(of.chips), of.chips // 2))
    return min(sum((side >> one ^ side >> other) & 1 for one, other in links) for side in sides)


def grids(most: int) -> list[Torus]:
    shapes = [shape for axes in (1, 2, 3) for shape in product(range(1, 8), repeat=axes)]
    shapes = [
        shape for shape in shapes if len(list(torus(shape).coordinates())) <= most and sorted(shape) == list(shape)
    ]
    return [
        torus(shape, wrap=wrap)
        for shape in shapes
        for wrap in product((False, True), repeat=len(shape))
        if all(side >= 3 or not closed for side, closed in zip(shape, wrap, strict=True))
    ]


SHAPES = st.lists(st.integers(1, 6), min_size=1, max_size=3)


@settings(deadline=None, max_examples=60)
@given(SHAPES, st.data())
def test_hops_diameter_and_mean_are_those_of_a_search(shape: list[int], data: st.DataObject) -> None:
    wrap = [side >= 3 and data.draw(st.booleans()) for side in shape]
    grid = torus(shape, wrap=wrap)
    links = graph(grid)
    apart = {place: distances(links, place) for place in links}
    assert all(grid.hops(a, b) == apart[a][b] for a in links for b in links)
    assert grid.diameter == max(max(far.values()) for far in apart.values())
    pairs = grid.chips * (grid.chips - 1)
    total = sum(sum(far.values()) for far in apart.values())
    assert grid.mean_hops == pytest.approx(total / pairs if pairs else 0)
    assert all(sorted(links[place]) == sorted(grid.neighbours(place)) for place in links)
    assert grid.link_count == len(list(grid.links()))


@pytest.mark.parametrize("grid", grids(12), ids=lambda grid: f"{grid.shape}-{grid.wrap}".replace(" ", ""))
def test_the_bisection_is_the_narrowest_of_all_cuts(grid: Torus) -> None:
    assert grid.bisection_links == narrowest_cut(grid)


def test_closing_a_ring_halves_the_way_and_doubles_the_cut() -> None:
    row, ring = torus((16,), wrap=False), torus((16,))
    assert (row.diameter, ring.diameter) == (15, 8)
    assert (row.bisection_links, ring.bisection_links) == (1, 2)


def test_an_axis_closes_only_when_it_is_long_enough() -> None:
    assert torus("2x2x4").wrap == (False, False, True)
    assert torus("4×4").shape == (4, 4)
    assert torus("1").bisection_links == torus("1").diameter == 0


@pytest.mark.parametrize(
    ("shape", "wrap", "message"),
    [
        ("4x", True, "'4x'"),
        ("", True, "''"),
        (4, True, "4"),
        ((4, 4), 1, "2 ejes"),
        ([], True, r"\[\]"),
        ("4x-4", True, "4x-4"),
        ((4, 0), True, "shape.*0"),
        ((4, 2.5), True, "2.5"),
        ((4, True), True, "True"),
        ((4, 4), (True,), "2 ejes"),
        ((4, 4), (1, 0), "2 ejes"),
        ((2, 4), (True, True), "eje de 2"),
    ],
)
def test_grids_that_cannot_be_are_refused(shape: Any, wrap: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        torus(shape, wrap=wrap)


@pytest.mark.parametrize("place", [(0,), (0, 4), (-1, 0), (0, 0, 0)])
def test_a_place_outside_the_grid_is_refused(place: Any) -> None:
    with pytest.raises(ValueError, match="fuera de la malla de 4×4"):
        torus("4x4").hops((0, 0), place)
    with pytest.raises(ValueError, match="fuera de la malla"):
        torus("4x4").neighbours(place)


def test_a_grid_says_what_it_is_in_the_language_in_force() -> None:
    grid = torus("8x16", wrap=(False, True))
    assert repr(grid) == "Malla de 8×16: 128 chips, ejes cerrados en anillo: 1"
    messages.use("pt")
    assert repr(grid) == "Malha de 8×16: 128 chips, eixos fechados em anel: 1"
