"""Shapes of networks: tori and slices of TPU pods, leaf-spine fabrics, rails of GPU machines. See each file.

``tpu_slice("v5e", "8x16")`` follows the wrap-around rule of the generation; ``torus("4x4", wrap=False)`` is a plain
grid; ``leaf_spine(…)`` and ``cluster("a3-megagpu-8g", nodes=2)`` are switched. No graph library: hops, diameters and
bisections are formulas, checked in the tests by search over small graphs.
"""

from tpu_kernels.models.topology.clos import LeafSpine, leaf_spine
from tpu_kernels.models.topology.rails import GpuMachine, Path, Rails, cluster, gpu_machine, gpu_machines, rails
from tpu_kernels.models.topology.slices import Multislice, TpuSlice, chips_per_host, multislice, pod, tpu_slice
from tpu_kernels.models.topology.torus import Torus, torus

__all__ = [
    "GpuMachine",
    "LeafSpine",
    "Multislice",
    "Path",
    "Rails",
    "Torus",
    "TpuSlice",
    "chips_per_host",
    "cluster",
    "gpu_machine",
    "gpu_machines",
    "leaf_spine",
    "multislice",
    "pod",
    "rails",
    "torus",
    "tpu_slice",
]
