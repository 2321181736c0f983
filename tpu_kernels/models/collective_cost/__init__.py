"""What collectives cost, and what measured ones say: ``cost("all-reduce", "ring", ranks=8, size=2**30, on=link(…))``.

``cost`` prices one algorithm, ``torus_cost`` all axes of a TPU slice at once, ``hierarchical_cost`` GPU machines on
rails; ``algbw`` and ``busbw`` are those of the NCCL tests; ``fit`` finds alpha and beta in measurements or refuses,
and ``best_fit`` chooses a model that holds. See each file.
"""

from tpu_kernels.models.collective_cost.algorithm_cost import Cost, comparison, cost
from tpu_kernels.models.collective_cost.alpha_beta import AlphaBeta, link
from tpu_kernels.models.collective_cost.alpha_beta_fit import Fit, FitRefusedError, fit
from tpu_kernels.models.collective_cost.bus_bandwidth import COLLECTIVES, algbw, busbw, busbw_factor, least_time
from tpu_kernels.models.collective_cost.fit_choice import best_fit, compare_fits, fits
from tpu_kernels.models.collective_cost.floor_fit import fit_floor
from tpu_kernels.models.collective_cost.hierarchical_cost import HierarchicalCost, hierarchical_cost
from tpu_kernels.models.collective_cost.nccl_tuner import ring_latency, tree_latency
from tpu_kernels.models.collective_cost.piecewise_fit import fit_piecewise
from tpu_kernels.models.collective_cost.rules import ALGORITHMS
from tpu_kernels.models.collective_cost.torus_cost import point_to_point, torus_cost

__all__ = [
    "ALGORITHMS",
    "COLLECTIVES",
    "AlphaBeta",
    "Cost",
    "Fit",
    "FitRefusedError",
    "HierarchicalCost",
    "algbw",
    "best_fit",
    "busbw",
    "busbw_factor",
    "compare_fits",
    "comparison",
    "cost",
    "fit",
    "fit_floor",
    "fit_piecewise",
    "fits",
    "hierarchical_cost",
    "least_time",
    "link",
    "point_to_point",
    "ring_latency",
    "torus_cost",
    "tree_latency",
]
