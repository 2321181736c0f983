"""Small programs to look into: Pallas kernels whose multiplications and copies can be counted by hand, and XLA's own.

Dumps remember the lines of this file: after a change, ``python -m tests.tpu_kernels.xray.regenerate`` makes them anew.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

Spec = jax.ShapeDtypeStruct
Program = tuple[Callable[..., Any], Sequence[Spec]]


def matmul(
    m: int, k: int, n: int, block: tuple[int, int, int], dtype: Any = jnp.bfloat16, precision: Any = None, **ask: Any
) -> Program:
    """A product with an accumulator, in blocks ``(m, k, n)``; ``ask`` are parameters for the compiler."""
    sums = jnp.int32 if jnp.issubdtype(dtype, jnp.integer) else jnp.float32

    def body(a: Any, b: Any, out: Any, total: Any) -> None:
        @pl.when(pl.program_id(2) == 0)
        def _() -> None:
            total[...] = jnp.zeros_like(total)

        total[...] += jnp.dot(a[...], b[...], preferred_element_type=sums, precision=precision)

        @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
        def _() -> None:
            out[...] = total[...].astype(out.dtype)

    def product(a: jax.Array, b: jax.Array) -> Any:
        return pl.pallas_call(
            body,
            grid=(pl.cdiv(m, block[0]), pl.cdiv(n, block[2]), pl.cdiv(k, block[1])),
            in_specs=[
                pl.BlockSpec((block[0], block[1]), lambda i, j, p: (i, p)),
                pl.BlockSpec((block[1], block[2]), lambda i, j, p: (p, j)),
            ],
            out_specs=pl.BlockSpec((block[0], block[2]), lambda i, j, p: (i, j)),
            out_shape=Spec((m, n), sums if sums == jnp.int32 else dtype),
            scratch_shapes=[pltpu.VMEM((block[0], block[2]), sums)],
            compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel", "arbitrary"), **ask),
        )(a, b)

    return product, (Spec((m, k), dtype), Spec((k, n), dtype))


def elementwise(rows: int, block: int) -> Program:
    """``x + y`` in blocks of rows of 512."""

    def body(x: Any, y: Any, out: Any) -> None:
        out[...] = x[...] + y[...]

    def add(x: jax.Array, y: jax.Array) -> Any:
        spec = pl.BlockSpec((block, 512), lambda i: (i, 0))
        return pl.pallas_call(
            body,
            grid=(pl.cdiv(rows, block),),
            in_specs=[spec, spec],
            out_specs=spec,
            out_shape=Spec((rows, 512), jnp.float32),
        )(x, y)

    return add, (Spec((rows, 512), jnp.float32),) * 2


def own_copies(rows: int, steps: int) -> Program:
    """Fetches its input by itself, ``rows`` rows of 128 in each step, and adds them up."""

    def body(x: Any, out: Any, held: Any, arrived: Any) -> None:
        copy = pltpu.make_async_copy(x.at[pl.ds(pl.program_id(0) * rows, rows)], held, arrived)
        copy.start()
        copy.wait()
        out[...] += held[...]

    def total(x: jax.Array) -> Any:
        return pl.pallas_call(
            body,
            grid=(steps,),
            in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
            out_specs=pl.BlockSpec((rows, 128), lambda i: (0, 0)),
            out_shape=Spec((rows, 128), jnp.float32),
            scratch_shapes=[pltpu.VMEM((rows, 128), jnp.float32), pltpu.SemaphoreType.DMA(())],
        )(x)

    return total, (Spec((rows * steps, 128), jnp.float32),)


def chosen_rows() -> Program:
    """Copies the rows that an index says: what is fetched depends on data."""

    def body(index: Any, x: Any, out: Any) -> None:
        out[...] = x[...]

    def choose(index: jax.Array, x: jax.Array) -> Any:
        return pl.pallas_call(
            body,
            grid_spec=pltpu.PrefetchScalarGridSpec(
                num_scalar_prefetch=1,
                grid=(4,),
                in_specs=[pl.BlockSpec((8, 128), lambda i, index: (index[i], 0))],
                out_specs=pl.BlockSpec((8, 128), lambda i, index: (i, 0)),
            ),
            out_shape=Spec((32, 128), jnp.float32),
        )(index, x)

    return choose, (Spec((4,), jnp.int32), Spec((512, 128), jnp.float32))


def mlp(width: int = 512) -> Program:
    """Two products with a ReLU between them, XLA's own."""
    return lambda x, up, down: jax.nn.relu(x @ up) @ down, (Spec((width, width), jnp.bfloat16),) * 3


def softmax() -> Program:
    return partial(jax.nn.softmax, axis=-1), (Spec((1024, 1024), jnp.float32),)


def repeated() -> Program:
    """A kernel inside a loop of XLA's, five times."""
    product, specs = matmul(256, 256, 256, (256, 128, 256))
    return lambda a, b: lax.fori_loop(0, 5, lambda _, x: product(x, b), a), specs


def alike() -> Program:
    """Two kernels with the same code, on different operands."""
    product, specs = matmul(1024, 512, 512, (256, 512, 256))
    return lambda a, b, c, d: (product(a, b), product(c, d)), (*specs, *specs)


def unlike() -> Program:
    """Two different kernels, one after the other, and a transposition of XLA's between them."""
    first, specs = matmul(512, 512, 512, (256, 512, 256))
    second, _ = matmul(512, 512, 512, (128, 512, 512))
    return lambda a, b: second(first(a, b).T, b), specs


CASES: dict[str, Program] = {
    "matmul": matmul(512, 1024, 512, (256, 512, 256)),
    "ragged": matmul(500, 512, 300, (256, 512, 128)),
    "int8": matmul(512, 512, 512, (256, 512, 256), jnp.int8),
    "highest": matmul(256, 256, 256, (256, 128, 256), jnp.float32, lax.Precision.HIGHEST),
    "elementwise": elementwise(1024, 128),
    "own_copies": own_copies(64, 4),
    "chosen_rows": chosen_rows(),
    "mlp": mlp(),
    "softmax": softmax(),
    "repeated": repeated(),
    "alike": alike(),
    "unlike": unlike(),
}

# Which are kept as dumps, for which generations.
STORED: dict[str, tuple[str, ...]] = {
    "matmul": ("v4", "v5e", "v5p", "v6e", "tpu7x"),
    "ragged": ("v5e", "v6e"),
    "int8": ("v5e", "v6e"),
    "highest": ("v5e",),
    "elementwise": ("v4", "v5e", "v5p"),
    "own_copies": ("v5e", "v6e"),
    "chosen_rows": ("v5e",),
    "mlp": ("v4", "v5e", "v5p", "tpu7x"),
    "softmax": ("v6e",),
    "repeated": ("v4", "v6e"),
    "alike": ("v6e",),
    "unlike": ("v5e",),
}
