"""What a model server is: how fast its steps are, what it holds, what fits in a batch."""

from typing import Any, NamedTuple

from tpu_kernels.models.matrix import whole
from tpu_kernels.models.serving.published import document, number
from tpu_kernels.models.serving.step_time import StepTime, roofline_step, step_time


class ReplicaSpec(NamedTuple):
    """What a model server is: ``step`` (see :class:`StepTime`), ``kv_tokens`` of KV cache, ``batch_tokens`` in a step
    at most (prompts and decoded ones together), ``sequences`` at once at most, ``block_tokens`` in a block of the
    cache, and whether prompts share what they have in common (``prefix_caching``)."""

    step: StepTime
    kv_tokens: int
    batch_tokens: int
    sequences: int
    block_tokens: int = 16
    prefix_caching: bool = True


def replica_spec(
    step: StepTime,
    *,
    kv_tokens: int,
    batch_tokens: int = 8192,
    sequences: int = 256,
    block_tokens: int = 16,
    prefix_caching: bool = True,
) -> ReplicaSpec:
    """A checked :class:`ReplicaSpec`; the defaults are those of the servers in ``data/serving.toml``.

    Raises ``ValueError`` for a size under one.
    """
    return ReplicaSpec(
        step,
        whole("kv_tokens", kv_tokens),
        whole("batch_tokens", batch_tokens),
        whole("sequences", sequences),
        whole("block_tokens", block_tokens),
        prefix_caching,
    )


def published_replica(key: str, **changes: Any) -> ReplicaSpec:
    """A server that someone measured: ``gaie_simulator`` or ``qwen3_32b_2xh100``, with ``changes`` to its fields.

    Raises ``ValueError`` for any other key, with the known ones, and for sizes under one.
    """
    sizes = {field: number("replicas", key, field) for field in ReplicaSpec._fields[1:5]}
    entry = document()["replicas"][key]
    if "chip" in entry:
        rate = number("replicas", key, "prefill_rate")
        step = roofline_step(entry["model"], entry["chip"], chips=entry["chips"], prefill_rate=rate)
    else:
        terms = ("base", "per_sequence", "per_context_token", "prefill_base", "prefill_least", "per_prompt_token")
        step = step_time(**{term: number("replicas", key, term) for term in terms})
    return replica_spec(**{"step": step, **sizes, **changes})
