"""What jax's transformations make of a collective of kernels: a batch is one larger array, a derivative is refused."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap

from tpu_kernels.phrases import phrase

Act = Callable[[jax.Array], jax.Array]

# Before, a custom_vmap hid from jax that what is in it has effects, as a kernel in the interpreter has.
BATCHES = jax.__version_info__ >= (0, 10)


def transformable(act: Act, name: str, impl: str) -> Act:
    """``act``, on what a device holds, also under ``jax.vmap``: the batch goes last, where no collective cuts or joins.

    That needs jax 0.10. Raises ``ValueError`` where it is to be differentiated: jax cannot look into a kernel.
    """

    @custom_vmap
    def batched(x: jax.Array) -> jax.Array:
        return act(x)

    @batched.def_vmap
    def _(_size: int, _batched: Any, x: jax.Array) -> tuple[jax.Array, bool]:
        whole = transformable(act, name, impl)
        return jnp.moveaxis(whole(jnp.moveaxis(x, 0, -1)), -1, 0), True

    @jax.custom_jvp
    def closed(x: jax.Array) -> jax.Array:
        found: jax.Array = batched(x) if BATCHES else act(x)
        return found

    @closed.defjvp
    def _(_given: Any, _change: Any) -> tuple[Any, Any]:
        raise ValueError(phrase("collectives.no_derivative", collective=name, impl=impl))

    return closed
