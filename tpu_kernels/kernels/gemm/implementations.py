"""The implementations of the product by name, each imported when it is first used: Pallas alone takes most of a second.

A module that implements the product has

- ``HOME``: the platform it compiles for, ``"tpu"`` or ``"gpu"``; elsewhere it runs in Pallas's interpreter. ``None``
  for one that runs anywhere as it is.
- ``READS_TRANSPOSED``: whether it multiplies operands that lie transposed in memory; the others get them as they are
  written in a formula, transposed by XLA.
- ``multiply``: see :class:`Implementation`.
- ``refusal(problem, here)``: why it cannot do this problem, in the reader's language, or ``None`` if it can. ``here``
  is the machine it must compile for, ``None`` when it will be interpreted.
- ``block_for(problem, block, chip, precision)``: the block that ``multiply`` should be given: the reader's, checked
  (``ValueError``), or, for ``None``, one chosen for that chip. ``None`` where blocks are its own affair.
- ``describe(problem, block, chip, precision)``: a sentence on how ``block`` cuts the problem and what it should cost,
  in the reader's language; ``""`` where there is nothing to say.
"""

from functools import cache
from importlib import import_module
from typing import Protocol, cast

import jax
from jax import lax

from tpu_kernels.backend import Here
from tpu_kernels.kernels.gemm.block import Block
from tpu_kernels.kernels.gemm.problem import Problem

IMPLEMENTATIONS = ("reference", "xla", "pallas_tpu", "pallas_gpu")

# Takes leading axes as they are, not folded into g or m, so that jax can go on sharding each of them.
KEEPS_AXES = frozenset({"xla"})


class Implementation(Protocol):
    """What such a module looks like from outside."""

    HOME: str | None
    READS_TRANSPOSED: bool

    def multiply(
        self,
        a: jax.Array,
        b: jax.Array,
        bias: jax.Array | None,
        *,
        problem: Problem,
        block: Block | None,
        precision: lax.Precision | None,
        activation: str | None,
        interpret: bool,
    ) -> jax.Array:
        """``a`` [g, m, k] by ``b`` [g, k, n] -> [g, m, n] of ``problem.out_dtype``, with the epilogue; no size is 0.

        Both operands are of ``problem.dtype``, sums are kept in ``problem.accumulator``; ``bias`` is [n] or ``None``.
        """

    def refusal(self, problem: Problem, here: Here | None) -> str | None:
        """Why it cannot do this problem, or ``None``."""

    def block_for(
        self, problem: Problem, block: Block | None, chip: str, precision: lax.Precision | None
    ) -> Block | None:
        """The block to give to ``multiply``."""

    def describe(self, problem: Problem, block: Block | None, chip: str, precision: lax.Precision | None) -> str:
        """How the problem is cut, in a sentence."""


@cache
def implementation(name: str) -> Implementation:
    """The module of one of :data:`IMPLEMENTATIONS`."""
    return cast(Implementation, import_module(f"tpu_kernels.kernels.gemm.{name}"))
