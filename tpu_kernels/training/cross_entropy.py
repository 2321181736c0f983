"""The loss of a classifier, and of a language model, which classifies every next token."""

import jax
import jax.numpy as jnp


def cross_entropy(scores: jax.Array, targets: jax.Array) -> jax.Array:
    """``-log softmax(scores)[target]`` in nats, [...] float32, of ``scores`` [..., C] float32 and integers ``targets``.

    A target that is no class, negative ones included, has loss NaN: a program on a device cannot raise, and an index
    that wraps or is clamped would train on something else in silence.
    """
    index = targets.astype(jnp.int32)
    chosen = jnp.take_along_axis(scores, index[..., None], axis=-1)[..., 0]
    is_class = (index >= 0) & (index < scores.shape[-1])
    return jnp.where(is_class, jax.nn.logsumexp(scores, axis=-1) - chosen, jnp.nan)
