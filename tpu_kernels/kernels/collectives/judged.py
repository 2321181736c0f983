"""Arguments of collectives judged: mesh axes, dtypes and shapes, refused with the names and numbers that clash."""

from collections.abc import Mapping, Sequence
from math import prod

import jax
import jax.numpy as jnp
from jax import lax

from tpu_kernels.kernels.collectives.operations import COMBINE
from tpu_kernels.kernels.collectives.route import BIDIRECTIONAL, IMPLEMENTATIONS, RING, XLA
from tpu_kernels.phrases import phrase

DTYPES = (jnp.float32, jnp.bfloat16, jnp.int32)


def sizes(x: jax.Array, axis_name: str | Sequence[str], impl: str) -> dict[str, int]:
    """Devices along each mesh axis. ``ValueError`` for an axis that is not there, an unknown ``impl``, axes or a dtype
    that it does not take."""
    if impl not in IMPLEMENTATIONS:
        raise ValueError(phrase("collectives.unknown_impl", got=repr(impl), known=", ".join(IMPLEMENTATIONS)))
    axes = (axis_name,) if isinstance(axis_name, str) else tuple(axis_name)
    if not axes or len(set(axes)) != len(axes):
        raise ValueError(phrase("collectives.bad_axes", got=repr(axis_name)))
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
    if impl != XLA and x.dtype not in DTYPES:
        known = ", ".join(jnp.dtype(one).name for one in DTYPES)
        raise ValueError(phrase("collectives.dtype", got=x.dtype.name, known=known, impl=impl))
    return found


def kernels(impl: str) -> None:
    """``ValueError`` for one that is not made of these kernels."""
    if impl == XLA:
        raise ValueError(phrase("collectives.not_counted", known=", ".join(i for i in IMPLEMENTATIONS if i != XLA)))


def operation(op: str) -> None:
    """``ValueError`` for one that is not known."""
    if op not in COMBINE:
        raise ValueError(phrase("collectives.unknown_op", got=repr(op), known=", ".join(COMBINE)))


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


def device(number: object, name: str, over: Mapping[str, int]) -> None:
    """``ValueError`` for what is no number of a device."""
    devices = prod(over.values())
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < devices:
        raise ValueError(
            phrase("collectives.no_device", name=name, got=repr(number), last=devices - 1, axes=_written(over))
        )


def pairs(given: Sequence[tuple[int, int]], over: Mapping[str, int]) -> None:
    """``ValueError`` for numbers that are no devices, and for one that sends or gets twice."""
    for pair in given:
        for number in pair:
            device(number, "pairs", over)
    for side in zip(*given, strict=True):
        if len(set(side)) < len(side):
            raise ValueError(phrase("collectives.twice", got=repr(list(given)), device=max(side, key=side.count)))


def _written(over: Mapping[str, int]) -> str:
    return " x ".join(f"{axis}={size}" for axis, size in over.items())
