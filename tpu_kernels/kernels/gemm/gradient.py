"""The derivative of a product, written by hand: a kernel has none of its own, and what is saved is chosen here.

For ``y = activation(z)``, ``z = a @ b + bias`` and the gradient ``dy``::

    dz = dy * activation'(z)      da = dz @ b.T      db = a.T @ dz      dbias = dz summed over rows
"""

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from tpu_kernels.kernels.gemm.block import Block
from tpu_kernels.kernels.gemm.dtypes import BFLOAT16, FLOAT8, accumulator_dtype, common_dtype
from tpu_kernels.kernels.gemm.epilogue import ACTIVATIONS, finish, working_dtype
from tpu_kernels.kernels.gemm.implementations import implementation
from tpu_kernels.kernels.gemm.problem import Problem


@dataclass(frozen=True)
class Call:
    """Everything about a product but its numbers; hashable, so that jax compiles each one once."""

    problem: Problem
    implementation: str
    block: Block | None
    precision: lax.Precision | None
    activation: str | None
    interpret: bool
    chip: str  # for which the backward products choose their blocks


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def product(call: Call, a: jax.Array, b: jax.Array, bias: jax.Array | None) -> jax.Array:
    """``activation(a @ b + bias)`` as :class:`Call` says: ``a`` [g, m, k], ``b`` [g, k, n], ``bias`` [n] or None.

    Or as they came, for one of those that keep their axes: see :meth:`~.layout.Layout.unfolded`.

    Differentiable in all three, as often as wanted, in reverse mode.
    """
    return implementation(call.implementation).multiply(
        a,
        b,
        bias,
        problem=call.problem,
        block=call.block,
        precision=call.precision,
        activation=call.activation,
        interpret=call.interpret,
    )


def _forward(
    call: Call, a: jax.Array, b: jax.Array, bias: jax.Array | None
) -> tuple[jax.Array, tuple[jax.Array, jax.Array, jax.Array | None, jax.Array | None]]:
    """The result and the least that the derivative needs beside the operands.

    Without activation nothing; for relu the result itself, where its slope is that of z; for the others z, in the
    result's type.
    """
    if call.activation is None:
        return product(call, a, b, bias), (a, b, bias, None)
    if call.activation == "relu":
        y = product(call, a, b, bias)
        return y, (a, b, bias, y)
    problem = call.problem
    linear = replace(problem, out_dtype=working_dtype(problem.accumulator, problem.out_dtype))
    z = product(replace(call, problem=linear, activation=None), a, b, bias)
    return finish(z, None, call.activation, problem.out_dtype), (a, b, bias, z.astype(problem.out_dtype))


def _backward(
    call: Call, saved: tuple[jax.Array, jax.Array, jax.Array | None, jax.Array | None], dy: jax.Array
) -> tuple[jax.Array | None, jax.Array | None, jax.Array | None]:
    a, b, bias, y_or_z = saved
    problem = call.problem
    dz = dy.astype(working_dtype(problem.accumulator, problem.out_dtype))
    if y_or_z is not None and call.activation is not None:
        _, pull_back = jax.vjp(ACTIVATIONS[call.activation], y_or_z.astype(dz.dtype))
        (dz,) = pull_back(dz)
    d_bias = None if bias is None else dz.sum(range(dz.ndim - 1)).astype(bias.dtype)
    if jnp.issubdtype(problem.dtype, jnp.integer):  # integers have no derivative
        return None, None, d_bias
    dz = dz.astype(BFLOAT16 if problem.dtype in FLOAT8 else problem.dtype)  # so that the products run at full rate
    left, right, out = Stored(a, problem.a_transposed), Stored(b, problem.b_transposed), Stored(dz)
    d_a = _multiply(call, right, out.T) if left.transposed else _multiply(call, out, right.T)
    d_b = _multiply(call, out.T, left) if right.transposed else _multiply(call, left.T, out)
    return d_a, d_b, d_bias


product.defvjp(_forward, _backward)


class Stored(NamedTuple):
    """Matrices as they lie in memory: turning one costs nothing until something has to read it."""

    array: jax.Array
    transposed: bool = False

    @property
    def T(self) -> "Stored":  # noqa: N802 -- the name that NumPy and jax give it
        return Stored(self.array, not self.transposed)

    def sizes(self, g: int) -> tuple[int, int]:
        """Rows and columns of each of ``g``; of a single one, all axes but the last are rows."""
        *leading, columns = self.array.shape
        rows = leading[-1] if g > 1 else math.prod(leading)
        return (columns, rows) if self.transposed else (rows, columns)


def _multiply(call: Call, left: Stored, right: Stored) -> jax.Array:
    """A product by the same implementation, in the type of the operand whose gradient it is, in a block of its own."""
    made_of = implementation(call.implementation)
    if not made_of.READS_TRANSPOSED:
        left, right = (Stored(x.array.mT if x.transposed else x.array) for x in (left, right))
    g = call.problem.g
    (m, k), (_, n) = left.sizes(g), right.sizes(g)
    dtype = common_dtype(left.array.dtype, right.array.dtype)
    sums = accumulator_dtype(dtype)
    problem = Problem(g, m, k, n, dtype, sums, call.problem.dtype, left.transposed, right.transposed)
    block = made_of.block_for(problem, None, call.chip, call.precision)
    anew = replace(call, problem=problem, block=block, activation=None)
    return product(anew, left.array.astype(dtype), right.array.astype(dtype), None)
