"""What implementations share that do every problem anywhere and cut it as they like: no refusal, no block, no word."""

from collections.abc import Callable

from jax import lax

from tpu_kernels.backend import Here
from tpu_kernels.kernels.gemm.block import Block
from tpu_kernels.kernels.gemm.problem import Problem
from tpu_kernels.phrases import phrase


def refusal(problem: Problem, here: Here | None) -> str | None:
    """``None``: it does every problem, everywhere."""
    return None


def without_blocks(implementation: str) -> Callable[[Problem, Block | None, str, lax.Precision | None], Block | None]:
    """The ``block_for`` of ``implementation``."""

    def block_for(problem: Problem, block: Block | None, chip: str, precision: lax.Precision | None) -> Block | None:
        """``None``; ``ValueError`` for a block, which would change nothing here."""
        if block is not None:
            raise ValueError(phrase("gemm.no_block", implementation=implementation, block=str(block)))
        return None

    return block_for


def describe(problem: Problem, block: Block | None, chip: str, precision: lax.Precision | None) -> str:
    """Nothing: there are no blocks."""
    return ""
