"""Which number formats meet in a product, in what they are summed and what comes out.

========================  ===========  ==============
operands (``dtype``)      accumulator  result
========================  ===========  ==============
float32, bfloat16, float16  float32    as the operands
float8_e4m3fn, float8_e5m2  float32    bfloat16
float64                     float64    float64
int8, uint8, int16, int32   int32      int32
int64                       int64      int64
========================  ===========  ==============

Two floats meet where ``jax.numpy.promote_types`` says, two integers as well. An 8-bit float that meets another float
becomes bfloat16 first, which holds every value of either 8-bit format. 64-bit formats need ``jax_enable_x64``. Sums
that leave the accumulator of integers wrap, as NumPy's do; where narrower operands may do that, :func:`may_wrap`.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from tpu_kernels.phrases import phrase

BFLOAT16: np.dtype = jnp.dtype(jnp.bfloat16)
FLOAT32: np.dtype = jnp.dtype(jnp.float32)
INT8: np.dtype = jnp.dtype(jnp.int8)
INT32: np.dtype = jnp.dtype(jnp.int32)

FLOAT8 = frozenset(map(jnp.dtype, (jnp.float8_e4m3fn, jnp.float8_e5m2)))
FLOATS = FLOAT8 | {BFLOAT16, FLOAT32, jnp.dtype(jnp.float16), jnp.dtype(jnp.float64)}
INTEGERS = frozenset({INT8, INT32, jnp.dtype(jnp.uint8), jnp.dtype(jnp.int16), jnp.dtype(jnp.int64)})


def common_dtype(a: np.dtype, b: np.dtype) -> np.dtype:
    """The type to which both operands are converted; ``TypeError`` for types that have no product here."""
    for name, dtype in (("a", a), ("b", b)):
        if dtype not in FLOATS and dtype not in INTEGERS:
            raise TypeError(phrase("gemm.dtype", operand=name, got=dtype.name, a=a.name, b=b.name))
    if (a in FLOATS) != (b in FLOATS):
        raise TypeError(phrase("gemm.float_by_integer", a=a.name, b=b.name))
    if a == b:
        return a
    wide = (BFLOAT16 if dtype in FLOAT8 else dtype for dtype in (a, b))
    return np.dtype(jnp.promote_types(*wide))


def accumulator_dtype(dtype: np.dtype) -> np.dtype:
    """In what products of ``dtype`` are summed."""
    if dtype.itemsize == 8:
        return dtype
    return FLOAT32 if dtype in FLOATS else INT32


def may_wrap(a: np.dtype, b: np.dtype, k: int) -> bool:
    """Whether a sum of ``k`` products of operands narrower than int32 can be more than int32 holds."""
    if not {a, b} <= INTEGERS or max(a.itemsize, b.itemsize) >= INT32.itemsize:
        return False
    largest = [max(-int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)) for dtype in (a, b)]
    return k * largest[0] * largest[1] > np.iinfo(INT32).max


def known_dtype(asked: DTypeLike) -> np.dtype:
    """What was asked for as ``out_dtype``; ``TypeError`` for what names no type, or one that jax does not have now."""
    try:
        dtype = np.dtype(jnp.dtype(asked))
    except TypeError:
        raise TypeError(phrase("gemm.unknown_dtype", got=repr(asked)[:60])) from None
    if jax.dtypes.canonicalize_dtype(dtype) != dtype:
        raise TypeError(phrase("gemm.out_wide", got=dtype.name))
    return dtype


def result_dtype(dtype: np.dtype, asked: np.dtype | None = None) -> np.dtype:
    """What a product of ``dtype`` gives: what was asked for, or the type of the table above.

    Any float may be asked for; of integers only the accumulator's own type, for a narrower one would wrap around.
    ``TypeError`` for the others.
    """
    if asked is None:
        if dtype in FLOAT8:
            return BFLOAT16
        return dtype if dtype in FLOATS else accumulator_dtype(dtype)
    sums = accumulator_dtype(dtype)
    if asked not in FLOATS and asked != sums:
        raise TypeError(phrase("gemm.out_dtype", got=asked.name, dtype=dtype.name, accumulator=sums.name))
    return asked
