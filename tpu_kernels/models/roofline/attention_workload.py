"""Arithmetic and bytes of dot-product attention: prefill and decode, grouped-query heads, fused into one kernel or not.

The projections before and after it are matrix products (:func:`~layer_workloads.matmul`) and are not counted here.
"""

from math import ceil
from typing import TypedDict, Unpack

from tpu_kernels.models.matrix import whole
from tpu_kernels.models.roofline.amounts import itemsize, known_format, not_negative
from tpu_kernels.models.roofline.workload import HBM, VECTOR, Workload
from tpu_kernels.phrases import phrase


class AttentionOptions(TypedDict, total=False):
    """What :func:`prefill` and :func:`decode` pass on to :func:`attention`."""

    kv_heads: int | None
    causal: bool
    fused: bool
    block_q: int | None
    dtype: str
    kv: str | None
    compute: str | None
    scores: str | None
    softmax_flops: float


def attention(
    batch: int,
    queries: int,
    keys: int,
    *,
    heads: int,
    head_dim: int,
    kv_heads: int | None = None,
    causal: bool = True,
    fused: bool = True,
    block_q: int | None = None,
    dtype: str = "bf16",
    kv: str | None = None,
    compute: str | None = None,
    scores: str | None = None,
    softmax_flops: float = 0.0,
) -> Workload:
    """Attention of ``queries`` positions over ``keys`` positions for ``batch`` sequences.

    ``4 * head_dim`` FLOP for each head and each pair of positions: two products, scores and values. ``kv_heads``
    (default: as many as ``heads``) divides ``heads``; each is read once for all the query heads that share it.
    ``causal``: a query sees the keys up to its own place, the queries being the last of the sequence.

    ``fused`` (FlashAttention): scores never leave the chip and the masked pairs are skipped; ``block_q`` is how many
    queries a block holds, keys and values being fetched again for every block, and ``None`` fetches them once. Not
    fused: every pair is computed, and the scores go to HBM and back twice, in the format ``scores``: written by the
    first product, read and written by the softmax, read by the second product. ``kv``: the format of keys and values.
    ``softmax_flops``: vector arithmetic per score, not counted by default.

    Sources: scaling book, chapter 4, question 4; Dao et al., "FlashAttention", 2022, for the fused traffic.
    """
    batch, queries, keys = whole("batch", batch), whole("queries", queries), whole("keys", keys)
    heads, head_dim = whole("heads", heads), whole("head_dim", head_dim)
    shared = heads if kv_heads is None else whole("kv_heads", kv_heads)
    if heads % shared:
        raise ValueError(phrase("workload.not_divisible", name="heads", got=heads, by="kv_heads", divisor=shared))
    if causal and queries > keys:
        raise ValueError(phrase("workload.queries_beyond_keys", got=queries, most=keys))
    pairs = _pairs(queries, keys) if causal and fused else queries * keys
    block = queries if block_q is None else whole("block_q", block_q)
    fetched = _fetched(queries, keys, block, causal) if fused else keys
    q_and_out = 2 * batch * queries * heads * head_dim * itemsize(dtype)
    keys_and_values = 2 * batch * fetched * shared * head_dim * itemsize(kv or dtype)
    score_count = batch * heads * pairs
    spilled = 0.0 if fused else 4 * score_count * itemsize(scores or dtype)
    work = {known_format(compute or dtype): float(4 * score_count * head_dim)}
    if not_negative("softmax_flops", softmax_flops):
        work[VECTOR] = score_count * softmax_flops
    name = phrase("workload.attention", queries=queries, keys=keys, heads=heads)
    return Workload(name, work, {HBM: q_and_out + keys_and_values + spilled})


def prefill(batch: int, sequence: int, *, heads: int, head_dim: int, **options: Unpack[AttentionOptions]) -> Workload:
    """Attention over a prompt: as many queries as keys. Options as in :func:`attention`."""
    return attention(batch, sequence, sequence, heads=heads, head_dim=head_dim, **options)


def decode(batch: int, context: int, *, heads: int, head_dim: int, **options: Unpack[AttentionOptions]) -> Workload:
    """Attention of one new token in each sequence over its cache of ``context`` positions. Options as in
    :func:`attention`."""
    return attention(batch, 1, context, heads=heads, head_dim=head_dim, **options)


def _pairs(queries: int, keys: int) -> int:
    """Pairs that a causal mask leaves: the last query sees every key, each one before it sees one less."""
    return queries * (keys - queries) + queries * (queries + 1) // 2


def _fetched(queries: int, keys: int, block_q: int, causal: bool) -> int:
    """Positions of keys read for all the blocks of queries; a causal block stops at its own last query."""
    blocks = ceil(queries / block_q)
    if not causal:
        return blocks * keys
    return sum(keys - queries + min((block + 1) * block_q, queries) for block in range(blocks))
