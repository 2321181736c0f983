"""The loss of the transformer in NumPy and float64: slow, plain, and written without jax, so that it can be a judge."""

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tpu_kernels.training.transformer_config import Config

Params = Mapping[str, NDArray[np.floating]]
Array = NDArray[np.float64]


def loss(params: Params, tokens: NDArray[np.integer], config: Config) -> float:
    """Mean cross-entropy in nats over examples and positions; ``tokens`` [B, T + 1]."""
    of = {name: np.asarray(value, np.float64) for name, value in params.items()}
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    x = of["embedding"][inputs] + of["position"][: inputs.shape[1]]
    for layer in range(config.layers):
        x = x + _attention(_norm(x) * of["norm_attention"][layer], of, layer, config.heads)
        hidden = _gelu(_norm(x) * of["norm_mlp"][layer] @ of["up"][layer])
        x = x + hidden @ of["down"][layer]
    scores = (_norm(x) * of["norm_final"]) @ of["embedding"].T
    highest = scores.max(-1, keepdims=True)
    log_total = highest[..., 0] + np.log(np.exp(scores - highest).sum(-1))
    chosen = np.take_along_axis(scores, targets[..., None].astype(int), -1)[..., 0]
    return float((log_total - chosen).mean())


def slope(params: Params, direction: Params, tokens: NDArray[np.integer], config: Config, reach: float = 1e-5) -> float:
    """The derivative of the loss along ``direction``, by central differences ``reach`` times its length apart."""
    length = math.sqrt(squared_norm(direction))
    step = reach / length
    along = {name: np.asarray(part, np.float64) for name, part in direction.items()}

    def moved(sign: float) -> dict[str, Array]:
        return {name: np.asarray(params[name], np.float64) + sign * step * along[name] for name in params}

    return float((loss(moved(1.0), tokens, config) - loss(moved(-1.0), tokens, config)) / (2 * step))


def squared_norm(params: Params) -> float:
    """The sum of the squares of all parameters, in float64."""
    return sum(float(np.sum(np.square(part, dtype=np.float64))) for part in params.values())


def _norm(x: Array) -> Array:
    return np.asarray(x / np.sqrt(np.mean(x * x, -1, keepdims=True) + 1e-6))


def _attention(x: Array, of: Mapping[str, Array], layer: int, heads: int) -> Array:
    examples, length, width = x.shape
    mixed = (x @ of["query_key_value"][layer]).reshape(examples, length, 3, heads, width // heads)
    query, key, value = (mixed[:, :, part].swapaxes(1, 2) for part in range(3))
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(width // heads)
    scores = np.where(np.tril(np.ones((length, length), bool)), scores, -np.inf)
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    gathered = shares / shares.sum(-1, keepdims=True) @ value
    return np.asarray(gathered.swapaxes(1, 2).reshape(x.shape) @ of["attention_out"][layer])


def _gelu(x: Array) -> Array:
    return np.asarray(0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))))
