"""What every training step does, however its sums are made: check, sum, divide, update, and say how it went."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import optax
from jax.sharding import Mesh

from tpu_kernels.phrases import phrase
from tpu_kernels.training.accumulation import accumulated
from tpu_kernels.training.batch import Batch, check_divides, weights
from tpu_kernels.training.examples import WEIGHT, rows
from tpu_kernels.training.loss import Losses, SumGradients, check_reduction, reduce, weighted_sums
from tpu_kernels.training.loss_scaling import current_scale
from tpu_kernels.training.mesh import data_mesh, split_rows
from tpu_kernels.training.precision import Policy
from tpu_kernels.training.randomness import example_keys
from tpu_kernels.training.state import Params, TrainState

Metrics: TypeAlias = dict[str, jax.Array]
"""Scalars, float32, on the device: "loss" (reduced), "grad_norm" (of the whole gradient), "weight" (their sum)."""

Step: TypeAlias = Callable[[TrainState, Batch], tuple[TrainState, Metrics]]

Form: TypeAlias = Callable[[SumGradients, Mesh], SumGradients]
"""From the sums of the rows on one device to those of the whole batch."""


def build_step(
    losses: Losses,
    optimizer: optax.GradientTransformation,
    forms: Mapping[str, Form],
    shardings: Callable[[Any, Mesh], Any],
    *,
    mesh: Mesh | None,
    form: str,
    reduction: str,
    accumulate: int,
    policy: Policy,
    donate: bool,
) -> Step:
    """A step by the one of ``forms`` that ``form`` names. ``shardings(tree, mesh)``: where each leaf of a state lies.

    The optimiser works on whole arrays too, outside any program for one device: a norm that it clips by is the norm of
    the whole gradient, however its leaves are split.
    """
    if form not in forms:
        raise ValueError(phrase("training.unknown", argument="form", got=form, known=", ".join(forms)))
    check_reduction(reduction)
    mesh = data_mesh(1) if mesh is None else mesh
    sums = forms[form](accumulated(weighted_sums(losses, policy), accumulate), mesh)

    def update(state: TrainState, batch: Batch) -> tuple[TrainState, Metrics]:
        keys = example_keys(state.key, state.step, rows(batch))
        # All sums are proportional to the weights, so a loss is scaled by its weights, and its sums are scaled back.
        scale = current_scale(state.opt_state)
        scaled = sums(state.params, {**batch, WEIGHT: scale * weights(batch)}, keys)
        total = jax.tree.map(lambda leaf: leaf / scale, scaled)
        loss, gradient = reduce(total, reduction)
        updates, opt_state = optimizer.update(gradient, state.opt_state, state.params)
        params = optax.apply_updates(state.params, updates)
        after = TrainState(state.step + 1, params, opt_state, state.key)
        metrics = {"loss": loss, "grad_norm": _norm(gradient), "weight": total.weight}
        return jax.lax.with_sharding_constraint(after, shardings(after, mesh)), metrics

    compiled = jax.jit(update, donate_argnums=(0,) if donate else ())

    def step(state: TrainState, batch: Batch) -> tuple[TrainState, Metrics]:
        check_divides(rows(batch), mesh.size, accumulate)
        _refuse_donated(state)
        # Moves nothing that already lies where it should.
        placed = jax.device_put(state, shardings(state, mesh)), jax.device_put(batch, split_rows(mesh))
        done: tuple[TrainState, Metrics] = compiled(*placed)
        return done

    return step


def _norm(tree: Params) -> jax.Array:
    return jnp.sqrt(sum(jnp.sum(jnp.square(leaf)) for leaf in jax.tree.leaves(tree)))


def _refuse_donated(state: TrainState) -> None:
    arrays = (leaf for leaf in jax.tree.leaves(state) if isinstance(leaf, jax.Array))
    if any(leaf.is_deleted() for leaf in arrays if not isinstance(leaf, jax.core.Tracer)):
        raise RuntimeError(phrase("training.donated"))
