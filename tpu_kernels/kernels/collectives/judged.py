"""Arguments of collectives judged: mesh axes, dtypes and shapes, refused with the names and numbers that clash."""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tpu_kernels.kernels.collectives import places
from tpu_kernels.kernels.collectives.operations import COMBINE, SUM
from tpu_kernels.kernels.collectives.route import BIDIRECTIONAL, IMPLEMENTATIONS, RING, XLA
from tpu_kernels.phrases import phrase

DTYPES = (jnp.float32, jnp.bfloat16, jnp.int32)


def sizes(x: jax.Array, axis_name: str | Sequence[str], impl: str) -> dict[str, int]:
    """Devices along each mesh axis. ``ValueError`` for an axis that is not there, an unknown ``impl``, what is no
    array, and axes or a dtype that ``impl`` does not take."""
    if not isinstance(x, jax.Array | np.ndarray | np.generic):
        raise ValueError(phrase("collectives.no_array", got=type(x).__name__))
    if impl not in IMPLEMENTATIONS:
        raise ValueError(phrase("collectives.unknown_impl", got=repr(impl), known=", ".join(IMPLEMENTATIONS)))
    axes = _axes(axis_name)
    if impl in (RING, BIDIRECTIONAL) and len(axes) > 1:
        raise ValueError(phrase("collectives.one_axis", impl=impl, got=", ".join(axes)))
    found = {}
    for axis in axes:
        try:
            found[axis] = int(lax.axis_size(axis))
        except NameError:
            there = jax.sharding.get_abstract_mesh().axis_names
            if not there:
                raise ValueError(phrase("collectives.no_mesh", axis=axis)) from None
            raise ValueError(phrase("collectives.no_axis", axis=axis, known=", ".join(there))) from None
    if impl != XLA and not set(axes) <= set(places.axes()):  # an axis of vmap is no mesh's
        raise ValueError(phrase("collectives.no_mesh", axis=", ".join(axes)))
    if impl != XLA and x.dtype not in DTYPES:
        known = ", ".join(jnp.dtype(one).name for one in DTYPES)
        raise ValueError(phrase("collectives.dtype", got=x.dtype.name, known=known, impl=impl))
    return found


def kernels(impl: str) -> None:
    """``ValueError`` for one that is not made of these kernels."""
    if impl == XLA:
        raise ValueError(phrase("collectives.not_counted", known=", ".join(i for i in IMPLEMENTATIONS if i != XLA)))


def operation(op: str, x: jax.Array) -> None:
    """``ValueError`` for one that is not known, or that does not take the dtype and give it back."""
    if not isinstance(op, str) or op not in COMBINE:
        raise ValueError(phrase("collectives.unknown_op", got=repr(op), known=", ".join(COMBINE)))
    if x.dtype == jnp.bool_ and op == SUM:
        raise ValueError(phrase("collectives.sum_of_bool"))
    if jnp.iscomplexobj(x) and op != SUM:
        raise ValueError(phrase("collectives.no_order", op=op, got=x.dtype.name))


def leading(x: jax.Array, name: str) -> None:
    """``ValueError`` for a scalar where the first axis is cut or joined."""
    if x.ndim == 0:
        raise ValueError(phrase("collectives.scalar", collective=name))


def divisible(x: jax.Array, name: str, over: Mapping[str, int]) -> None:
    """``ValueError`` when the first axis does not fall into as many parts as there are devices."""
    leading(x, name)
    devices = prod(over.values())
    if x.shape[0] % devices:
        raise ValueError(
            phrase(
                "collectives.not_divisible",
                collective=name,
                shape=str(x.shape),
                first=x.shape[0],
                devices=devices,
                axes=_written(over),
            )
        )


def device(number: Any, name: str, over: Mapping[str, int]) -> int:
    """The number of a device as Python's, also of one of NumPy's. ``ValueError`` for what is none."""
    devices = prod(over.values())
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or not 0 <= number < devices:
        raise ValueError(
            phrase("collectives.no_device", name=name, got=repr(number), last=devices - 1, axes=_written(over))
        )
    return int(number)


def pairs(given: Any, over: Mapping[str, int]) -> list[tuple[int, int]]:
    """The pairs as a list, whatever gave them. ``ValueError`` for what is no pair, numbers that are no devices, and for
    one that sends or gets twice."""
    try:
        listed = [tuple(pair) for pair in given]
    except TypeError:
        raise ValueError(phrase("collectives.bad_pairs", got=repr(given))) from None
    if any(len(pair) != 2 for pair in listed):
        raise ValueError(phrase("collectives.bad_pairs", got=repr(listed)))
    found = [(device(source, "pairs", over), device(target, "pairs", over)) for source, target in listed]
    for side in zip(*found, strict=True):
        if len(set(side)) < len(side):
            raise ValueError(phrase("collectives.twice", got=repr(found), device=max(side, key=side.count)))
    return found


def _axes(axis_name: Any) -> tuple[str, ...]:
    """One name or several. A set is refused: it has no order, and the axes are numbered in theirs."""
    axes = (axis_name,) if isinstance(axis_name, str) else axis_name
    ordered = isinstance(axes, Sequence) and all(isinstance(axis, str) for axis in axes)
    if not ordered or not axes or len(set(axes)) != len(axes):
        raise ValueError(phrase("collectives.bad_axes", got=repr(axis_name)))
    return tuple(axes)


def _written(over: Mapping[str, int]) -> str:
    return " x ".join(f"{axis}={size}" for axis, size in over.items())
