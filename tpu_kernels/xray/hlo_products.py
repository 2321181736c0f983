"""The multiplications in an operation of XLA's, from the shapes that it prints."""

import math
import re

from tpu_kernels.xray.hlo import Module, Operation

LABELS = re.compile(r"dim_labels=(\w+)_(\w+)->(\w+)")
CONTRACTED = re.compile(r"lhs_contracting_dims=\{([\d,]*)\}")
SMALL = 8  # products with a shorter side may be computed without the matrix units
DILATED = "lhs_dilate="  # how XLA writes, among others, a batch of products as one convolution


def flops(module: Module, operation: Operation) -> int | None:
    """Two for each multiplication and addition in products and convolutions; ``None`` when one cannot be counted."""
    counted = [
        _flops(module, one) for one in (operation, *module.inside(operation)) if one.opcode in {"convolution", "dot"}
    ]
    return None if None in counted else sum(filter(None, counted))


def only_products(module: Module, operation: Operation) -> bool:
    """Whether all that it multiplies are plain products of matrices, without a window or a short side."""
    parts = [one for one in (operation, *module.inside(operation)) if one.opcode in {"convolution", "dot"}]
    return bool(parts) and all("window=" not in one.attributes and _shortest(module, one) >= SMALL for one in parts)


def _shortest(module: Module, one: Operation) -> int:
    arrays = (one.arrays[0], *(module.named[name].arrays[0] for name in one.operands[:2]))
    return min((side for array in arrays for side in array.dimensions), default=0)


def _flops(module: Module, one: Operation) -> int | None:
    out = math.prod(one.arrays[0].dimensions)
    left, right = (module.named[name].arrays[0].dimensions for name in one.operands[:2])
    labels, contracted = LABELS.search(one.attributes), CONTRACTED.search(one.attributes)
    if one.opcode == "dot" and contracted:
        return 2 * out * math.prod(left[int(axis)] for axis in contracted[1].split(",") if axis)
    if labels is None or DILATED in one.attributes:
        return None
    return 2 * out * math.prod(right) // right[labels[2].index("o")]
