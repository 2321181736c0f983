"""A tile refuses what a Hopper GPU cannot hold, and the one chosen wastes least by the model's own count."""

from contextlib import suppress
from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpu_kernels.kernels.gemm import gpu_tile, pallas_gpu
from tpu_kernels.kernels.gemm.block import Block
from tpu_kernels.kernels.gemm.gpu_tile import GpuTile, candidates, choose_tile, of_block
from tpu_kernels.kernels.gemm.problem import Problem

BF16, F32, INT8, INT32 = (jnp.dtype(name) for name in ("bfloat16", "float32", "int8", "int32"))
GOOD = GpuTile(128, 64, 256, 4, 2, BF16, BF16)


def problem(m, k, n, g=1, dtype=BF16, out_dtype=BF16):
    return Problem(g, m, k, n, dtype, INT32 if dtype == INT8 else F32, out_dtype)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"m": 192}, ("192", "128", "block=(256, 64, 256)")),
        ({"m": 0}, ("0", "block=(128, 64, 256)")),
        ({"k": 100}, ("100", "64", "block=(128, 128, 256)")),
        ({"k": 64, "dtype": INT8}, ("64", "128", "int8")),
        ({"n": 100}, ("100", "64", "block=(128, 64, 128)")),
        ({"n": 320, "m": 64, "consumers": 1, "stages": 2}, ("320", "256")),
        ({"stages": 1}, ("1", "2")),
        ({"consumers": 3}, ("3",)),
        ({"m": 256}, ("256x64x256", "296", "232")),
        ({"stages": 5}, ("5", "280672", "232448")),
    ],
)
def test_what_does_not_fit_is_refused_with_both_numbers(changes, words):
    with pytest.raises(ValueError) as refused:
        replace(GOOD, **changes)
    for word in words:
        assert word in str(refused.value)


def test_sums_and_registers_of_a_consumer():
    assert (GOOD.rows, GOOD.accumulators, GOOD.consumer_registers) == (64, 128, 232)
    alone = replace(GOOD, m=64, consumers=1)
    assert (alone.rows, alone.accumulators, alone.consumer_registers) == (64, 128, 255)
    threads = gpu_tile.WARPGROUP * (GOOD.consumer_registers * 2 + gpu_tile.PRODUCER_REGISTERS)
    assert threads <= gpu_tile.REGISTERS


def test_shared_memory_is_what_the_compiler_counts(monkeypatch):
    monkeypatch.setattr(gpu_tile, "SHARED_MEMORY", 1 << 20)
    tile = replace(GOOD, stages=5)
    monkeypatch.setattr(pallas_gpu, "_tile", lambda done, block: tile)
    of = problem(256, 256, 256)
    multiply = partial(
        pallas_gpu.multiply, problem=of, block=None, precision=None, activation=None, interpret=False
    )  # fmt: skip
    a = jax.ShapeDtypeStruct((1, 256, 256), BF16)
    bias = jax.ShapeDtypeStruct((256,), F32)
    with pytest.raises(ValueError, match=rf"smem_bytes={tile.shared_bytes} .*={227 * 1024}"):
        jax.export.export(jax.jit(multiply), platforms=["cuda"])(a, a, bias)


@given(
    st.sampled_from([BF16, INT8]),
    st.sampled_from([BF16, F32]),
    st.sampled_from([64, 128, 256]),
    st.integers(1, 3),
    st.integers(1, 4),
)
def test_a_block_gets_all_the_stages_that_fit(dtype, out_dtype, m, k, n):
    lane = 128 // dtype.itemsize
    try:
        tile = of_block(Block(m, k * lane, n * lane), dtype, out_dtype)
    except ValueError:
        return
    assert tile.shared_bytes <= gpu_tile.SHARED_MEMORY
    with pytest.raises(ValueError, match="etapas"):
        replace(tile, stages=tile.stages + 1)


@pytest.mark.parametrize("dtype", [BF16, INT8])
def test_candidates_are_all_that_fit_and_differ(dtype):
    lane = 128 // dtype.itemsize
    fitting = set()
    for m in (64, 128, 256):
        for n in range(lane, 512, lane):
            with suppress(ValueError):
                fitting.add(str(of_block(Block(m, lane, n), dtype, BF16)))
    found = [str(tile) for tile in candidates(dtype, BF16)]
    assert set(found) == fitting
    assert len(found) == len(fitting)


def test_the_estimate_counts_waves_slices_and_what_leaves():
    whole = GOOD.cycles(problem(128 * 132, 4096, 256))
    assert whole == 64 * 1024 + 128 * 256 * 2 / 48  # as long to fetch as to multiply, then the tile leaves
    assert GOOD.cycles(problem(128 * 132 + 1, 4096, 256)) == 2 * whole
    assert GOOD.cycles(problem(128, 4097, 256)) - GOOD.cycles(problem(128, 4096, 256)) == 1024
    assert GOOD.cycles(problem(128, 64, 256), multiprocessors=1) == GOOD.cycles(problem(1, 1, 1))


@pytest.mark.parametrize(
    ("of", "tile"),
    [
        (problem(4096, 4096, 4096), "128x64x256"),
        (problem(8192, 8192, 8192), "128x64x256"),
        (problem(8192, 8192, 8192, dtype=INT8, out_dtype=INT32), "128x128x256"),
        (problem(64, 4096, 4096), "64x64x64"),
        (problem(1, 1, 1), "64x64x64"),
        (problem(1024, 1024, 1024), "128x64x64"),
    ],
)
def test_large_products_get_large_tiles_and_small_ones_spread_out(of, tile):
    assert str(choose_tile(of)) == tile


@given(st.integers(1, 9000), st.integers(1, 9000), st.integers(1, 9000), st.integers(1, 4), st.sampled_from([1, 132]))
def test_no_candidate_is_estimated_better_than_the_chosen_one(m, k, n, g, multiprocessors):
    of = problem(m, k, n, g)
    chosen = choose_tile(of, multiprocessors)
    assert chosen.cycles(of, multiprocessors) == min(
        tile.cycles(of, multiprocessors) for tile in candidates(BF16, BF16)
    )
    batches, down, across = chosen.grid(of)
    assert batches == g
    assert (down - 1) * chosen.m < m <= down * chosen.m
    assert (across - 1) * chosen.n < n <= across * chosen.n
    assert chosen.count(of) == batches * down * across
