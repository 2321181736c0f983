"""Attention, against loops over every pair of positions and every block that a fused kernel fetches."""

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_kernels.models import roofline
from tpu_kernels.models.roofline.workload import VECTOR

SMALL = st.integers(min_value=1, max_value=12)


def visible(query: int, queries: int, keys: int, causal: bool) -> int:
    """Keys that query number ``query`` sees, the queries being the last positions of the sequence."""
    return sum(1 for key in range(keys) if not causal or key <= keys - queries + query)


@settings(deadline=None)
@given(st.integers(1, 3), SMALL, SMALL, st.integers(1, 3), st.integers(1, 3), st.integers(1, 4), st.booleans())
def test_work_is_two_products_over_the_pairs_that_are_seen(
    batch: int, queries: int, more: int, kv_heads: int, group: int, head_dim: int, causal: bool
) -> None:
    keys, heads = queries + more, kv_heads * group
    pairs = sum(visible(query, queries, keys, causal) for query in range(queries))
    fused = roofline.attention(
        batch, queries, keys, heads=heads, kv_heads=kv_heads, head_dim=head_dim, causal=causal, softmax_flops=5
    )
    assert fused.work["bf16"] == 2 * 2 * batch * heads * head_dim * pairs
    assert fused.work[VECTOR] == 5 * batch * heads * pairs
    naive = roofline.attention(
        batch, queries, keys, heads=heads, kv_heads=kv_heads, head_dim=head_dim, causal=causal, fused=False
    )
    assert naive.work == {"bf16": 4 * batch * heads * head_dim * queries * keys}  # a plain product masks afterwards
    spilled = 4 * batch * heads * queries * keys * 2
    once = roofline.attention(batch, queries, keys, heads=heads, kv_heads=kv_heads, head_dim=head_dim, causal=False)
    assert naive.bytes() == once.bytes() + spilled


@settings(deadline=None)
@given(SMALL, SMALL, SMALL, st.booleans(), st.integers(1, 4))
def test_a_fused_kernel_fetches_keys_and_values_for_every_block(
    queries: int, more: int, block: int, causal: bool, kv_heads: int
) -> None:
    keys, head_dim = queries + more, 3
    fetched = 0
    for start in range(0, queries, block):
        last = min(start + block, queries) - 1
        fetched += visible(last, queries, keys, causal)
    workload = roofline.attention(
        1, queries, keys, heads=4 * kv_heads, kv_heads=kv_heads, head_dim=head_dim, causal=causal, block_q=block,
        dtype="int8",
    )  # fmt: skip
    assert workload.bytes() == 2 * queries * 4 * kv_heads * head_dim + 2 * fetched * kv_heads * head_dim


def test_decode_reads_the_cache_once_for_every_group_of_heads() -> None:
    many = roofline.decode(16, 8192, heads=64, head_dim=128)
    grouped = roofline.decode(16, 8192, heads=64, kv_heads=8, head_dim=128)
    assert many.flops == grouped.flops == 4 * 16 * 64 * 128 * 8192
    query_and_out = 2 * 16 * 64 * 128 * 2
    assert many.bytes() - query_and_out == 8 * (grouped.bytes() - query_and_out)
    assert grouped.bytes() - query_and_out == 2 * 16 * 8192 * 8 * 128 * 2
    halved = roofline.decode(16, 8192, heads=64, kv_heads=8, head_dim=128, kv="int8")
    assert halved.bytes() - query_and_out == (grouped.bytes() - query_and_out) / 2
    assert grouped.intensity() == pytest.approx(8, rel=0.01)  # the size of the group, whatever the batch and context


def test_prefill_is_attention_over_itself() -> None:
    prompt = roofline.prefill(2, 512, heads=8, head_dim=64, causal=False)
    assert prompt == roofline.attention(2, 512, 512, heads=8, head_dim=64, causal=False)
    assert roofline.prefill(2, 512, heads=8, head_dim=64).flops == pytest.approx(prompt.flops * 513 / 1024)


@pytest.mark.parametrize("sequence", [1024, 4096, 32768])
def test_fusing_makes_a_long_prompt_bound_by_compute(sequence: int) -> None:
    fused = roofline.analyse(roofline.prefill(1, sequence, heads=32, head_dim=128), "v5e")
    naive = roofline.analyse(roofline.prefill(1, sequence, heads=32, head_dim=128, fused=False), "v5e")
    assert fused.bound.resource == "compute"
    assert naive.bound.resource == "hbm"
    assert naive.lower > fused.lower
    # The scores alone hold the intensity of the naive one under half the head's width in bf16: 4 h / (4 * 2).
    assert naive.workload.intensity() < 128 / 2


def test_decode_is_bound_by_memory_at_any_batch() -> None:
    for batch in (1, 64, 4096):
        found = roofline.analyse(roofline.decode(batch, 8192, heads=64, kv_heads=8, head_dim=128), "v5e")
        assert found.bound.resource == "hbm"
        assert found.margin == pytest.approx(roofline.ridge_point("v5e") / 8, rel=0.01)


def test_scores_have_a_format_of_their_own() -> None:
    naive = roofline.prefill(1, 64, heads=2, head_dim=8, fused=False)
    wide = roofline.prefill(1, 64, heads=2, head_dim=8, fused=False, scores="fp32")
    assert wide.bytes() - naive.bytes() == 4 * 2 * 64 * 64 * 2


@pytest.mark.parametrize("size", [0, -1, 1.5, True, math.nan, None])
def test_sizes_that_are_not_sizes_are_refused(size: Any) -> None:
    for call in (
        lambda: roofline.attention(size, 8, 8, heads=2, head_dim=8),
        lambda: roofline.attention(1, size, 8, heads=2, head_dim=8),
        lambda: roofline.attention(1, 8, size, heads=2, head_dim=8),
        lambda: roofline.attention(1, 8, 8, heads=size, head_dim=8),
        lambda: roofline.attention(1, 8, 8, heads=2, head_dim=size),
    ):
        with pytest.raises(ValueError, match="entero de 1 en adelante"):
            call()


def test_shapes_that_do_not_go_together_are_refused() -> None:
    with pytest.raises(ValueError, match="heads es 6 y kv_heads es 4"):
        roofline.decode(1, 8, heads=6, kv_heads=4, head_dim=8)
    with pytest.raises(ValueError, match="9 consultas para 8 claves"):
        roofline.attention(1, 9, 8, heads=2, head_dim=8)
    assert roofline.attention(1, 9, 8, heads=2, head_dim=8, causal=False).flops == 4 * 2 * 8 * 72
    with pytest.raises(ValueError, match=r"de cero en adelante|número (real|finito)"):
        roofline.decode(1, 8, heads=2, head_dim=8, softmax_flops=-1)
    with pytest.raises(ValueError, match="entero de 1 en adelante"):
        roofline.prefill(1, 8, heads=2, head_dim=8, block_q=0)
