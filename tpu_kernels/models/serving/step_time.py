"""How long one step of a model server takes, from what is in its batch.

A step reads the weights once, computes every token of the batch, and reads the KV cache of every sequence that decodes:
``base + per_prompt_token * P + per_attention * A + per_sequence * n + per_context_token * K`` for ``P`` prompt tokens
that together look back at ``A`` tokens, ``n`` sequences that decode, and ``K`` tokens of context that these hold. The
terms add up, with no overlap of computation and memory.
"""

from typing import NamedTuple

from tpu_kernels.models import hardware
from tpu_kernels.models.checked_number import positive_number
from tpu_kernels.models.matrix import whole
from tpu_kernels.models.roofline.amounts import itemsize, not_negative
from tpu_kernels.models.serving.published import language_model
from tpu_kernels.models.serving.request import PICOSECONDS
from tpu_kernels.phrases import phrase


class StepTime(NamedTuple):
    """The coefficients of a step, in whole picoseconds; made by :func:`step_time`, :func:`roofline_step` or
    :func:`tpu_kernels.models.serving.published_replica`.

    A step without prompt tokens takes ``base + per_sequence * n + per_context_token * K``; one with them
    ``max(prefill_least, prefill_base + per_prompt_token * P + per_attention * A) + per_sequence * n + per_context_token
    * K``.
    """

    base: int
    per_sequence: int
    per_context_token: int
    prefill_base: int
    prefill_least: int
    per_prompt_token: int
    per_attention: int = 0

    def decode(self, sequences: int, context: int) -> int:
        """Picoseconds of a step of ``sequences`` that together hold ``context`` tokens."""
        return self.base + self.per_sequence * sequences + self.per_context_token * context

    def mixed(self, prompt: int, attention: int, sequences: int, context: int) -> int:
        """Picoseconds of a step with ``prompt`` tokens of prefill beside the sequences that decode."""
        prefill = self.prefill_base + self.per_prompt_token * prompt + self.per_attention * attention
        return max(self.prefill_least, prefill) + self.per_sequence * sequences + self.per_context_token * context


def step_time(
    *,
    base: float,
    per_prompt_token: float,
    per_context_token: float,
    per_sequence: float = 0.0,
    per_attention: float = 0.0,
    prefill_base: float | None = None,
    prefill_least: float | None = None,
) -> StepTime:
    """A :class:`StepTime` from seconds; ``prefill_base`` and ``prefill_least`` are ``base`` unless given.

    Raises ``ValueError`` for a negative or non-finite coefficient, and for a step that would take no time.
    """
    values = {
        "base": positive_number("base", base),
        "per_sequence": not_negative("per_sequence", per_sequence),
        "per_context_token": not_negative("per_context_token", per_context_token),
        "prefill_base": base if prefill_base is None else not_negative("prefill_base", prefill_base),
        "prefill_least": base if prefill_least is None else not_negative("prefill_least", prefill_least),
        "per_prompt_token": positive_number("per_prompt_token", per_prompt_token),
        "per_attention": not_negative("per_attention", per_attention),
    }
    whole_numbers = {name: round(value * PICOSECONDS) for name, value in values.items()}
    if whole_numbers["base"] < 1 or whole_numbers["per_prompt_token"] < 1:
        raise ValueError(phrase("serving.too_fast", got=repr(base), least="1e-12 s"))
    return StepTime(**whole_numbers)


def roofline_step(
    model: str, chip: str, *, chips: int = 1, dtype: str = "bf16", prefill_rate: float | None = None
) -> StepTime:
    """The step of a language model on ``chips`` of the hardware catalogue, from data sheets alone.

    ``base``: the weights read once. ``per_context_token``: its keys and values read once, ``2 * layers * kv_heads *
    head_dim`` elements. ``per_prompt_token`` and ``per_sequence``: 2 FLOP a weight at the peak rate; ``per_attention``:
    ``4 * layers * heads * head_dim`` FLOP a pair of tokens. Everything is spread evenly over the chips and nothing is
    spent on the network or the host: a lower bound, which real servers miss by a factor of two and more when they
    decode. ``prefill_rate`` (tokens/s), where someone measured one, replaces the peak rate: it is that of a chunk of
    ``8192`` tokens, as llm-d calibrates it, and everything that computes slows down with it.

    Raises ``ValueError`` for an unknown model, ``LookupError`` for a chip or a rate without a source.
    """
    shape, device, ways = language_model(model), hardware.chip(chip), whole("chips", chips)
    flops = float(device.peak_flops[dtype]) * ways
    bandwidth = float(device.hbm_bandwidth) * ways
    token, pair = 2 * shape.parameters / flops, 4 * shape.layers * shape.heads * shape.head_dim / flops
    if prefill_rate is not None:
        chunk = CALIBRATION_CHUNK
        slowdown = (
            chunk / positive_number("prefill_rate", prefill_rate) / (chunk * token + pair * chunk * (chunk + 1) / 2)
        )
        token, pair = token * slowdown, pair * slowdown
    element = itemsize(dtype)
    return step_time(
        base=shape.parameters * element / bandwidth,
        per_context_token=2 * shape.layers * shape.kv_heads * shape.head_dim * element / bandwidth,
        per_prompt_token=token,
        per_sequence=token,
        per_attention=pair,
        prefill_base=0.0,
    )


CALIBRATION_CHUNK = 8192  # max_num_batched_tokens of the servers that llm-d calibrated (data/serving.toml, table V8)
