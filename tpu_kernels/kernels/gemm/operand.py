"""What may be multiplied: an array of NumPy or jax, known by its shape and its type."""

from typing import Any, NamedTuple, TypeAlias

import jax
import numpy as np

from tpu_kernels.backend import announce
from tpu_kernels.phrases import phrase

Array: TypeAlias = jax.Array | np.ndarray[Any, Any]


class Abstract(NamedTuple):
    """An operand without its numbers."""

    shape: tuple[int, ...]
    dtype: np.dtype


def as_operand(name: str, value: object) -> Array:
    """The array as jax will take it; ``TypeError`` for what is no array.

    Without ``jax_enable_x64`` jax has no 64-bit types: a NumPy array of float64 becomes float32 and one of int64 int32,
    which is announced once. Numbers that would not fit raise ``ValueError``.
    """
    if isinstance(value, jax.Array):
        return value
    if not isinstance(value, np.ndarray):
        raise TypeError(phrase("gemm.not_an_array", operand=name, got=type(value).__name__))
    if not value.dtype.isnative:
        value = value.astype(value.dtype.newbyteorder("="))
    kept = jax.dtypes.canonicalize_dtype(value.dtype)
    if kept != value.dtype:
        if not _fits(value, kept):
            raise ValueError(phrase("gemm.does_not_fit", operand=name, got=value.dtype.name, kept=kept.name))
        if value.dtype.kind == "i":
            announce(phrase("gemm.narrowed_integers", got=value.dtype.name, kept=kept.name))
        else:
            announce(phrase("gemm.narrowed", got=value.dtype.name, kept=kept.name))
    return value


def _fits(value: np.ndarray[Any, Any], kept: np.dtype) -> bool:
    """Whether every finite number of ``value`` is within the range of ``kept``."""
    if value.dtype.kind == "f":
        magnitudes = np.abs(value[np.isfinite(value)])
        return bool(magnitudes.max(initial=0.0) <= np.finfo(kept).max)
    if value.dtype.kind == "i" and value.size:
        return bool(value.min() >= np.iinfo(kept).min and value.max() <= np.iinfo(kept).max)
    return True


def abstract(name: str, value: object) -> Abstract:
    """Shape and type of an operand, the type as jax will hold it; ``TypeError`` for what has neither."""
    if not isinstance(value, jax.Array | np.ndarray | jax.ShapeDtypeStruct):
        raise TypeError(phrase("gemm.not_an_array", operand=name, got=type(value).__name__))
    return Abstract(value.shape, jax.dtypes.canonicalize_dtype(value.dtype))
