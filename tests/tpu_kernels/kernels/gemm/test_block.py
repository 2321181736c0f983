"""Blocks: three whole numbers, and nothing else."""

from typing import Any

import numpy as np
import pytest

from tpu_kernels.kernels import Block


def test_a_tuple_is_as_good_as_a_block() -> None:
    assert Block.of((8, 128, 256)) == Block(8, 128, 256) == Block.of(Block(8, 128, 256))
    assert tuple(Block(8, 128, 256)) == (8, 128, 256)
    assert str(Block(8, 128, 256)) == "8x128x256"


def test_whole_numbers_of_numpy_become_plain_ones() -> None:
    block = Block(np.int64(8), 128, np.int32(256))
    assert [type(size) for size in block] == [int, int, int]
    assert hash(block) == hash(Block(8, 128, 256))


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ((0, 128, 128), "lado m .* es 0 y debe"),
        ((8, -1, 128), "lado k .* es -1 y debe"),
        ((8, 128, 1.5), r"lado n .* es 1\.5 y debe"),
        ((True, 128, 128), "lado m .* es True y debe"),
        ((8, "128", 128), "lado k .* es '128' y debe"),
        ((8, None, 128), "lado k .* es None y debe"),
    ],
)
def test_sides_that_are_no_sizes(sizes: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Block(*sizes)


@pytest.mark.parametrize("given", [128, "8x128x128", (8, 128), (8, 128, 128, 1), {8, 128, 256}, None])
def test_what_is_no_block(given: Any) -> None:
    with pytest.raises(ValueError, match="no es un bloque"):
        Block.of(given)


def test_a_side_that_covers_a_dimension_is_that_dimension() -> None:
    assert Block(512, 512, 512).within(300, 4096, 512) == Block(300, 512, 512)
