"""Inside ``shard_map`` a value is known to vary, or not, over each axis of the mesh; products must say what they do.

Operands of jax's own operations are made to vary alike by jax. A kernel, and a derivative written by hand, are opaque
to it, so it is done here. The backward half matters most: a matrix that all devices share gets the sum of their
gradients, because the derivative of the cast that makes it vary is a sum.
"""

from functools import partial
from typing import Any

import jax
import numpy as np
from jax import lax

FIELD = "manual_axis_type" if hasattr(jax.sharding, "ManualAxisType") else "vma"  # jax 0.8 has only the axes that vary


def varying(*values: jax.Array) -> frozenset[str]:
    """The axes of the mesh over which any of the values varies; none outside ``shard_map``, or where it checks none."""
    kinds: list[Any] = [getattr(jax.typeof(x), FIELD) for x in values]
    return frozenset().union(*(kind if FIELD == "vma" else kind.varying for kind in kinds))


def varying_over(axes: frozenset[str], x: jax.Array) -> jax.Array:
    """The value, made to vary over these axes as well as over its own."""
    missing = tuple(sorted(axes - varying(x)))
    if not missing:
        return x
    cast: Any = partial(lax.pcast, to="varying") if hasattr(lax, "pcast") else lax.pvary  # type: ignore[attr-defined]
    varied: jax.Array = cast(x, missing)
    return varied


def result_shape(shape: tuple[int, ...], dtype: np.dtype, like: jax.Array) -> jax.ShapeDtypeStruct:
    """The shape and type of a kernel's result that varies as ``like`` does."""
    fields: dict[str, Any] = {FIELD: getattr(jax.typeof(like), FIELD)}
    return jax.ShapeDtypeStruct(shape, dtype, **fields)
