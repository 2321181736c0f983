"""What a product must be: NumPy in float64, and how far from it each element may fall."""

from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tpu_kernels.kernels.gemm.dtypes import FLOAT8, accumulator_dtype
from tpu_kernels.kernels.gemm.epilogue import working_dtype
from tpu_kernels.kernels.gemm.implementations import IMPLEMENTATIONS, implementation
from tpu_kernels.kernels.gemm.problem import Problem
from tpu_kernels.models.numerics import gamma

Array = np.ndarray[Any, Any]

# The steepest slope of each activation, and the roundings that its formula makes on the way to z times a factor.
STEEPEST = {None: 1.0, "relu": 1.0, "gelu": 1.13, "silu": 1.1}
ROUNDINGS = {None: 0, "relu": 0, "gelu": 16, "silu": 16}


def activated(z: Array, activation: str | None) -> Array:
    """The activation in the type of ``z``, by its formula."""
    if activation == "relu":
        return np.maximum(z, 0)
    if activation == "gelu":
        return 0.5 * z * (1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3)))
    if activation == "silu":
        return z / (1 + np.exp(-z))
    return z


def exact(a: Array, b: Array, bias: Array | None = None, activation: str | None = None) -> Array:
    """``activation(a @ b + bias)`` in float64, or in the accumulator of integers, which may wrap around."""
    wide = np.dtype(np.float64) if jnp.issubdtype(a.dtype, jnp.floating) else accumulator_dtype(a.dtype)
    z = np.matmul(a.astype(wide), b.astype(wide))
    if bias is not None:
        z = z + bias.astype(wide)
    return activated(z, activation)


def bound(a: Array, b: Array, out_dtype: np.dtype, bias: Array | None = None, activation: str | None = None) -> Array:
    """How far a right answer in ``out_dtype`` may be from :func:`exact`, element by element.

    Each of the ``k`` terms goes through at most ``k`` roundings in float32, the bias adds one (Higham, 2nd ed., section
    3.1); the activation stretches that by its steepest slope and adds its own; the result is rounded once, to within
    half of its last place, or of its least number.
    """
    k = a.shape[-1]
    magnitude = np.matmul(np.abs(a.astype(np.float64)), np.abs(b.astype(np.float64)))
    if bias is not None:
        magnitude = magnitude + np.abs(bias.astype(np.float64))
    wide = "fp64" if accumulator_dtype(a.dtype) == np.float64 else "fp32"
    error = gamma(k + 2, wide) * magnitude if k else np.zeros_like(magnitude)
    error = STEEPEST[activation] * error + gamma(ROUNDINGS[activation] + 1, wide) * magnitude
    info = jnp.finfo(out_dtype)
    half_place = float(info.eps) / 2
    result = np.abs(exact(a, b, bias, activation).astype(np.float64))
    return error + half_place * (result + error) + float(info.smallest_subnormal) / 2


def close(got: jax.Array, a: Array, b: Array, bias: Array | None = None, activation: str | None = None) -> bool:
    """Whether ``got`` is the product: of the right shape, equal for integers, within :func:`bound` for floats."""
    want, values = exact(a, b, bias, activation), np.asarray(got)
    if values.shape != want.shape:
        return False
    if jnp.issubdtype(values.dtype, jnp.integer):
        return bool(np.all(values == want))
    return bool(np.all(np.abs(values.astype(np.float64) - want) <= bound(a, b, values.dtype, bias, activation)))


def numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Array:
    """Numbers of this type, of both signs, that exercise its range: integers to their limits, floats around 1."""
    dtype = jnp.dtype(dtype)
    if jnp.issubdtype(dtype, jnp.integer):
        info = jnp.iinfo(dtype)
        return rng.integers(int(info.min), int(info.max), shape, endpoint=True).astype(dtype)
    return rng.standard_normal(shape).astype(np.float32).astype(dtype)


@cache
def able(name: str, dtype: Any) -> bool:
    """Whether this implementation does this type on this machine, interpreted where it must be."""
    dtype = jnp.dtype(dtype)
    sums = accumulator_dtype(dtype)
    out = jnp.dtype(jnp.bfloat16) if dtype in FLOAT8 else working_dtype(sums, sums)
    module = implementation(name)
    if not getattr(module, "can_interpret", lambda: True)():  # GPU kernels, in jax before 0.10.2
        return False
    return module.refusal(Problem(1, 8, 8, 8, dtype, sums, out), None) is None


def able_to(*dtypes: Any) -> list[tuple[str, Any]]:
    """Pairs of an implementation and a type that it does."""
    return [(name, dtype) for name in IMPLEMENTATIONS for dtype in dtypes if able(name, dtype)]


def interpreted(name: str) -> bool | None:
    """What to pass as ``interpret``, so that a kernel without its hardware says nothing about it."""
    return None if implementation(name).HOME is None else True
