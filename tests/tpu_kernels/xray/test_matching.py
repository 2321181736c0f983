"""Which kernel of the caller's each compiled one is, when several look alike from outside."""

from dataclasses import replace

from tests.tpu_kernels.xray import stored
from tpu_kernels.xray import hlo
from tpu_kernels.xray.matching import calls_of

UNLIKE = stored.program("unlike-v5e").calls
MODULE = hlo.parse(stored.entry("unlike-v5e")["hlo"])
KERNELS = [one.name for one in MODULE.operations() if one.is_kernel]


def grids(found: dict[str, object]) -> list[object]:
    return [getattr(found.get(name), "grid", None) for name in KERNELS]


def test_kernels_from_one_line_are_taken_in_order() -> None:
    assert len({call.where for call in UNLIKE}) == 1
    assert grids(dict(calls_of(MODULE, UNLIKE))) == [(2, 2, 1), (4, 1, 1)]


def test_where_one_of_several_is_missing_nothing_is_guessed() -> None:
    three = (*UNLIKE, replace(UNLIKE[0], grid=(1, 2, 2)))
    assert grids(dict(calls_of(MODULE, three))) == [None, None]


def test_a_kernel_from_another_line_is_not_taken() -> None:
    moved = tuple(replace(call, where="elsewhere.py:1") for call in UNLIKE)
    assert grids(dict(calls_of(MODULE, moved))) == [None, None]


def test_without_places_shapes_tell() -> None:
    placeless = hlo.parse(stored.entry("unlike-v5e")["hlo"].replace("stack_frame_id", "frame"))
    assert grids(dict(calls_of(placeless, UNLIKE))) == [(2, 2, 1), (4, 1, 1)]


def test_a_result_of_another_shape_is_another_kernel() -> None:
    others = tuple(replace(call, results=(("bfloat16", (512, 256)),)) for call in UNLIKE)
    assert grids(dict(calls_of(MODULE, others))) == [None, None]
