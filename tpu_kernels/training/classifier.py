"""A multilayer perceptron that reads digits: 64 pixels, 128 hidden units, 10 classes."""

import math
from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from tpu_kernels.training.cross_entropy import cross_entropy

PIXELS, HIDDEN, CLASSES = 64, 128, 10


def init(seed: int) -> dict[str, npt.NDArray[np.float32]]:
    """First parameters: normal with deviation ``sqrt(2 / inputs)``, biases 0 (K. He et al., ICCV 2015)."""
    rng = np.random.default_rng(seed)
    return {
        "hidden": rng.normal(0.0, math.sqrt(2 / PIXELS), (PIXELS, HIDDEN)).astype(np.float32),
        "hidden_bias": np.zeros(HIDDEN, np.float32),
        "out": rng.normal(0.0, math.sqrt(2 / HIDDEN), (HIDDEN, CLASSES)).astype(np.float32),
        "out_bias": np.zeros(CLASSES, np.float32),
    }


def logits(params: Mapping[str, jax.Array], pixels: jax.Array) -> jax.Array:
    """Scores of each class, [B, 10] float32, for ``pixels`` [B, 64]."""
    hidden = jnp.matmul(pixels, params["hidden"], preferred_element_type=jnp.float32) + params["hidden_bias"]
    active = jax.nn.relu(hidden).astype(params["out"].dtype)
    return jnp.matmul(active, params["out"], preferred_element_type=jnp.float32) + params["out_bias"]


def losses(params: Mapping[str, jax.Array], batch: Mapping[str, jax.Array], keys: jax.Array | None) -> jax.Array:
    """Cross-entropy of each example in nats, [B] float32. ``batch``: "pixels" [B, 64], "label" [B] integers below 10.

    ``keys`` is what every model is given; this one draws nothing. A label out of range makes its loss NaN.
    """
    return cross_entropy(logits(params, batch["pixels"]), batch["label"])
