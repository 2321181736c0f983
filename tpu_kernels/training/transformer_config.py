"""The shape of a small transformer, its first parameters and its FLOP. NumPy only, so that JAX and PyTorch share it."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tpu_kernels.messages import decimal
from tpu_kernels.phrases import phrase

DEVIATION = 0.02  # of the first parameters


@dataclass(frozen=True)
class Config:
    """``vocabulary`` V, ``context`` T (positions that have a row of their own), ``width`` D, ``layers`` L, ``heads`` H.

    ``dropout``: the share of each residual branch that training drops, in [0, 1). Raises ``ValueError`` for a size
    below 1, a width that the heads do not divide, and a share outside its range.
    """

    vocabulary: int = 256
    context: int = 128
    width: int = 128
    layers: int = 2
    heads: int = 4
    dropout: float = 0.0

    def __post_init__(self) -> None:
        for name in ("vocabulary", "context", "width", "layers", "heads"):
            if getattr(self, name) < 1:
                raise ValueError(phrase("training.size", name=name, got=getattr(self, name)))
        if self.width % self.heads:
            raise ValueError(phrase("training.heads", width=self.width, heads=self.heads))
        if not 0 <= self.dropout < 1:
            raise ValueError(phrase("training.dropout", got=decimal(str(self.dropout))))


def shapes(config: Config) -> dict[str, tuple[int, ...]]:
    """Parameters by name, in the order in which :func:`init` draws them; those of the layers are stacked."""
    v, t, d, n = config.vocabulary, config.context, config.width, config.layers
    return {
        "embedding": (v, d),
        "position": (t, d),
        "norm_attention": (n, d),
        "query_key_value": (n, d, 3 * d),
        "attention_out": (n, d, d),
        "norm_mlp": (n, d),
        "up": (n, d, 4 * d),
        "down": (n, 4 * d, d),
        "norm_final": (d,),
    }


def init(config: Config, seed: int) -> dict[str, npt.NDArray[np.float32]]:
    """First parameters: normal with deviation 0.02, gains of the norms 1.

    ``attention_out`` and ``down`` end the 2L residual branches whose outputs add up in one stream; divided by
    ``sqrt(2L)``, they leave its variance independent of the depth.
    """
    rng = np.random.default_rng(seed)
    branches = math.sqrt(2 * config.layers)
    params = {}
    for name, shape in shapes(config).items():
        if name.startswith("norm"):
            params[name] = np.ones(shape, np.float32)
        else:
            drawn = rng.normal(0.0, DEVIATION, shape)
            params[name] = (drawn / branches if name in ("attention_out", "down") else drawn).astype(np.float32)
    return params


def training_flops_per_token(config: Config, length: int | None = None) -> int:
    """FLOP of one training step per token of a sequence of ``length`` (default: the context): ``6 N + 12 L T D``.

    N are the parameters that multiply a token: the four matrices of each layer and the embedding, as output table.
    Each costs 2 FLOP forward and 4 backward (the gradient of the input and that of the matrix); so do the scores and
    the sum of values, 2 T D each and layer, the masked half included because it is computed. Elementwise work is not
    counted.
    """
    length = config.context if length is None else length
    matrices = config.layers * 12 * config.width**2 + config.vocabulary * config.width
    return 6 * matrices + 12 * config.layers * length * config.width
