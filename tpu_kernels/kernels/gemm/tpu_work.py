"""What every kernel for the TPU is told, and what it does with blocks that have arrived, by whatever schedule."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl

from tpu_kernels.kernels.gemm.block import Block
from tpu_kernels.kernels.gemm.epilogue import finish
from tpu_kernels.kernels.gemm.problem import Problem

Ref: TypeAlias = Any  # jax has no public name for the reference to a block that a kernel is given

DEPTH = 256  # rows of the deepest matrix unit: what is left of k beyond whole ones of these is multiplied apart


@dataclass(frozen=True)
class Work:
    """A product as a kernel does it. ``swapped``: it is that of the transposed matrices, and a bias goes by rows."""

    problem: Problem
    block: Block
    swapped: bool
    precision: lax.Precision | None
    activation: str | None

    @property
    def a_axis(self) -> int:
        """Which axis of a block of ``a`` is ``k``."""
        return 0 if self.problem.a_transposed else 1

    @property
    def b_axis(self) -> int:
        """Which axis of a block of ``b`` is ``k``."""
        return 1 if self.problem.b_transposed else 0

    def dot(self, a: jax.Array, b: jax.Array) -> jax.Array:
        """The product of two blocks, in ``problem.accumulator``."""
        contract = ((self.a_axis,), (self.b_axis,)), ((), ())
        precision = mosaic_precision(self.problem, self.precision)
        return lax.dot_general(a, b, contract, precision=precision, preferred_element_type=self.problem.accumulator)

    def whole_dot(self, a_ref: Ref, b_ref: Ref) -> jax.Array:
        """The same, of blocks that hold all of ``k``.

        What lies in their last tiles beyond the end of ``k`` has to be blanked out, which the compiler does to whole
        operands: so the end is a product of its own, and a small one.
        """
        k = self.problem.k
        even = k // DEPTH * DEPTH
        if even in (0, k):
            return self.dot(a_ref[...], b_ref[...])
        body, end = (
            self.dot(_along(a_ref, self.a_axis, part), _along(b_ref, self.b_axis, part))
            for part in (slice(0, even), slice(even, k))
        )
        return body + end

    def finished(self, sums: jax.Array, bias_ref: Ref | None) -> jax.Array:
        """The block of the result: bias, activation, one rounding."""
        return finish(sums, None if bias_ref is None else bias_ref[...], self.activation, self.problem.out_dtype)

    def bias_row(self, bias: jax.Array | None) -> jax.Array | None:
        """The bias as a matrix that lies along the result: one row, or one column of the transposed result."""
        return None if bias is None else bias.reshape((-1, 1) if self.swapped else (1, -1))

    @property
    def bias_block(self) -> tuple[int, int]:
        """How much of that belongs to a block of the result."""
        return (self.block.m, 1) if self.swapped else (1, self.block.n)

    def bias_at(self, m: Any, n: Any) -> tuple[Any, Any]:
        """Where, in units of such blocks, for block ``(m, n)`` of the result."""
        return (m, 0) if self.swapped else (0, n)

    @property
    def estimate(self) -> pl.CostEstimate:
        """For XLA, which schedules what runs beside the kernel."""
        problem = self.problem
        transcendentals = problem.g * problem.m * problem.n if self.activation in ("gelu", "silu") else 0
        return pl.CostEstimate(flops=problem.flops, bytes_accessed=problem.bytes, transcendentals=transcendentals)


def mosaic_precision(problem: Problem, precision: lax.Precision | None) -> lax.Precision | None:
    """The precision as Mosaic has it: of float32 alone, and with no ``high`` between one pass and six."""
    if problem.dtype != jnp.float32 or precision in (None, lax.Precision.DEFAULT):
        return None
    return lax.Precision.HIGHEST


def _along(ref: Ref, axis: int, part: slice) -> jax.Array:
    block: jax.Array = ref[part, :] if axis == 0 else ref[:, part]
    return block
