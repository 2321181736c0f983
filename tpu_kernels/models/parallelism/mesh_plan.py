"""How the devices of a mesh share a training step: the product of five kinds of parallelism."""

from typing import NamedTuple

from tpu_kernels.models.matrix import whole
from tpu_kernels.models.parallelism.pipeline import ONE_F_ONE_B, Schedule, schedule
from tpu_kernels.models.parallelism.transformer import Transformer
from tpu_kernels.phrases import phrase

AXES = ("data", "fsdp", "tensor", "pipeline", "expert")
ZERO_STAGES = (0, 1, 2, 3)


class Plan(NamedTuple):
    """Devices along each axis; one everywhere is a single device. Made by :func:`plan`.

    ``data`` replicates the model and splits the batch. ``fsdp`` splits the batch too, and of the model what ``zero``
    says: 0 nothing, 1 the optimiser's state, 2 the gradients as well, 3 the parameters as well (FSDP). ``tensor``
    splits the matrices inside each layer; with ``sequence_parallel`` also what lies between them. ``pipeline`` splits
    the layers, and the batch goes through it in ``microbatches``. ``expert`` splits the experts and the batch, and
    replicates everything else.
    """

    data: int = 1
    fsdp: int = 1
    tensor: int = 1
    pipeline: int = 1
    expert: int = 1
    zero: int = 3
    microbatches: int = 1
    schedule_kind: str = ONE_F_ONE_B
    chunks: int = 1
    sequence_parallel: bool = True

    @property
    def devices(self) -> int:
        """How many devices the mesh has."""
        return self.batch_shards * self.tensor * self.pipeline

    @property
    def batch_shards(self) -> int:
        """In how many parts the batch is split."""
        return self.data * self.fsdp * self.expert

    @property
    def schedule(self) -> Schedule:
        """The pipeline's schedule."""
        return schedule(self.schedule_kind, stages=self.pipeline, microbatches=self.microbatches, chunks=self.chunks)

    def shards(self, zero: int) -> int:
        """In how many parts ``fsdp`` splits what ZeRO stage ``zero`` brings: optimiser 1, gradients 2, parameters 3."""
        return self.fsdp if self.zero >= zero else 1


def plan(
    *,
    data: int = 1,
    fsdp: int = 1,
    tensor: int = 1,
    pipeline: int = 1,
    expert: int = 1,
    zero: int = 3,
    microbatches: int = 1,
    schedule_kind: str = ONE_F_ONE_B,
    chunks: int = 1,
    sequence_parallel: bool = True,
) -> Plan:
    """A checked :class:`Plan`; ``ValueError`` for a size below one, an unknown ZeRO stage, or a schedule that does not
    exist for these sizes."""
    if isinstance(zero, bool) or zero not in ZERO_STAGES:
        known = ", ".join(map(str, ZERO_STAGES))
        raise ValueError(phrase("amount.unknown_choice", name="zero", got=repr(zero), known=known))
    made = Plan(
        whole("data", data),
        whole("fsdp", fsdp),
        whole("tensor", tensor),
        whole("pipeline", pipeline),
        whole("expert", expert),
        int(zero),
        whole("microbatches", microbatches),
        schedule_kind,
        whole("chunks", chunks),
        bool(sequence_parallel),
    )
    _ = made.schedule  # refuses the sizes that it cannot have
    return made


def fitted(made: Plan, model: Transformer) -> Plan:
    """The plan itself when it can split this model; else ``ValueError``: heads and feed-forward width divide among
    ``tensor``, key-value heads too (or ``tensor`` among them), experts among ``expert``, and every chunk of every stage
    has at least one layer."""
    for name, size, by, parts in (
        ("heads", model.heads, "tensor", made.tensor),
        ("d_ff", model.d_ff, "tensor", made.tensor),
        ("kv_heads", 0 if made.tensor % model.kv_heads == 0 else model.kv_heads, "tensor", made.tensor),
        ("experts", model.experts, "expert", made.expert),
    ):
        if size % parts:
            raise ValueError(phrase("workload.not_divisible", name=name, got=size, by=by, divisor=parts))
    if made.pipeline * made.chunks > model.layers:
        raise ValueError(phrase("pipeline.too_few_layers", layers=model.layers, pieces=made.pipeline * made.chunks))
    return made
