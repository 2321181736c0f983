"""The loss of a classifier, and of a language model, which classifies every next token."""

import torch
from torch import Tensor


def cross_entropy(scores: Tensor, targets: Tensor) -> Tensor:
    """``-log softmax(scores)[target]`` in nats, [...] float32, of ``scores`` [..., C] and integers ``targets`` [...].

    A target that is no class has loss NaN, as in JAX: on a CPU an index out of range would raise, on a GPU it would
    end the process, and on a TPU it would be taken for another one in silence.
    """
    scores = scores.float()
    index, is_class = within(targets, scores.shape[-1])
    chosen = torch.gather(scores, -1, index[..., None])[..., 0]
    return torch.where(is_class, torch.logsumexp(scores, -1) - chosen, torch.nan)


def within(index: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """``index`` as int64, moved into 0 to ``size - 1`` where it was outside, and where it was inside."""
    index = index.long()
    return index.clamp(0, size - 1), (index >= 0) & (index < size)
