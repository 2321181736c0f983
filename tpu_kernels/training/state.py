"""What a training step takes and gives back."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import optax

from tpu_kernels.phrases import phrase

Params: TypeAlias = Any
"""A pytree of float32 arrays."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class TrainState:
    """One moment of a training run; a step gives a new one. Made by :meth:`create`.

    ``step`` [] int32, ``params`` a pytree of float32 arrays (the master copy, whatever the step computes in),
    ``opt_state`` what the optimiser remembers, ``key`` a typed PRNG key that never changes: a step folds its own number
    into it, so a run that goes on from a checkpoint draws what the uninterrupted run would have drawn.
    """

    step: jax.Array
    params: Params
    opt_state: Any
    key: jax.Array

    @classmethod
    def create(cls, params: Params, optimizer: optax.GradientTransformation, seed: int) -> "TrainState":
        """The state before the first step, with copies of ``params`` (JAX or NumPy arrays).

        Raises ``TypeError`` for a leaf that is not float32.
        """
        for path, leaf in jax.tree.leaves_with_path(params):
            if jnp.dtype(leaf.dtype) != jnp.float32:
                name = jax.tree_util.keystr(path)
                raise TypeError(phrase("training.not_float", name=name, got=str(leaf.dtype)))
        # Copies, because a donated state frees its arrays: the caller keeps his, and no two leaves share a buffer.
        params, opt_state = jax.tree.map(jnp.array, (params, optimizer.init(params)))
        return cls(jnp.zeros((), jnp.int32), params, opt_state, jax.random.key(seed))
