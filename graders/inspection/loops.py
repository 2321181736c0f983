"""How often the body of a loop in StableHLO is carried out, for loops that count, as ``scan`` and ``fori_loop`` do."""

from typing import Any

import numpy as np
from jax.extend.mlir import ir


def trips(loop: Any) -> int | None:
    """Of one ``stablehlo.while``; ``None`` unless it adds a constant to a counter until that reaches a constant."""
    condition, body = (region.blocks[0] for region in loop.regions)
    test = _last(condition).operands[0].owner
    if _name(test) != "stablehlo.compare" or "LT" not in str(test.attributes["comparison_direction"]):
        return None
    counters = [number for number, one in enumerate(condition.arguments) if one == test.operands[0]]
    if not counters:
        return None
    number = counters[0]
    step = _last(body).operands[number].owner
    if _name(step) != "stablehlo.add" or body.arguments[number] not in list(step.operands):
        return None
    added = next((one for one in step.operands if one != body.arguments[number]), None)
    first, last, each = (_constant(one) for one in (loop.operands[number], test.operands[1], added))
    if first is None or last is None or not each or each < 0:
        return None
    return max(0, -(-(last - first) // each))


def _last(block: Any) -> Any:
    return list(block.operations)[-1].operation


def _name(owner: Any) -> str:
    return str(getattr(getattr(owner, "operation", owner), "name", ""))  # a block, which owns arguments, has none


def _constant(value: Any) -> int | None:
    if value is None or _name(value.owner) != "stablehlo.constant":
        return None
    found = np.asarray(ir.DenseElementsAttr(value.owner.attributes["value"]))
    return int(found) if found.ndim == 0 and found.dtype.kind in "iu" else None
