"""Number formats of accelerators, bit by bit, and what they do to sums, products, integers and gradients.

``rounded(0.1, "bf16")``, ``encode(448, "fp8_e4m3fn")``, ``explore(0.1, "bf16")``; ``accumulate``, ``dot`` and their
error bounds; ``fit_quantisation``; ``scale_gradients``. Formats go by name: see :func:`format_table`.
"""

from tpu_kernels.models.numerics.accumulation import STRATEGIES, Accumulation, accumulate
from tpu_kernels.models.numerics.bit_fields import BitFields, exact_decimal, explore, explore_code
from tpu_kernels.models.numerics.conversion import decode, encode, rounded
from tpu_kernels.models.numerics.dot_product import DotProduct, PassedDotProduct, dot, dot_at_precision, split
from tpu_kernels.models.numerics.error_bounds import (
    accumulation_table,
    error_bound,
    gamma,
    probabilistic_bound,
    rounding_depth,
    sum_bound,
)
from tpu_kernels.models.numerics.float_format import OVERFLOWS, FloatFormat
from tpu_kernels.models.numerics.integer_format import IntegerFormat
from tpu_kernels.models.numerics.loss_scaling import (
    ScaledGradients,
    largest_safe_scale,
    loss_scale_table,
    scale_gradients,
)
from tpu_kernels.models.numerics.number_formats import (
    float_format,
    float_formats,
    format_sources,
    format_table,
    integer_format,
    integer_formats,
    number_format,
)
from tpu_kernels.models.numerics.quantisation import (
    ChannelQuantisation,
    Quantisation,
    fit_channels,
    fit_quantisation,
    quantisation,
)
from tpu_kernels.models.numerics.rounding import Rounding, nearest_even, stochastic, toward_zero

__all__ = [
    "OVERFLOWS",
    "STRATEGIES",
    "Accumulation",
    "BitFields",
    "ChannelQuantisation",
    "DotProduct",
    "FloatFormat",
    "IntegerFormat",
    "PassedDotProduct",
    "Quantisation",
    "Rounding",
    "ScaledGradients",
    "accumulate",
    "accumulation_table",
    "decode",
    "dot",
    "dot_at_precision",
    "encode",
    "error_bound",
    "exact_decimal",
    "explore",
    "explore_code",
    "fit_channels",
    "fit_quantisation",
    "float_format",
    "float_formats",
    "format_sources",
    "format_table",
    "gamma",
    "integer_format",
    "integer_formats",
    "largest_safe_scale",
    "loss_scale_table",
    "nearest_even",
    "number_format",
    "probabilistic_bound",
    "quantisation",
    "rounded",
    "rounding_depth",
    "scale_gradients",
    "split",
    "stochastic",
    "sum_bound",
    "toward_zero",
]
