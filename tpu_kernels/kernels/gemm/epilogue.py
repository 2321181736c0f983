"""What follows the sums: bias, activation and one rounding, fused into every implementation of the product."""

from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tpu_kernels.kernels.gemm.dtypes import FLOAT32, FLOATS, INTEGERS
from tpu_kernels.kernels.gemm.operand import Abstract
from tpu_kernels.kernels.gemm.problem import Problem
from tpu_kernels.phrases import phrase

ACTIVATIONS: Mapping[str, Callable[[jax.Array], jax.Array]] = {
    "relu": lambda z: jnp.where(z <= 0, 0, z),  # a NaN stays one, and the slope at 0 is 0
    "gelu": lambda z: jax.nn.gelu(z, approximate=True),
    "silu": jax.nn.silu,
}


def working_dtype(accumulator: np.dtype, out_dtype: np.dtype) -> np.dtype:
    """In what the epilogue computes: the accumulator's type, or float32 where integer sums become a float."""
    if jnp.issubdtype(accumulator, jnp.integer) and jnp.issubdtype(out_dtype, jnp.floating):
        return FLOAT32
    return accumulator


def finish(accumulator: jax.Array, bias: jax.Array | None, activation: str | None, out_dtype: np.dtype) -> jax.Array:
    """``activation(accumulator + bias)`` in ``out_dtype``; the only rounding to it is the last step.

    ``accumulator`` is ``[..., m, n]``, in float32, float64, int32 or int64; ``bias`` is ``[n]``, or ``[1, n]`` in a
    kernel that has no vectors, or ``None``. ``activation`` is a key of :data:`ACTIVATIONS` or ``None``.
    """
    z = lax.convert_element_type(accumulator, working_dtype(accumulator.dtype, out_dtype))
    if bias is not None:
        z = z + lax.convert_element_type(bias, z.dtype)
    if activation is not None:
        z = ACTIVATIONS[activation](z)
    return lax.convert_element_type(z, out_dtype)


def check_epilogue(problem: Problem, columns: int, bias: Abstract | None, activation: str | None) -> None:
    """Raises unless ``bias`` is ``[columns]`` and, with ``activation``, makes sense for the problem's types.

    ``ValueError`` for a wrong shape or an unknown activation; ``TypeError`` for a bias that is no number, or not a
    whole one where the result is, and for a smooth activation of an integer result.
    """
    whole = jnp.issubdtype(problem.out_dtype, jnp.integer)
    if bias is not None:
        if bias.shape != (columns,):
            raise ValueError(phrase("gemm.bias_shape", got=bias.shape, expected=(columns,)))
        if bias.dtype not in INTEGERS and (whole or bias.dtype not in FLOATS):
            raise TypeError(phrase("gemm.bias_dtype", got=bias.dtype.name, out=problem.out_dtype.name))
    if activation is not None:
        if activation not in ACTIVATIONS:
            known = ", ".join(ACTIVATIONS)
            raise ValueError(phrase("gemm.activation", got=repr(activation)[:60], known=known))
        if whole and activation != "relu":
            raise TypeError(phrase("gemm.integer_activation", activation=activation, out=problem.out_dtype.name))
