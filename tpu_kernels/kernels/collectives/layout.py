"""How many rows a shard takes: whole tiles, in two halves of whole pieces."""

from typing import NamedTuple

import numpy as np

from tpu_kernels.kernels.collectives.accumulate import PIECE

COLUMNS = 128  # of a tile; it has 8 rows of 32-bit numbers, 16 of 16-bit ones
TILE_BYTES = 4096


class Layout(NamedTuple):
    """``rows`` of 128, an even number of pieces of ``piece``."""

    rows: int
    piece: int

    @property
    def size(self) -> int:
        """Elements, padding included."""
        return self.rows * COLUMNS


def layout(size: int, dtype: np.dtype) -> Layout:
    """For a shard of ``size`` elements: the least padding with pieces of at most :data:`PIECE` rows."""
    tile = TILE_BYTES // COLUMNS // dtype.itemsize
    half = -(-size // (2 * COLUMNS))
    pieces = max(1, -(-half // PIECE))
    piece = max(1, -(-half // (pieces * tile))) * tile
    return Layout(2 * pieces * piece, piece)
