"""The product as a Pallas kernel for NVIDIA's Hopper (H100, H200): :mod:`~tpu_kernels.kernels.gemm.gpu_hopper`.

It takes bfloat16, float16, both 8-bit floats and int8. float32 is refused, because Hopper's tensor cores would round it
to TF32, and so is every other generation of GPU: Ampere has no wgmma yet, and Blackwell has tcgen05 in its place.

Sums are kept in float32, or int32 for int8, with one exception: of a sum of 8-bit floats Hopper's tensor cores keep
about 14 bits (DeepSeek-V3 Technical Report, arXiv:2412.19437, section 3.3.2). That is what ``precision`` ``None`` and
``default`` give; ``high`` and ``highest`` widen the operands to float16, which holds every value of both formats.

An array whose rows are no multiple of 128 bytes, or that has no multiple of 8 rows, is copied into one that is.
"""

from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from tpu_kernels.backend import BackendError, Here
from tpu_kernels.kernels.gemm import gpu_interpreter
from tpu_kernels.kernels.gemm.block import Block
from tpu_kernels.kernels.gemm.dtypes import FLOAT8
from tpu_kernels.kernels.gemm.epilogue import working_dtype
from tpu_kernels.kernels.gemm.gpu_tile import MULTIPROCESSORS, GpuTile, choose_tile, of_block
from tpu_kernels.kernels.gemm.problem import Problem
from tpu_kernels.phrases import phrase

HOME = "gpu"
READS_TRANSPOSED = True
CAPABILITY = "9.0"

OPERANDS = FLOAT8 | frozenset(map(jnp.dtype, (jnp.bfloat16, jnp.float16, jnp.int8)))
WRITABLE = frozenset(map(jnp.dtype, (jnp.bfloat16, jnp.float16, jnp.float32, jnp.int32)))
TMA_ROWS = 8  # of a swizzled tile: TMA takes arrays with a multiple of them


def refusal(problem: Problem, here: Here | None) -> str | None:
    """Why this kernel does not do the problem on this machine, or ``None``; ``here`` is ``None`` for an interpreter."""
    if problem.dtype not in OPERANDS:
        known = ", ".join(sorted(dtype.name for dtype in OPERANDS))
        return phrase("gemm_gpu.dtype", got=problem.dtype.name, known=known)
    if here is not None and here.compute_capability != CAPABILITY:
        return phrase("gemm_gpu.capability", got=here.compute_capability or "?", kind=here.kind, needed=CAPABILITY)
    missing = _missing()
    return None if missing is None else phrase("gemm_gpu.no_compiler", missing=missing)


def can_interpret() -> bool:
    """Whether this jax can run the kernel without a GPU: since 0.10.2 its interpreter knows wgmma."""
    return _missing() is None and gpu_interpreter.parameters() is not None


def block_for(problem: Problem, block: Block | None, chip: str, precision: lax.Precision | None) -> Block:
    """The block, checked, or one chosen for the problem; ``chip`` names a TPU and does not matter here.

    Raises ``ValueError`` for sides that no tile of a Hopper GPU can have.
    """
    tile = _tile(_as_done(problem, precision), block)
    return Block(tile.m, tile.k, tile.n)


def describe(problem: Problem, block: Block | None, chip: str, precision: lax.Precision | None) -> str:
    """How the result is cut into tiles, and what a block of threads holds of them."""
    done = _as_done(problem, precision)
    tile = _tile(done, block)
    return phrase(
        "gemm_gpu.described",
        tiles=tile.count(done),
        tile=str(tile),
        consumers=tile.consumers,
        stages=tile.stages,
        used=tile.shared_bytes // 1024,
    )


def multiply(
    a: jax.Array,
    b: jax.Array,
    bias: jax.Array | None,
    *,
    problem: Problem,
    block: Block | None,
    precision: lax.Precision | None,
    activation: str | None,
    interpret: Any,
) -> jax.Array:
    """``a`` [g, m, k] by ``b`` [g, k, n] -> [g, m, n] of ``problem.out_dtype``, with ``bias`` [n] and ``activation``.

    Either operand lies transposed if ``problem`` says so. Lowers on any machine, for Hopper, and computes there; with
    ``interpret``, ``True`` or what :func:`gpu_interpreter.parameters` gives, it computes anywhere. Raises
    ``BackendError`` when this jax has no interpreter for it, ``ValueError`` for a block that a GPU cannot hold.
    """
    if interpret is True:
        interpret = gpu_interpreter.parameters()
        if interpret is None:
            raise BackendError(phrase("gemm_gpu.no_interpreter", version=jax.__version__))
    from tpu_kernels.kernels.gemm import gpu_hopper  # not every installation of jax can import Mosaic GPU

    done = _as_done(problem, precision)
    tile = _tile(done, block)
    # wgmma takes 16-bit operands as they lie, 8-bit ones only with k innermost.
    narrow = done.dtype.itemsize == 1
    upright = bool(interpret) and not gpu_interpreter.knows_transposed_views()
    work = gpu_hopper.Work(
        problem=done,
        tile=tile,
        activation=activation,
        blocks=1 if interpret else min(_multiprocessors(), tile.count(done)),
        a_is_transposed=problem.a_transposed and not narrow and not upright,
        b_is_transposed=(problem.b_transposed or narrow) and not upright,
    )
    a = a if work.a_is_transposed == problem.a_transposed else a.mT
    b = b if work.b_is_transposed == problem.b_transposed else b.mT
    a, b = (_padded(operand.astype(done.dtype), TMA_ROWS, tile.lane) for operand in (a, b))
    if bias is not None:
        bias = _padded(bias.astype(working_dtype(done.accumulator, done.out_dtype)), tile.n)
    # TMA writes what lies inside an array and drops the rest; the interpreter would drop all that crosses the end.
    rows, columns = (tile.m, tile.n) if interpret else (TMA_ROWS, tile.out_columns)
    out_shape = (done.g, _round_up(done.m, rows), _round_up(done.n, columns))
    result = gpu_hopper.product(a, b, bias, work=work, out_shape=out_shape, interpret=interpret or None)
    return result[:, : done.m, : done.n].astype(problem.out_dtype)


def _as_done(problem: Problem, precision: lax.Precision | None) -> Problem:
    """The problem as the tensor cores multiply it and as the kernel writes it."""
    if problem.dtype in FLOAT8 and precision not in (None, lax.Precision.DEFAULT):
        problem = replace(problem, dtype=jnp.dtype(jnp.float16))
    if problem.out_dtype not in WRITABLE:  # among them 8-bit floats: the hardware saturates where jax gives NaN
        problem = replace(problem, out_dtype=jnp.dtype(jnp.float32))
    return problem


def _tile(done: Problem, block: Block | None) -> GpuTile:
    return choose_tile(done, _multiprocessors()) if block is None else of_block(block, done.dtype, done.out_dtype)


def _multiprocessors() -> int:
    device = jax.devices()[0]
    return int(device.core_count) if device.platform == HOME else MULTIPROCESSORS


def _padded(array: jax.Array, *multiples: int) -> jax.Array:
    """With zeros after the end, until each of the last dimensions is a multiple."""
    sizes = array.shape[-len(multiples) :]
    ends = [_round_up(size, multiple) - size for size, multiple in zip(sizes, multiples, strict=True)]
    if not any(ends):
        return array
    return jnp.pad(array, [(0, 0)] * (array.ndim - len(multiples)) + [(0, end) for end in ends])


def _round_up(size: int, multiple: int) -> int:
    return -(-size // multiple) * multiple


@cache
def _missing() -> str | None:
    """What jax's compiler for this kernel needs and does not find, or ``None``."""
    try:
        import_module("jax.experimental.pallas.mosaic_gpu")
    except ImportError as error:
        return error.name or str(error)
    return None
