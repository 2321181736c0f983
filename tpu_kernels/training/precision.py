"""Which precision a step computes in. The parameters that are kept, the loss and every sum stay in float32."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike

from tpu_kernels.phrases import phrase

DTYPES = ("float32", "bfloat16", "float16")


@dataclass(frozen=True)
class Policy:
    """``compute_dtype``: "float32", "bfloat16" or "float16", as a name or a dtype; ``ValueError`` for any other.

    bfloat16 has float32's range and 8 bits of significand; float16 has 11, but its small gradients vanish without
    :func:`tpu_kernels.training.loss_scaling.loss_scaled`. With float32, the multipliers of an accelerator may still
    work in less: that is ``jax_default_matmul_precision``'s to say.
    """

    compute_dtype: DTypeLike = "float32"

    def __post_init__(self) -> None:
        if str(jnp.dtype(self.compute_dtype)) not in DTYPES:
            known = ", ".join(DTYPES)
            raise ValueError(phrase("training.dtype", got=str(jnp.dtype(self.compute_dtype)), known=known))

    def cast(self, tree: Any) -> Any:
        """The same tree with its floating-point leaves in ``compute_dtype``; integers and keys as they were.

        Differentiated, a cast takes the gradient back to float32, the dtype of what it was given.
        """

        def leaf(x: jax.Array) -> jax.Array:
            return x.astype(self.compute_dtype) if jnp.issubdtype(x.dtype, jnp.floating) else x

        return jax.tree.map(leaf, tree)


FLOAT32 = Policy()
