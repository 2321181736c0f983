"""What a layer keeps of its forward pass for the backward pass: bytes per token, with and without rematerialisation.

Each stored array is counted by itself, as in Korthikanti et al., "Reducing Activation Recomputation in Large
Transformer Models", 2022, section 4, whose totals follow (``34 + 5 a s / h`` bytes per token and unit of width, for
sixteen-bit arrays, dropout masks of one byte and ``d_ff = 4 d_model``).
"""

from typing import NamedTuple

from tpu_kernels.models.matrix import whole
from tpu_kernels.models.parallelism.transformer import Transformer
from tpu_kernels.models.roofline.amounts import itemsize, one_of

# What is kept, from everything to almost nothing; the rest is computed again in the backward pass.
EVERYTHING = "everything"
SELECTIVE = "selective"  # all but the scores of attention
MATMULS = "matmuls"  # the outputs of the weight matrices alone
MLP = "mlp"  # the outputs of the feed-forward matrices alone
BLOCK = "block"  # the input of each layer alone
POLICIES = (EVERYTHING, SELECTIVE, MATMULS, MLP, BLOCK)
MASK_BYTES = 1  # of an element of a dropout mask


class Stored(NamedTuple):
    """An array kept for the backward pass: ``bytes`` per token. ``split``: tensor parallelism divides it even without
    sequence parallelism, because it lies between a column-split and a row-split matrix."""

    name: str
    bytes: float
    split: bool
    scores: bool = False


def stored(
    model: Transformer,
    sequence: int,
    *,
    policy: str = EVERYTHING,
    dtype: str = "bf16",
    fused_attention: bool = True,
    dropout: bool = False,
) -> tuple[Stored, ...]:
    """The arrays that one layer keeps under ``policy`` (one of :data:`POLICIES`).

    ``fused_attention``: the kernel keeps one fp32 statistic per head and token and never stores the scores of
    ``sequence`` positions. ``dropout``: as GPT did, after the scores and at the end of both blocks. A mixture of
    experts keeps the arrays of the feed-forward block once for each chosen expert.
    """
    one_of("policy", policy, POLICIES)
    size, width = itemsize(dtype), model.d_model
    hidden = model.experts_per_token * model.d_ff * size
    queries, shared = model.heads * model.head_dim * size, model.kv_heads * model.head_dim * size
    ups = model.mlp_matrices - 1
    if policy == BLOCK:
        return (Stored("layer input", width * size, split=False),)
    products = [Stored(f"up {index}", hidden, split=True) for index in range(ups)]
    if policy in (MATMULS, MLP):
        products.append(Stored("down", width * size, split=False))
        if policy == MLP:
            return tuple(products)
        projections = [Stored("queries", queries, split=True), Stored("keys", shared, split=True)]
        projections += [Stored("values", shared, split=True), Stored("output", width * size, split=False)]
        return (*projections, *products)
    kept = [
        Stored("attention norm input", width * size, split=False),
        Stored("attention input", width * size, split=False),
        Stored("queries", queries, split=True),
        Stored("keys", shared, split=True),
        Stored("values", shared, split=True),
        *_scores(model, whole("sequence", sequence), size, fused_attention, dropout),
        Stored("heads", queries, split=True),
        Stored("mlp norm input", width * size, split=False),
        Stored("mlp input", model.experts_per_token * width * size, split=False),
        *products,
        Stored("activated", hidden, split=True),
    ]
    if dropout:
        kept += [Stored("attention mask", width * MASK_BYTES, split=False)]
        kept += [Stored("mlp mask", width * MASK_BYTES, split=False)]
    return tuple(array for array in kept if policy == EVERYTHING or not array.scores)


def _scores(model: Transformer, sequence: int, size: float, fused: bool, dropout: bool) -> list[Stored]:
    if fused:
        return [Stored("attention statistics", model.heads * itemsize("fp32"), split=True)]
    each = model.heads * sequence
    arrays = [Stored("softmax", each * size, split=True, scores=True)]
    if dropout:
        arrays += [Stored("softmax mask", each * MASK_BYTES, split=True, scores=True)]
        arrays += [Stored("dropped softmax", each * size, split=True, scores=True)]
    return arrays


def bytes_per_token(arrays: tuple[Stored, ...], *, tensor: int = 1, sequence_parallel: bool = True) -> float:
    """Bytes of the arrays per token on one device of ``tensor``. With ``sequence_parallel`` every array is divided;
    without it, only those that lie inside a split block, and the rest is kept whole on every device."""
    parts = whole("tensor", tensor)
    return sum(array.bytes / (parts if array.split or sequence_parallel else 1) for array in arrays)


def recomputed_flops(model: Transformer, sequence: int, policy: str, *, causal: bool = True) -> float:
    """FLOP per token and layer that the backward pass repeats under ``policy``: the matrices whose outputs were not
    kept, and the scores of attention. A fused attention repeats its scores under any policy; that is counted as its own
    cost and not here, so :data:`EVERYTHING` repeats nothing."""
    scores = model.attention_flops(sequence, causal=causal)
    if one_of("policy", policy, POLICIES) == EVERYTHING:
        return 0.0
    if policy in (SELECTIVE, MATMULS):
        return scores
    return scores + 2 * model.attention_parameters if policy == MLP else model.layer_flops(sequence, causal=causal)
