"""How the schedule of panels divides ``a``: panels for each core, and each panel into what is fetched at one time."""

from dataclasses import dataclass

from tpu_kernels.kernels.gemm.block import Block
from tpu_kernels.kernels.gemm.problem import Problem
from tpu_kernels.kernels.gemm.tiles import ROWS, tiles, whole_tiles
from tpu_kernels.phrases import phrase

PARTS = 8  # of the first panel, or about: so that little of its fetch is exposed, and each is still a long copy


@dataclass(frozen=True)
class PanelCut:
    """``panels`` for each core, of which VMEM holds ``kept``; all but the first come as ``slices`` of ``slice`` rows.

    The first comes as ``parts`` of ``part`` rows and then the ``rest``. Where it is not ``whole``, because it is the
    last of the matrix too, the rest begins earlier, in the part before, and so does a last slice: all are equally long.
    """

    panels: int
    kept: int
    slices: int
    slice: int
    parts: int
    part: int
    rest: int
    whole: bool

    @classmethod
    def of(cls, problem: Problem, block: Block) -> "PanelCut":
        """The division that this block stands for; ``ValueError`` where the schedule cannot divide the problem so."""
        cut = cls.find(problem, block)
        if cut is None:
            raise ValueError(phrase("gemm.schedule_cannot", block=str(block), m=problem.m, k=problem.k, n=problem.n))
        return cut

    @classmethod
    def find(cls, problem: Problem, block: Block) -> "PanelCut | None":
        """The same, or ``None``.

        The schedule does single products, with all of ``k`` in a block. Each core has as many panels as the others, and
        what is copied begins at a tile of the array and lies inside it: of columns a core starts with a whole panel.
        """
        count, unit = -(-problem.m // block.m), tiles(problem)[0]
        panels = count // block.cores
        if problem.g > 1 or block.k < problem.k or count % block.cores or block.m % unit:
            return None
        last = problem.m - (count - 1) * block.m
        whole = panels > 1 or last == block.m
        slice_ = whole_tiles(-(-block.m // -(-problem.n // block.n)), unit) if panels > 1 else 0
        if problem.a_transposed:  # what is turned is turned in whole blocks, which must divide a panel
            divisors = [rows for rows in range(unit, block.m + 1, unit) if block.m % rows == 0]
            slice_ = next(rows for rows in divisors if rows >= slice_) if slice_ else 0
            part = min(divisors, key=lambda rows: abs(block.m // rows - PARTS))
            parts, rest = block.m // part, 0
        else:
            part = whole_tiles(-(-block.m // PARTS), unit)
            parts = (block.m - (0 if whole else 1)) // part
            rest = block.m - parts * part
        least = slice_ if whole else max(rest, parts * part)
        fits = whole if problem.a_transposed else problem.m % ROWS == 0 and last >= least
        slices = -(-block.m // slice_) if slice_ else 0
        return cls(panels, min(panels, 2), slices, slice_, parts, part, rest, whole) if fits else None
