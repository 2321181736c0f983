"""Parameters on one device of a pipeline stage, after tensor and expert parallelism and before ZeRO."""

from typing import NamedTuple

from tpu_kernels.models.parallelism.mesh_plan import Plan
from tpu_kernels.models.parallelism.transformer import Transformer


class StageParameters(NamedTuple):
    """How many parameters a device holds: ``dense`` (attention, normalisations, router, tables) and ``experts`` (the
    feed-forward blocks of a mixture), the ``layers`` that it has, and those ``of_a_layer``."""

    layers: int
    dense: float
    experts: float
    of_a_layer: float

    @property
    def total(self) -> float:
        """All of them."""
        return self.dense + self.experts


def stage_parameters(model: Transformer, made: Plan, stage: int) -> StageParameters:
    """Of pipeline stage ``stage``: its share of the layers, the input table on the first, the output table on the last.

    Matrices are divided by ``tensor``, experts by ``expert``. What ``tensor`` cannot divide is whole on every device:
    normalisations, routers, and the keys and values of a head when there are fewer such heads than devices. Layers that
    do not divide evenly go to the first stages. A tied table is held at both ends of a pipeline.
    """
    layers = model.layers // made.pipeline + (stage < model.layers % made.pipeline)
    kv_heads = max(model.kv_heads / made.tensor, 1.0)
    attention = 2 * model.d_model * model.head_dim * (model.heads / made.tensor + kv_heads)
    small = 2 * model.norm_vectors * model.d_model + model.router_parameters
    blocks = model.experts * model.expert_parameters / (made.tensor * made.expert)
    mixture = model.experts > 1
    dense_layer = attention + small + (0.0 if mixture else blocks)
    expert_layer = blocks if mixture else 0.0
    table = model.vocabulary * model.d_model / made.tensor
    first, last = stage == 0, stage == made.pipeline - 1
    tables = table * (first + last) - (table if first and last and model.tied else 0.0)
    norm = model.norm_vectors * model.d_model if last else 0
    return StageParameters(
        layers, layers * dense_layer + tables + norm, layers * expert_layer, dense_layer + expert_layer
    )
