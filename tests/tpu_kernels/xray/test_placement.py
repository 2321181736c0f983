"""Which sides of a slice groups of devices run along, by the places of their devices."""

from itertools import product

import pytest

from tpu_kernels.xray.placement import extents

PLACES = [(x, y, z, core) for x, y, z, core in product(range(4), range(2), range(3), range(2))]


def groups(along: str) -> tuple[tuple[int, ...], ...]:
    """The devices of this slice that differ on these sides only."""
    apart: dict[tuple[int, ...], list[int]] = {}
    for number, place in enumerate(PLACES):
        fixed = tuple(at for side, at in zip("xyzc", place, strict=True) if side not in along)
        apart.setdefault(fixed, []).append(number)
    return tuple(map(tuple, apart.values()))


@pytest.mark.parametrize(
    ("along", "expected"),
    [
        ("x", {"x": 4}),
        ("yz", {"y": 2, "z": 3}),
        ("c", {"core": 2}),
        ("xyzc", {"x": 4, "y": 2, "z": 3, "core": 2}),
        ("", {}),
    ],
)
def test_whole_sides(along: str, expected: dict[str, int]) -> None:
    assert extents(groups(along), PLACES) == expected


def test_a_part_of_a_side_is_told_by_its_size() -> None:
    halves = [group[half : half + 2] for group in groups("x") for half in (0, 2)]
    assert extents(tuple(halves), PLACES) == {"x": 2}


def test_groups_that_are_no_boxes_or_unlike_are_irregular() -> None:
    diagonal = tuple(number for number, (x, y, z, core) in enumerate(PLACES) if x == y and z == core == 0)
    assert extents((diagonal,), PLACES) is None
    assert extents((groups("x")[0], groups("y")[5]), PLACES) is None
