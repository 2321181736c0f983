"""From the shapes that NumPy's ``matmul`` takes to ``[g, m, k] @ [g, k, n]``, and back."""

import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from tpu_kernels.phrases import phrase

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Layout:
    """Where the three axes and the batch of a product are in the operands and in the result.

    ``a`` and ``b`` are the shapes with at least two axes each; ``batch`` is that of the result. Leading axes of ``a``
    that meet a single matrix ``b`` are more rows of the same product (``folded``): they become part of ``m``.
    """

    a: Shape
    b: Shape
    batch: Shape
    result: Shape

    @property
    def folded(self) -> bool:
        """Whether one matrix serves the whole batch."""
        return math.prod(self.b[:-2]) == 1

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """``(g, m, k, n)`` of the product that is computed."""
        rows, (inner, columns) = self.a[-2], self.b[-2:]
        batch = math.prod(self.batch)
        return (1, batch * rows, inner, columns) if self.folded else (batch, rows, inner, columns)

    def unfolded(self, a: jax.Array, b: jax.Array) -> tuple[jax.Array, jax.Array]:
        """The operands as ``[*batch, m, k]`` and ``[k, n]``, or ``[*batch, k, n]`` where it is not folded."""
        batch_a, batch_b = self.batch + self.a[-2:], self.b[-2:] if self.folded else self.batch + self.b[-2:]
        b = b.reshape(batch_b) if self.folded else jnp.broadcast_to(b.reshape(self.b), batch_b)
        return jnp.broadcast_to(a.reshape(self.a), batch_a), b

    def fold(self, a: jax.Array, b: jax.Array) -> tuple[jax.Array, jax.Array]:
        """The operands as ``[g, m, k]`` and ``[g, k, n]``."""
        g, m, k, n = self.sizes
        a, b = self.unfolded(a, b)
        return a.reshape(g, m, k), b.reshape(g, k, n)


def layout(a: Shape, b: Shape) -> Layout:
    """How two shapes are multiplied, by the rules of ``numpy.matmul``.

    A vector ``a`` is one row and a vector ``b`` one column; the result lacks that axis. Raises ``ValueError``, with
    both shapes and the two sizes that clash, where NumPy has no product either.
    """
    for name, shape in (("a", a), ("b", b)):
        if not shape:
            raise ValueError(phrase("gemm.scalar", operand=name))
    wide_a, wide_b = (1, *a) if len(a) == 1 else a, (*b, 1) if len(b) == 1 else b
    if wide_a[-1] != wide_b[-2]:
        raise ValueError(phrase("gemm.inner", a=a, b=b, columns=wide_a[-1], rows=wide_b[-2]))
    batch = _broadcast(a, b, wide_a[:-2], wide_b[:-2])
    rows = () if len(a) == 1 else (a[-2],)
    columns = () if len(b) == 1 else (b[-1],)
    return Layout(wide_a, wide_b, batch, batch + rows + columns)


def _broadcast(a: Shape, b: Shape, left: Shape, right: Shape) -> Shape:
    try:
        return np.broadcast_shapes(left, right)
    except ValueError:
        clash = next((x, y) for x, y in zip(left[::-1], right[::-1], strict=False) if x != y and 1 not in (x, y))
        raise ValueError(phrase("gemm.batch", a=a, b=b, left=clash[0], right=clash[1])) from None
