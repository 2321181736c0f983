"""What it costs: prices, interruptions, checkpoints, goodput, a training run, a million tokens, the cheapest slice.

Prices come from the hardware catalogue (on demand) and ``data/cost.toml`` (spot), each with source, region and date.
Times are in any unit, the same for all arguments, unless a docstring says hours.
"""

from tpu_kernels.models.cost.checkpoint import (
    best_interval,
    daly_first_interval,
    daly_interval,
    expected_goodput,
    expected_time,
    greatest_restart,
    mtti_of,
    young_interval,
)
from tpu_kernels.models.cost.goodput import badput_shares, productivity_goodput, runtime_goodput
from tpu_kernels.models.cost.interruptions import Interruptions
from tpu_kernels.models.cost.published import causes, run_number, run_record, slice_sizes, sources, spot_prices
from tpu_kernels.models.cost.rate import Rate, on_demand, own_rate, spot
from tpu_kernels.models.cost.restarts import (
    RunTime,
    best_interval_by_simulation,
    run_with_restarts,
    simulated_goodput,
)
from tpu_kernels.models.cost.run_cost import (
    RunCost,
    dollars,
    training_cost,
    training_flops,
    training_hours,
    usd_per_million_tokens,
)
from tpu_kernels.models.cost.slice_choice import Choice, Job, Risk, cheapest_slice, list_prices, options

__all__ = [
    "Choice",
    "Interruptions",
    "Job",
    "Rate",
    "Risk",
    "RunCost",
    "RunTime",
    "badput_shares",
    "best_interval",
    "best_interval_by_simulation",
    "causes",
    "cheapest_slice",
    "daly_first_interval",
    "daly_interval",
    "dollars",
    "expected_goodput",
    "expected_time",
    "greatest_restart",
    "list_prices",
    "mtti_of",
    "on_demand",
    "options",
    "own_rate",
    "productivity_goodput",
    "run_number",
    "run_record",
    "run_with_restarts",
    "runtime_goodput",
    "simulated_goodput",
    "slice_sizes",
    "sources",
    "spot",
    "spot_prices",
    "training_cost",
    "training_flops",
    "training_hours",
    "usd_per_million_tokens",
    "young_interval",
]
