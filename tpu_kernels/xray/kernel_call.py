"""What the caller's program says of its Pallas kernels: grids, blocks, how often each block changes, products.

All of it is read from the jaxpr, before the compiler is asked, so that the two can be compared.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from jax.extend import source_info_util
from jax.extend.core import ClosedJaxpr, JaxprEqn

from tpu_kernels.xray.grid import MOST_POINTS, Points, Values, changes, results
from tpu_kernels.xray.products import PRODUCTS, Product, Visit, product, walk

TILE = (8, 128)  # the smallest, whatever the type
HERE = str(Path(__file__).parent)
BUFFERS = 2  # what a block that changes gets unless it asks for another number
IN_BLOCKS = ("default", "vmem", "none")  # memory spaces whose operands a pipeline brings to VMEM; jax < 0.9 says None


@dataclass(frozen=True)
class Window:
    """An operand or a result that passes through VMEM in blocks.

    ``fetches`` counts the runs of equal blocks over the whole grid: how often one is copied. ``None`` when the index
    map reads data. ``buffers`` blocks are held at once. ``exact`` says that each copy moves ``block_bytes``: no block
    hangs over the edge, or has a side that is padded. Sizes are in bytes, padded to tiles.
    """

    origin: str
    array_bytes: int
    block: tuple[int, ...]
    block_bytes: int
    dtype: str
    fetches: int | None
    buffers: int
    exact: bool


@dataclass(frozen=True)
class KernelCall:
    """One ``pallas_call``. ``operands`` and ``results`` are types with shapes, ``("bfloat16", (1024, 512))``.

    ``steps`` is the product of the grid, ``None`` when a bound is data. ``scratch_bytes`` is scratch in VMEM.
    ``vmem_limit`` is what the kernel asks for, in bytes. ``times`` counts its runs; ``None``: it depends on data.
    """

    name: str
    where: str
    grid: tuple[int, ...] | None
    windows: tuple[Window | None, ...]
    operands: tuple[tuple[str, tuple[int, ...]], ...]
    results: tuple[tuple[str, tuple[int, ...]], ...]
    scratch_bytes: int
    vmem_limit: int | None
    products: tuple[Product, ...]
    times: int | None
    interpreted: bool

    @property
    def steps(self) -> int | None:
        return None if self.grid is None else math.prod(self.grid)

    @property
    def flops(self) -> int | None:
        """Of one run; ``None`` when a product's number depends on data."""
        counted = [one.flops for one in self.products]
        return None if None in counted else sum(filter(None, counted))


def kernel_calls(closed: ClosedJaxpr) -> tuple[KernelCall, ...]:
    """Every Pallas kernel of a program, in order."""
    return tuple(_call(visit) for visit in walk(Points(()), closed, {"pallas_call"}))


def padded_bytes(shape: Sequence[int], itemsize: int) -> int:
    """Bytes of an array whose last two dimensions are padded to the smallest tile: at least what it takes."""
    *outer, rows, columns = (1, 1, *shape)
    return math.prod(outer) * _up(rows, TILE[0]) * _up(columns, TILE[1]) * itemsize


def _call(visit: Visit) -> KernelCall:
    params = visit.equation.params
    mapping, body = params["grid_mapping"], params["jaxpr"]
    grid = tuple(mapping.grid) if all(isinstance(size, int) for size in mapping.grid) else None
    points = _points(grid)
    inside = walk(points or Points(()), ClosedJaxpr(body, [None] * len(body.constvars)), PRODUCTS)
    found = tuple(product(one if points else replace(one, times=None)) for one in inside)
    compiler = params["compiler_params"]
    compiler = compiler.get("mosaic_tpu") if isinstance(compiler, Mapping) else compiler  # by backend before jax 0.9
    return KernelCall(
        name=params.get("name") or body.debug_info.func_name or "kernel",
        where=place(visit.equation),
        grid=grid,
        windows=tuple(_window(block, points) for block in mapping.block_mappings),
        operands=tuple(_array(atom.aval) for atom in visit.equation.invars),
        results=tuple(_array(variable.aval) for variable in visit.equation.outvars),
        scratch_bytes=sum(
            padded_bytes(one.shape, one.dtype.itemsize) for one in mapping.scratch_avals if _memory(one) == "vmem"
        ),
        vmem_limit=getattr(compiler, "vmem_limit_bytes", None),
        products=found,
        times=None if visit.times is None else int(visit.times.sum()),
        interpreted=bool(params["interpret"]),
    )


def place(equation: JaxprEqn) -> str:
    """Where in the learner's code an equation comes from, as ``kernel.py:12``; empty when it is not from there."""
    written = source_info_util.summarize(equation.source_info)
    found = re.match(r"(?:.*[/\\])?([^/\\:]+:\d+)", written)
    return found[1] if found and not written.startswith(HERE) else ""


def _window(block: Any, points: Points | None) -> Window | None:
    """The window of a block mapping; ``None`` for an operand that stays where it is."""
    held = block.block_aval
    if _memory(held) not in IN_BLOCKS:
        return None
    index_map, itemsize = block.index_map_jaxpr, held.dtype.itemsize
    fetches = None
    if points:
        beyond: list[Values] = [None] * (len(index_map.jaxpr.invars) - len(points.grid))
        fetches = changes(results(points, index_map, [*points.coordinates, *beyond]))
    asked = getattr(block.pipeline_mode, "buffer_count", None)
    return Window(
        origin=str(block.origin),
        array_bytes=padded_bytes(block.array_aval.shape, itemsize),
        block=tuple(held.shape),
        block_bytes=padded_bytes(held.shape, itemsize),
        dtype=held.dtype.name,
        fetches=fetches,
        buffers=1 if fetches == 1 else asked or BUFFERS,
        exact=_exact(block.array_aval.shape, block.block_aval.shape),
    )


def _exact(array: Sequence[int], block: Sequence[int]) -> bool:
    """Whether every block lies inside the array and is made of whole tiles, of whatever type."""
    sides = list(zip(array[::-1], block[::-1], strict=False))
    tiles = (TILE[1], 4 * TILE[0])
    return (
        len(block) >= len(tiles)
        and all(size % side == 0 for size, side in sides)
        and all(side % tile == 0 for (_, side), tile in zip(sides, tiles, strict=False))
    )


def _points(grid: tuple[int, ...] | None) -> Points | None:
    return Points(grid) if grid is not None and math.prod(grid) <= MOST_POINTS else None


def _array(aval: Any) -> tuple[str, tuple[int, ...]]:
    return aval.dtype.name, tuple(aval.shape)


def _memory(aval: Any) -> str:
    return str(aval.memory_space).lower().rpartition(".")[2]


def _up(size: int, tile: int) -> int:
    return -(-size // tile) * tile
