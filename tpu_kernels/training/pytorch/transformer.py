"""The transformer of :mod:`tpu_kernels.training.transformer`, in PyTorch: same parameters, same losses."""

import math
from collections.abc import Mapping
from typing import Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from tpu_kernels.phrases import phrase
from tpu_kernels.training.pytorch.cross_entropy import cross_entropy, within
from tpu_kernels.training.transformer_config import Config, shapes

EPSILON = 1e-6  # under the root of the norm
STACKED = ("norm_attention", "query_key_value", "attention_out", "norm_mlp", "up", "down")  # one row a layer


class Transformer(nn.Module):
    """Its parameters have the names and shapes of ``transformer_config.shapes``, float32. Made by :meth:`from_arrays`.

    Norms, softmax and loss are computed in float32 whatever autocast makes of the products. Dropout is on in training
    mode and draws from PyTorch's generator, so what is dropped is not what JAX drops.
    """

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        for name, shape in shapes(config).items():
            self.register_parameter(name, nn.Parameter(torch.empty(shape)))

    @classmethod
    def from_arrays(cls, config: Config, arrays: Mapping[str, npt.NDArray[np.float32]]) -> Self:
        """The model with copies of these parameters, as ``transformer_config.init(config, seed)`` gives them.

        Raises ``RuntimeError`` for a name that is missing or too much, and for another shape.
        """
        model = cls(config)
        model.load_state_dict({name: torch.tensor(array) for name, array in arrays.items()})
        return model

    def to_arrays(self) -> dict[str, npt.NDArray[np.float32]]:
        """Copies of the parameters on the host, for JAX or a file."""
        return {name: parameter.detach().cpu().numpy().copy() for name, parameter in self.named_parameters()}

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Mean cross-entropy of each example in nats, [B] float32: position ``i`` predicts token ``i + 1``.

        ``batch["tokens"]``: [B, T + 1] integers. Raises ``ValueError`` for more than ``context`` predictions,
        ``TypeError`` for tokens that are not integers. A token outside the vocabulary makes its loss NaN.
        """
        tokens = batch["tokens"]
        return cross_entropy(self.logits(tokens[:, :-1]), tokens[:, 1:]).mean(-1)

    def logits(self, tokens: Tensor) -> Tensor:
        """Scores of the next token after each position, [B, t, V] float32, for ``tokens`` [B, t], ``t <= context``."""
        self._check_form(tokens)
        index, is_token = within(tokens, self.config.vocabulary)
        found = torch.where(is_token[..., None], functional.embedding(index, self.embedding), torch.nan)
        x = found + self.position[: tokens.shape[1]]
        # Unbound once: the gradient of ``stack[layer]`` would fill a whole stack with zeros for each layer.
        stacks = (getattr(self, name).unbind() for name in STACKED)
        for norm_attention, query_key_value, attention_out, norm_mlp, up, down in zip(*stacks, strict=True):
            branch = _attention(_rms_norm(x, norm_attention), query_key_value, self.config.heads) @ attention_out
            x = x + self._dropout(branch)
            branch = functional.gelu(_rms_norm(x, norm_mlp) @ up, approximate="tanh") @ down
            x = x + self._dropout(branch)
        return (_rms_norm(x, self.norm_final) @ self.embedding.T).float()

    def _dropout(self, branch: Tensor) -> Tensor:
        return functional.dropout(branch, self.config.dropout, self.training)

    def _check_form(self, tokens: Tensor) -> None:
        if tokens.is_floating_point() or tokens.is_complex() or tokens.dtype == torch.bool:
            raise TypeError(phrase("training.token_type", got=str(tokens.dtype)))
        if tokens.shape[1] > self.config.context:
            raise ValueError(phrase("training.context", got=tokens.shape[1], context=self.config.context))


def _rms_norm(x: Tensor, gain: Tensor) -> Tensor:
    wide = x.float()
    return wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + EPSILON) * gain


def _attention(x: Tensor, query_key_value: Tensor, heads: int) -> Tensor:
    """Each position gathers from itself and those before it. ``x``: [B, t, D]; the result, too, before its product."""
    examples, length, width = x.shape
    # [B, t, 3 D] -> three of [B, H, t, D / H]
    split = (x @ query_key_value).view(examples, length, 3, heads, width // heads)
    query, key, value = split.permute(2, 0, 3, 1, 4).unbind()
    scores = (query @ key.transpose(-1, -2)).float() / math.sqrt(width // heads)
    later = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
    shares = scores.masked_fill(later, -torch.inf).softmax(-1)
    return (shares @ value).transpose(1, 2).reshape(x.shape)
