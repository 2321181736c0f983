"""What training a transformer on many devices costs each of them: memory, bytes sent along each axis, and time.

``training_step(published("llama-3-70b"), plan(fsdp=2048, tensor=4), tokens=2**22, sequence=4096)`` describes one step;
its ``memory()``, ``traffic()`` and ``roofline(…)`` are those of the device that is worst off. Bytes are the least that
the collectives can send (:mod:`~tpu_kernels.models.parallelism.collective_bytes`), in bf16 unless the formats say
otherwise.
"""

from tpu_kernels.models.parallelism.activations import POLICIES
from tpu_kernels.models.parallelism.collective_bytes import all_gather, all_reduce, all_to_all, reduce_scatter
from tpu_kernels.models.parallelism.communication_bounds import (
    dcn_batch_per_slice,
    fsdp_batch_per_device,
    fsdp_tensor_batch_per_device,
    largest_replicated_model,
    network_intensity,
    optimal_fsdp,
    tensor_ways,
)
from tpu_kernels.models.parallelism.memory_use import MemoryUse
from tpu_kernels.models.parallelism.mesh_plan import AXES, Plan, plan
from tpu_kernels.models.parallelism.pipeline import Schedule, schedule
from tpu_kernels.models.parallelism.plan_comparison import compare
from tpu_kernels.models.parallelism.stage_parameters import StageParameters
from tpu_kernels.models.parallelism.training_step import TrainingStep, mesh_machine, training_step
from tpu_kernels.models.parallelism.transformer import Transformer, define, published
from tpu_kernels.models.roofline.training_states import States

__all__ = [
    "AXES",
    "POLICIES",
    "MemoryUse",
    "Plan",
    "Schedule",
    "StageParameters",
    "States",
    "TrainingStep",
    "Transformer",
    "all_gather",
    "all_reduce",
    "all_to_all",
    "compare",
    "dcn_batch_per_slice",
    "define",
    "fsdp_batch_per_device",
    "fsdp_tensor_batch_per_device",
    "largest_replicated_model",
    "mesh_machine",
    "network_intensity",
    "optimal_fsdp",
    "plan",
    "published",
    "reduce_scatter",
    "schedule",
    "tensor_ways",
    "training_step",
]
