"""How values of devices become one: the operations of reductions."""

import jax.numpy as jnp

SUM, MAX, MIN = "sum", "max", "min"
COMBINE = {SUM: jnp.add, MAX: jnp.maximum, MIN: jnp.minimum}
