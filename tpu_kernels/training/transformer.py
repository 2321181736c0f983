"""A small decoder-only transformer: ``losses`` for training, ``logits`` for everything else."""

import math
from collections.abc import Callable, Mapping
from typing import TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from tpu_kernels.phrases import phrase
from tpu_kernels.training.cross_entropy import cross_entropy
from tpu_kernels.training.transformer_config import Config, init, shapes, training_flops_per_token

__all__ = [
    "Config",
    "Product",
    "check_tokens",
    "init",
    "logits",
    "losses",
    "product",
    "shapes",
    "training_flops_per_token",
]

Product: TypeAlias = Callable[[jax.Array, jax.Array], jax.Array]
"""``[..., m, k] x [..., k, n] -> [..., m, n]`` float32; ``b`` has two dimensions or the same leading ones as ``a``."""

EPSILON = 1e-6  # under the root of the norm


def product(a: jax.Array, b: jax.Array) -> jax.Array:
    """The product that XLA makes, accumulated and returned in float32 whatever the operands are."""
    if b.ndim == 2:  # all positions of all examples are rows of one matrix (jax 0.8.0 fails at bfloat16 otherwise)
        rows = jnp.matmul(a.reshape(-1, a.shape[-1]), b, preferred_element_type=jnp.float32)
        return rows.reshape(*a.shape[:-1], b.shape[-1])
    return jnp.matmul(a, b, preferred_element_type=jnp.float32)


def losses(
    params: Mapping[str, jax.Array],
    batch: Mapping[str, jax.Array],
    keys: jax.Array | None,
    *,
    config: Config,
    product: Product = product,
) -> jax.Array:
    """Mean cross-entropy of each example in nats, [B] float32: position ``i`` predicts token ``i + 1``.

    ``batch["tokens"]``: [B, T + 1] integers; ``keys``: [B] keys for dropout, or None for none. Raises ``ValueError``
    for more than ``context`` predictions, ``TypeError`` for tokens that are not integers. A token outside the
    vocabulary makes its loss NaN, since no program on a device can raise; :func:`check_tokens` finds it beforehand.
    """
    tokens = batch["tokens"]
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    return jnp.mean(cross_entropy(logits(params, inputs, keys, config=config, product=product), targets), axis=-1)


def logits(
    params: Mapping[str, jax.Array],
    tokens: jax.Array,
    keys: jax.Array | None = None,
    *,
    config: Config,
    product: Product = product,
) -> jax.Array:
    """Scores of the next token after each position, [B, t, V] float32, for ``tokens`` [B, t] with ``t <= context``.

    Computes in the dtype of ``params``; products, norms and softmax in float32. Raises as :func:`losses` does.
    """
    _check_form(tokens, config)
    # Rounded already, and yet float32: the gradient of a table is a sum over all tokens, which bfloat16 would lose.
    embedding, position = params["embedding"].astype(jnp.float32), params["position"].astype(jnp.float32)
    # Unsigned, so that -1 is outside the table (NaN), not its last row.
    found = jnp.take(embedding, tokens.astype(jnp.uint32), axis=0, mode="fill")
    x = (found + position[: tokens.shape[1]]).astype(params["embedding"].dtype)

    def layer(x: jax.Array, of: Mapping[str, jax.Array]) -> tuple[jax.Array, None]:
        branch = _attention(_rms_norm(x, of["norm_attention"]), of, config.heads, product)
        x += _dropout(branch, keys, 2 * of["number"], config.dropout)
        branch = _mlp(_rms_norm(x, of["norm_mlp"]), of, product)
        return x + _dropout(branch, keys, 2 * of["number"] + 1, config.dropout), None

    stacked = ("norm_attention", "query_key_value", "attention_out", "norm_mlp", "up", "down")
    layers = {name: params[name] for name in stacked} | {"number": jnp.arange(config.layers)}
    x, _ = jax.lax.scan(layer, x, layers)
    return product(_rms_norm(x, params["norm_final"]), params["embedding"].T)


def check_tokens(tokens: npt.ArrayLike, config: Config) -> None:
    """``ValueError`` for a token outside the vocabulary, with the first one and where it is.

    It reads on the host, so call it once for a data set and not for every batch.
    """
    array = np.asarray(tokens)
    wrong = np.argwhere((array < 0) | (array >= config.vocabulary))
    if wrong.size:
        place = tuple(wrong[0].tolist())
        raise ValueError(phrase("training.token", got=int(array[place]), place=place, last=config.vocabulary - 1))


def _check_form(tokens: jax.Array, config: Config) -> None:
    if not jnp.issubdtype(tokens.dtype, jnp.integer):
        raise TypeError(phrase("training.token_type", got=str(tokens.dtype)))
    if tokens.shape[1] > config.context:
        raise ValueError(phrase("training.context", got=tokens.shape[1], context=config.context))


def _rms_norm(x: jax.Array, gain: jax.Array) -> jax.Array:
    wide = x.astype(jnp.float32)
    root = jax.lax.rsqrt(jnp.mean(wide**2, axis=-1, keepdims=True) + EPSILON)
    return (wide * root * gain.astype(jnp.float32)).astype(x.dtype)


def _attention(x: jax.Array, of: Mapping[str, jax.Array], heads: int, product: Product) -> jax.Array:
    """Each position gathers from itself and those before it. ``x``: [B, t, D]."""
    examples, length, width = x.shape
    mixed = product(x, of["query_key_value"]).astype(x.dtype)
    # [B, t, 3 D] -> three of [B, H, t, D / H]
    split = mixed.reshape(examples, length, 3, heads, width // heads)
    query, key, value = (split[:, :, part].swapaxes(1, 2) for part in range(3))
    scores = product(query, key.swapaxes(-1, -2)) / math.sqrt(width // heads)
    causal = jnp.tril(jnp.ones((length, length), bool))
    shares = jax.nn.softmax(jnp.where(causal, scores, -jnp.inf), axis=-1).astype(x.dtype)
    gathered = product(shares, value).astype(x.dtype).swapaxes(1, 2).reshape(x.shape)
    return product(gathered, of["attention_out"]).astype(x.dtype)


def _mlp(x: jax.Array, of: Mapping[str, jax.Array], product: Product) -> jax.Array:
    hidden = jax.nn.gelu(product(x, of["up"]), approximate=True).astype(x.dtype)
    return product(hidden, of["down"]).astype(x.dtype)


def _dropout(branch: jax.Array, keys: jax.Array | None, place: jax.Array, rate: float) -> jax.Array:
    """Zeroes a share ``rate`` of the branch and scales up the rest; ``place`` tells the branches of one step apart."""
    if keys is None or rate == 0:
        return branch

    def mask(key: jax.Array) -> jax.Array:
        return jax.random.bernoulli(jax.random.fold_in(key, place), 1 - rate, branch.shape[1:])

    return jnp.where(jax.vmap(mask)(keys), branch / (1 - rate), 0)
