"""Each comparison by itself: what agrees passes under its name, and what is off on either side is refused."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.tpu_kernels.xray import stored
from tpu_kernels.xray import invariants, kernel_dump, mxu, targets
from tpu_kernels.xray.compile_process import DUMPS
from tpu_kernels.xray.errors import DumpError
from tpu_kernels.xray.kernel_call import KernelCall
from tpu_kernels.xray.kernel_dump import KernelDump

V5E = targets.target("v5e")
(CALL,) = stored.program("matmul-v5e").calls


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> KernelDump:
    folder = tmp_path_factory.mktemp("dump")
    stored.unpack(stored.entry("matmul-v5e"), folder)
    (found,) = kernel_dump.read(Path(folder) / DUMPS, V5E).values()
    return found


def executed(dump: KernelDump) -> int:
    return sum(dump.replay.executions or ())


def test_all_of_them_hold_for_a_real_dump(dump: KernelDump) -> None:
    assert invariants.check(dump, CALL, 11569, None, V5E) == (
        "counts",
        "slots",
        "cycles",
        "steps",
        "copies",
        "products",
    )


def test_a_cycle_for_each_bundle_is_the_least(dump: KernelDump) -> None:
    """5726 bundles are executed, and the matrix units are held for 4088 cycles."""
    assert "cycles" in invariants.check(dump, CALL, executed(dump), None, V5E)
    too_few = int(executed(dump) * invariants.LOOSELY) - 10
    assert too_few > mxu.cycles(mxu.given(dump.bundles, dump.replay.executions or ()), V5E)
    with pytest.raises(DumpError, match="cycles do not agree"):
        invariants.check(dump, CALL, too_few, None, V5E)


def with_sides(**sides: int) -> KernelCall:
    (product,) = CALL.products
    return replace(CALL, products=(replace(product, **sides),))


@pytest.mark.parametrize("sides", [{"m": 512}, {"k": 1024}, {"times": 9}, {"passes": 3}])
def test_fewer_multiplications_than_the_products_have_are_refused(dump: KernelDump, sides: dict[str, int]) -> None:
    with pytest.raises(DumpError, match="products do not agree"):
        invariants.check(dump, with_sides(**sides), None, None, V5E)


@pytest.mark.parametrize("sides", [{"m": 128}, {"n": 128}, {"times": 7}])
def test_more_multiplications_than_padding_explains_are_refused(dump: KernelDump, sides: dict[str, int]) -> None:
    with pytest.raises(DumpError, match="products do not agree"):
        invariants.check(dump, with_sides(**sides), None, None, V5E)


@pytest.mark.parametrize("sides", [{"m": 250}, {"k": 500}, {"n": 200}])
def test_padding_explains_a_little_more(dump: KernelDump, sides: dict[str, int]) -> None:
    assert "products" in invariants.check(dump, with_sides(**sides), None, None, V5E)


def test_an_operation_of_xla_multiplies_at_least_what_it_says(dump: KernelDump) -> None:
    work = invariants.multiplied(dump, V5E)
    assert "products" in invariants.check(dump, None, None, work, V5E)
    with pytest.raises(DumpError, match="products do not agree"):
        invariants.check(dump, None, None, work + 1, V5E)


@pytest.mark.parametrize("fetches", [7, 9])
def test_a_block_is_copied_as_often_as_its_map_changes(dump: KernelDump, fetches: int) -> None:
    first, *others = CALL.windows
    assert first is not None and first.fetches == 8
    with pytest.raises(DumpError, match="copies do not agree"):
        invariants.check(dump, replace(CALL, windows=(replace(first, fetches=fetches), *others)), None, None, V5E)


def test_the_grid_is_the_callers(dump: KernelDump) -> None:
    with pytest.raises(DumpError, match="steps do not agree"):
        invariants.check(dump, replace(CALL, grid=(2, 2, 3)), None, None, V5E)


def test_what_is_not_known_is_not_compared(dump: KernelDump) -> None:
    (product,) = CALL.products
    unknown = replace(CALL, products=(replace(product, times=None),), windows=(None, None, None))
    assert invariants.check(dump, unknown, None, None, V5E) == ("counts", "slots", "steps")
