"""Loss scaling: float16 rounds what is below 3e-8 to zero, so the loss is multiplied, and later the gradient divided.

P. Micikevicius et al., "Mixed precision training", ICLR 2018. bfloat16, with float32's exponents, needs none of it.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax


class ScaledState(NamedTuple):
    """``scale`` [] float32, ``good`` [] int32: steps since it last changed; and the state of the optimiser inside."""

    scale: jax.Array
    good: jax.Array
    inner: Any


def loss_scaled(
    optimizer: optax.GradientTransformation, *, initial: float = 2.0**15, growth_interval: int | None = 2000
) -> optax.GradientTransformation:
    """``optimizer``, whose steps multiply the loss by a scale and skip an update with a gradient that overflowed.

    Dynamic: an overflow halves the scale, ``growth_interval`` good steps in a row double it. With ``None`` it is
    static: an overflow is still skipped.
    """

    def init(params: optax.Params) -> ScaledState:
        return ScaledState(jnp.float32(initial), jnp.int32(0), optimizer.init(params))

    def update(
        gradient: optax.Updates, state: ScaledState, params: optax.Params | None = None
    ) -> tuple[optax.Updates, ScaledState]:
        finite = jnp.all(jnp.array([jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(gradient)]))
        updates, inner = optimizer.update(gradient, state.inner, params)
        updates = jax.tree.map(lambda update: jnp.where(finite, update, 0), updates)
        inner = jax.tree.map(lambda new, old: jnp.where(finite, new, old), inner, state.inner)
        return updates, ScaledState(*_adapt(state, finite), inner)

    def _adapt(state: ScaledState, finite: jax.Array) -> tuple[jax.Array, jax.Array]:
        if growth_interval is None:
            return state.scale, state.good
        good = jnp.where(finite, state.good + 1, 0)
        grown = jnp.where(good == growth_interval, state.scale * 2, state.scale)
        return jnp.where(finite, grown, state.scale / 2), jnp.where(good == growth_interval, 0, good)

    return optax.GradientTransformation(init, update)


def current_scale(opt_state: Any) -> jax.Array:
    """The scale of the :func:`loss_scaled` anywhere in the optimiser's state, or 1 where there is none."""
    leaves = jax.tree.leaves(opt_state, is_leaf=lambda node: isinstance(node, ScaledState))
    return next((leaf.scale for leaf in leaves if isinstance(leaf, ScaledState)), jnp.float32(1))
