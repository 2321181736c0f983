"""Text from a trained transformer, byte by byte."""

from collections.abc import Mapping
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from tpu_kernels.phrases import phrase
from tpu_kernels.training.transformer import Config, logits


def sample(
    params: Mapping[str, jax.Array],
    config: Config,
    prompt: str,
    length: int,
    key: jax.Array,
    temperature: float = 1.0,
) -> str:
    """``prompt`` and the ``length`` bytes that the model goes on with, as text.

    Each byte is drawn from ``softmax(logits / temperature)`` of the last ``config.context`` bytes; with temperature 0
    it is the likeliest. Bytes that are no UTF-8, which a young model writes and a cut leaves, show as the replacement
    character. Raises ``ValueError`` for an empty prompt, a ``length`` or temperature below 0, and another vocabulary
    than 256.

    The whole window is computed again for each byte: the model's positions count from the start of the window, so once
    it slides, what was computed for a byte holds no more, and there would be little to cache.
    """
    if config.vocabulary != 256:
        raise ValueError(phrase("generation.vocabulary", got=config.vocabulary))
    if not prompt:
        raise ValueError(phrase("generation.no_prompt"))
    for name, value in (("length", length), ("temperature", temperature)):
        if value < 0:
            raise ValueError(phrase("generation.negative", name=name, got=value))
    start = np.frombuffer(prompt.encode("utf-8"), np.uint8)
    window = np.zeros(config.context, np.int32)
    known = start[-config.context :]
    window[: len(known)] = known
    drawn = _drawn(params, window, len(known), jax.random.split(key, length), temperature, config=config)
    return (start.tobytes() + np.asarray(drawn, np.uint8).tobytes()).decode("utf-8", errors="replace")


@partial(jax.jit, static_argnames="config")
def _drawn(
    params: Mapping[str, jax.Array],
    window: jax.Array,
    known: jax.Array,
    keys: jax.Array,
    temperature: jax.Array,
    *,
    config: Config,
) -> jax.Array:
    """One byte for each of ``keys``. ``window``: [T], of which the first ``known`` are bytes of the text."""

    def draw(carry: tuple[jax.Array, jax.Array], key: jax.Array) -> tuple[tuple[jax.Array, jax.Array], jax.Array]:
        window, known = carry
        # What lies behind the last known byte is not seen from it: attention is causal.
        scores = logits(params, window[None], config=config)[0, known - 1]
        chosen = jax.lax.cond(
            temperature > 0,
            lambda: jax.random.categorical(key, scores / temperature),
            lambda: jnp.argmax(scores),
        ).astype(window.dtype)
        full = known == config.context
        window = jnp.where(full, jnp.roll(window, -1), window)
        window = window.at[jnp.where(full, known - 1, known)].set(chosen)
        return (window, jnp.minimum(known + 1, config.context)), chosen

    _, drawn = jax.lax.scan(draw, (window, jnp.int32(known)), keys)
    return drawn
