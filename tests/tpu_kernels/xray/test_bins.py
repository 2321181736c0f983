"""A program in bins: all of it, in order, and with the same counts as bundle by bundle."""

import pytest

from tests.tpu_kernels.xray import stored
from tpu_kernels.xray.bins import MOST_BINS, bins
from tpu_kernels.xray.utilisation import UNITS, Utilisation


@pytest.mark.parametrize("name", ["matmul-v5e", "mlp-v5e", "own_copies-v6e", "softmax-v6e"])
def test_bins_are_the_whole_program_in_order(name: str) -> None:
    for kernel in stored.report(name).kernels:
        covered = [bundle for one in kernel.profile for bundle in range(one.first, one.last + 1)]
        assert covered == list(range(kernel.bundles))
        assert len(kernel.profile) <= MOST_BINS


@pytest.mark.parametrize("name", ["matmul-v5e", "mlp-v4", "softmax-v6e"])
def test_bins_execute_what_the_kernel_executes(name: str) -> None:
    for kernel in stored.report(name).kernels:
        assert sum(one.executed or 0 for one in kernel.profile) == kernel.executed


def test_a_bin_uses_what_its_bundles_use() -> None:
    dump = next(iter(stored.dumps("matmul-v5e").values()))
    found = bins(0, len(dump.bundles) - 1, None, dump.used)
    for unit, most in zip(UNITS, dump.used.capacity, strict=True):
        column = UNITS.index(unit)
        total = sum(one.use[unit] * most * (one.last - one.first + 1) for one in found)
        assert total == pytest.approx(sum(row[column] for row in dump.used.rows), abs=1e-4 * most * len(dump.bundles))
    assert found[0].executed is None


def test_the_mean_of_executions_is_per_bundle() -> None:
    used = Utilisation((1,) * len(UNITS), ((0,) * len(UNITS),) * 256)
    found = bins(0, 255, [3] * 128 + [5, 7] * 64, used)
    assert [found[0].executions, found[-1].executions] == [3, 6]


@pytest.mark.parametrize(("bundles", "expected"), [(1, 1), (128, 128), (129, 65), (130, 65), (1000, 125)])
def test_the_number_of_bins_is_bounded(bundles: int, expected: int) -> None:
    used = Utilisation((1,) * len(UNITS), ((1,) * len(UNITS),) * (bundles + 5))
    found = bins(5, bundles + 4, None, used)
    assert len(found) == expected
    assert (found[0].first, found[-1].last) == (5, bundles + 4)
    assert {share for one in found for share in one.use.values()} == {1.0}
