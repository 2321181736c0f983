"""How long an operation must take, and what holds it: ``analyse(matmul(240, 8192, 8192), "v5e")``.

Each resource that a workload uses needs a time: its FLOP over the dense rate, its bytes over the bandwidth. If they all
overlap, the longest is the time (``lower``); if none does, their sum is (``upper``), which is at most as many times
longer as there are resources. Sources: Williams, Waterman and Patterson, "Roofline", CACM 52(4), 2009; scaling book,
chapter 1.
"""

from tpu_kernels.models.roofline.analysis import (
    Bound,
    Roofline,
    analyse,
    attainable,
    critical_batch,
    ridge_point,
    ridge_table,
    smallest_batch,
)
from tpu_kernels.models.roofline.attention_workload import attention, decode, prefill
from tpu_kernels.models.roofline.layer_workloads import (
    convolution,
    embedding_lookup,
    layer_norm,
    matmul,
    mlp,
    moe,
    optimiser_step,
)
from tpu_kernels.models.roofline.machine import Level, Machine, custom, machine
from tpu_kernels.models.roofline.training_states import States
from tpu_kernels.models.roofline.workload import COMPUTE, Workload, together

__all__ = [
    "COMPUTE",
    "Bound",
    "Level",
    "Machine",
    "Roofline",
    "States",
    "Workload",
    "analyse",
    "attainable",
    "attention",
    "convolution",
    "critical_batch",
    "custom",
    "decode",
    "embedding_lookup",
    "layer_norm",
    "machine",
    "matmul",
    "mlp",
    "moe",
    "optimiser_step",
    "prefill",
    "ridge_point",
    "ridge_table",
    "smallest_batch",
    "together",
]
