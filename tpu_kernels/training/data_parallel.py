"""Data parallelism: every device holds all the parameters and a part of the batch; their gradients are summed.

The sum is an all-reduce, and it is the whole of the idea. It is written here twice. :func:`on_each_device` is a program
for one device, which sees its own rows and says when to talk to the others. :func:`on_the_whole_batch` is a program for
all of the batch, as if there were one device; it says where arrays lie, and the compiler finds out where to talk.

They give the same numbers, and differ in when they talk. The first sums once, after the last microbatch. In the second
the compiler sums each gradient where it is made, in every microbatch anew.
"""

import jax
import optax
from jax.sharding import Mesh, PartitionSpec

from tpu_kernels.training.batch import Batch
from tpu_kernels.training.loss import Losses, SumGradients, Sums
from tpu_kernels.training.mesh import data_axis, replicated, split_rows
from tpu_kernels.training.precision import FLOAT32, Policy
from tpu_kernels.training.state import Params
from tpu_kernels.training.step import Step, build_step


def on_each_device(sums: SumGradients, mesh: Mesh) -> SumGradients:
    """The sums of the whole batch, made by ``shard_map`` from ``sums`` of the rows on each device."""
    axis = data_axis(mesh)
    everywhere, by_rows = PartitionSpec(), PartitionSpec(axis)

    def program(params: Params, batch: Batch, keys: jax.Array) -> Sums:
        mine = sums(params, batch, keys)
        everyones: Sums = jax.lax.psum(mine, axis)  # the all-reduce
        return everyones

    # Unchecked, a gradient is of this device's loss alone, so that the sum above is the only one. Checked, jax would
    # itself sum the gradient of parameters that are the same everywhere, and the line above would do it again.
    return jax.shard_map(
        program,
        mesh=mesh,
        in_specs=(everywhere, by_rows, by_rows),
        out_specs=everywhere,
        check_vma=False,
    )


def on_the_whole_batch(sums: SumGradients, mesh: Mesh) -> SumGradients:
    """The sums of the whole batch, written as on one device; its arrays are split and the compiler does the rest."""
    everywhere, by_rows = replicated(mesh), split_rows(mesh)

    def program(params: Params, batch: Batch, keys: jax.Array) -> Sums:
        params = jax.lax.with_sharding_constraint(params, everywhere)
        batch, keys = jax.lax.with_sharding_constraint((batch, keys), by_rows)
        everyones = sums(params, batch, keys)
        placed: Sums = jax.lax.with_sharding_constraint(everyones, everywhere)  # which takes an all-reduce
        return placed

    return program


FORMS = {"shard_map": on_each_device, "jit": on_the_whole_batch}


def make_step(
    losses: Losses,
    optimizer: optax.GradientTransformation,
    *,
    mesh: Mesh | None = None,
    form: str = "shard_map",
    reduction: str = "mean",
    accumulate: int = 1,
    policy: Policy = FLOAT32,
    donate: bool = False,
) -> Step:
    """A compiled ``step(state, batch) -> (state, metrics)`` that minimises ``losses``; ``mesh``: one device by default.

    ``reduction``: "sum" of weighted losses, or that over the sum of weights, "mean". ``accumulate``: microbatches, one
    after another. ``donate``: the step reuses the memory of the state that it is given, which then is no more.

    Raises ``ValueError`` for an unknown form or reduction; the step raises it for a batch that devices and microbatches
    do not divide (``shard_batch`` fills it up), and ``RuntimeError`` for a state that was donated.
    """
    return build_step(
        losses,
        optimizer,
        FORMS,
        lambda tree, mesh: replicated(mesh),
        mesh=mesh,
        form=form,
        reduction=reduction,
        accumulate=accumulate,
        policy=policy,
        donate=donate,
    )
