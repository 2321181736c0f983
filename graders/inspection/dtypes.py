"""Types of MLIR as numpy has them."""

from typing import Any

import ml_dtypes
import numpy as np
from jax.extend.mlir import ir


class UnknownOperationError(ValueError):
    """Something that is not known here, so that the program cannot be run; the message names it, in MLIR's words."""


_DTYPES = {
    "i1": np.bool_,
    "index": np.int64,
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "bf16": ml_dtypes.bfloat16,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E5M2": ml_dtypes.float8_e5m2,
    **{f"i{bits}": np.dtype(f"int{bits}") for bits in (8, 16, 32, 64)},
    **{f"ui{bits}": np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)},
}


def element(kind: Any) -> Any:
    """The type of an element, of a scalar's type or of that of an array. Raises :class:`UnknownOperationError`."""
    return kind.element_type if isinstance(kind, ir.ShapedType) else kind


def dtype(kind: Any) -> "np.dtype[Any]":
    """Raises :class:`UnknownOperationError` for a type that numpy has not, as a semaphore's."""
    name = str(element(kind))
    if name not in _DTYPES:
        raise UnknownOperationError(name)
    found: np.dtype[Any] = np.dtype(_DTYPES[name])
    return found


def shape(kind: Any) -> tuple[int, ...]:
    """Of an array's type; empty for a scalar's."""
    return tuple(kind.shape) if isinstance(kind, ir.ShapedType) else ()


def integers(attribute: Any) -> list[int]:
    """The numbers of a dense array, or of an array of integers."""
    return [int(getattr(one, "value", one)) for one in attribute]
