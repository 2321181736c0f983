"""A weight-stationary systolic array, cycle by cycle: ``simulate(weights, inputs)``; and what one costs, by formula.

Weights are ``K x N`` and stay; row ``k`` of the array takes column ``k`` of the inputs (``M x K``), held back ``k``
cycles. In cycle ``t`` (the first is 0) cell ``(k, n)`` works on input row ``m = t - k - n``, and the result of that row
leaves the bottom of column ``n`` in cycle ``m + (K - 1) + n``. The last leaves in cycle ``M + K + N - 3``, so the
run takes ``M + K + N - 2`` cycles.
"""

from tpu_kernels.models.picture import Picture
from tpu_kernels.models.systolic.simulation import (
    Trace,
    cycle_count,
    operand_reads_per_mac,
    result_writes_per_mac,
    simulate,
)
from tpu_kernels.models.systolic.state import Cell, Departure, State
from tpu_kernels.models.systolic.tiles import TiledRun, matmul, tiled_cycles, utilisation

__all__ = [
    "Cell",
    "Departure",
    "Picture",
    "State",
    "TiledRun",
    "Trace",
    "cycle_count",
    "matmul",
    "operand_reads_per_mac",
    "result_writes_per_mac",
    "simulate",
    "tiled_cycles",
    "utilisation",
]
