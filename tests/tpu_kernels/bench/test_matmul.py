"""The benchmark of the product: every row checked, and the interpreter never shown as speed."""

import numpy as np
import pytest

from tpu_kernels.backend import FallbackWarning
from tpu_kernels.bench import matmul as bench
from tpu_kernels.bench.matmul import BASELINE, INTERPRETED, MEASURED, bench_matmul, operands


def rows(shapes=((32, 48, 16),), dtypes=("float32",), backends=("xla", BASELINE), repeats=2):
    return list(bench_matmul(shapes, dtypes, backends, warmup=0, repeats=repeats))


def test_each_implementation_has_a_row_at_each_shape_and_dtype():
    found = rows(shapes=[(8, 16, 8), (5, 7, 3)], dtypes=["float32", "bfloat16", "int8"])
    assert len(found) == 12
    assert all(row.correctness.right and row.label == MEASURED for row in found)
    assert {(row.shape, row.dtype) for row in found} == {
        (shape, dtype) for shape in [(8, 16, 8), (5, 7, 3)] for dtype in ["float32", "bfloat16", "int8"]
    }


def test_times_rates_and_shares_agree():
    ours, theirs = rows()
    for row in (ours, theirs):
        shown = row.to_dict()
        assert shown["flops_per_s"] == pytest.approx(2 * 32 * 48 * 16 / shown["host_seconds"]["median"])
        assert shown["of_peak"] == pytest.approx(shown["flops_per_s"] / row.roof.peak)
        assert shown["of_roofline"] >= shown["of_peak"]
    assert theirs.ratio == 1


@pytest.mark.parametrize(("dtype", "size"), [("float32", 4), ("bfloat16", 2), ("int8", 1)])
def test_bytes_count_each_array_once(dtype, size):
    (row,) = rows(dtypes=[dtype], backends=[BASELINE], repeats=1)
    assert row.bytes == (32 * 48 + 48 * 16) * size + 32 * 16 * (4 if dtype == "int8" else size)


def test_an_interpreted_kernel_has_values_and_no_speed():
    with pytest.warns(FallbackWarning):
        found = {row.implementation: row for row in rows(backends=["pallas_tpu", BASELINE])}
    row = found["pallas_tpu"].to_dict()
    assert (row["label"], row["right"]) == (INTERPRETED, True)
    assert row["host_seconds"] is row["device_seconds"] is row["flops_per_s"] is row["ratio_to_jnp"] is None


def test_a_wrong_product_is_called_wrong(monkeypatch):
    monkeypatch.setattr(bench, "matmul", lambda x, y, backend: x @ y + 1)
    ours, theirs = rows()
    assert not ours.correctness.right
    assert theirs.correctness.right


def test_operands_are_the_same_each_time_and_not_all_ones():
    (a, b), (again, _) = operands((4, 5, 6), "bfloat16", 1), operands((4, 5, 6), "bfloat16", 1)
    assert (a.shape, b.shape, a.dtype.name) == ((4, 5), (5, 6), "bfloat16")
    assert np.array_equal(a, again)
    assert len(np.unique(a.astype(np.float32))) > 10
