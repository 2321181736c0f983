"""Cells of learners whose functions JAX traces: a product and what looks like one, kernels, a sum over devices."""

import linecache
from typing import Any

PRODUCTS = """\
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.sharding import PartitionSpec as P


def by_xla(a, b):
    return jnp.matmul(a, b, preferred_element_type=jnp.float32)


def by_kernel(a, b):
    def body(a, b, out):
        out[...] = jnp.dot(a[...], b[...], preferred_element_type=jnp.float32)

    return pl.pallas_call(
        body,
        grid=(a.shape[0] // 128, b.shape[1] // 128),
        in_specs=[
            pl.BlockSpec((128, a.shape[1]), lambda i, j: (i, 0)),
            pl.BlockSpec((b.shape[0], 128), lambda i, j: (0, j)),
        ],
        out_specs=pl.BlockSpec((128, 128), lambda i, j: (i, j)),
        out_shape=jax.ShapeDtypeStruct((a.shape[0], b.shape[1]), jnp.float32),
        name="mine",
    )(a, b)


def idle_kernel(a, b):
    by_kernel(a, b)
    return by_xla(a, b)


def weightless_kernel(a, b):
    return by_xla(a, b) + 0 * by_kernel(a, b)


def wrong_kernel(a, b):
    return by_kernel(b, a)


def by_library(a, b):
    from tpu_kernels.kernels import matmul

    return matmul(a, b, out_dtype=jnp.float32, backend="pallas_tpu", interpret=False)


def scaled(a, factor):
    return a * factor


def branches(a, b):
    if a[0, 0] > 0:
        return a
    return b


def not_written(a, b):
    raise NotImplementedError("falta")


def summed(x):
    return jax.shard_map(lambda part: jax.lax.psum(part, "x"), in_specs=P("x"), out_specs=P())(x)


def large(a):
    import numpy as np

    return a + jnp.asarray(np.random.default_rng(0).random((2100, 2100)), jnp.float32).sum()
"""


def namespace(source: str = PRODUCTS) -> dict[str, Any]:
    """The names that the cell defines, with its lines where tracebacks look for them, as in a notebook."""
    names: dict[str, Any] = {"__name__": "__main__"}
    linecache.cache["<cell>"] = (len(source), None, source.splitlines(keepends=True), "<cell>")
    exec(compile(source, "<cell>", "exec"), names)
    return names
