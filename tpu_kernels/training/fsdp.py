"""Fully sharded data parallelism: between steps each device holds its n-th of parameters and optimiser state, no more.

Data parallelism keeps n copies of what is the same everywhere. Here the parameters are gathered for the time of a step
(an all-gather), and of the sum of the gradients each device gets only the part that it will update (a reduce-scatter):
together they move what one all-reduce moves. S. Rajbhandari et al., "ZeRO", SC 2020. Larger systems gather one layer
at a time; here the model is a function like any other, and while it runs all of it is there.

A leaf is split along its largest dimension that the devices divide. One without any is kept whole on every device, as
are scalars: no shape is ever padded, since an optimiser may look at shapes.
"""

from collections import Counter
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from tpu_kernels.training.batch import Batch
from tpu_kernels.training.loss import Losses, SumGradients, Sums
from tpu_kernels.training.mesh import data_axis, replicated, split_rows
from tpu_kernels.training.precision import FLOAT32, Policy
from tpu_kernels.training.state import Params, TrainState
from tpu_kernels.training.step import Step, build_step


def split_dimension(shape: tuple[int, ...], n: int) -> int | None:
    """The largest dimension that ``n`` divides, the first among equals; None where there is none."""
    divisible = [dimension for dimension, size in enumerate(shape) if size and size % n == 0]
    return max(divisible, key=lambda dimension: shape[dimension], default=None)


def specs(tree: Any, mesh: Mesh) -> Any:
    """Which dimension of each leaf is split over the mesh, as a tree of ``PartitionSpec``."""
    axis = data_axis(mesh)

    def spec(leaf: jax.Array) -> PartitionSpec:
        dimension = split_dimension(leaf.shape, mesh.size)
        return PartitionSpec() if dimension is None else PartitionSpec(*[None] * dimension, axis)

    return jax.tree.map(spec, tree)


def shardings(tree: Any, mesh: Mesh) -> Any:
    """The same as places: a tree of ``NamedSharding``."""
    return jax.tree.map(lambda spec: NamedSharding(mesh, spec), specs(tree, mesh))


def create_state(params: Params, optimizer: optax.GradientTransformation, seed: int, mesh: Mesh) -> TrainState:
    """:meth:`TrainState.create` with its leaves in parts from the start: no device holds a whole one first."""

    def create(params: Params) -> TrainState:
        return TrainState.create(params, optimizer, seed)

    placed = jax.device_put(params, shardings(params, mesh))
    state: TrainState = jax.jit(create, out_shardings=shardings(jax.eval_shape(create, params), mesh))(placed)
    return state


def bytes_per_device(tree: Any) -> dict[jax.Device, int]:
    """Bytes that each device holds of the arrays of ``tree``; a typed key counts as the integers it is made of."""
    held: Counter[jax.Device] = Counter()
    for leaf in jax.tree.leaves(tree):
        data = jax.random.key_data(leaf) if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else leaf
        for shard in data.addressable_shards:
            held[shard.device] += shard.data.nbytes
    return dict(held)


def on_each_device(sums: SumGradients, mesh: Mesh) -> SumGradients:
    """The sums of the whole batch, made by ``shard_map``; parameters come in, and their gradient goes out, in parts."""
    axis = data_axis(mesh)
    everywhere, by_rows = PartitionSpec(), PartitionSpec(axis)

    def gather(leaf: jax.Array, spec: PartitionSpec) -> Any:
        return jax.lax.all_gather(leaf, axis, axis=spec.index(axis), tiled=True) if axis in spec else leaf

    def scatter(leaf: jax.Array, spec: PartitionSpec) -> Any:
        if axis not in spec:
            return jax.lax.psum(leaf, axis)
        return jax.lax.psum_scatter(leaf, axis, scatter_dimension=spec.index(axis), tiled=True)

    def whole(params: Params, batch: Batch, keys: jax.Array) -> Sums:
        parts = specs(params, mesh)  # by the shapes of whole leaves, which the program below does not see

        def program(params: Params, batch: Batch, keys: jax.Array) -> Sums:
            mine = sums(jax.tree.map(gather, params, parts), batch, keys)
            loss, weight = jax.lax.psum((mine.loss, mine.weight), axis)
            return Sums(loss, weight, jax.tree.map(scatter, mine.gradient, parts))

        return jax.shard_map(
            program,
            mesh=mesh,
            in_specs=(parts, by_rows, by_rows),
            out_specs=Sums._make((everywhere, everywhere, parts)),
            check_vma=False,  # as in data_parallel: a gradient is of this device's loss alone
        )(params, batch, keys)

    return whole


def on_the_whole_batch(sums: SumGradients, mesh: Mesh) -> SumGradients:
    """The sums of the whole batch, written as on one device; constraints say what lies whole and what in parts."""
    everywhere, by_rows = replicated(mesh), split_rows(mesh)

    def program(params: Params, batch: Batch, keys: jax.Array) -> Sums:
        parts = shardings(params, mesh)
        params = jax.lax.with_sharding_constraint(params, everywhere)  # the all-gather
        batch, keys = jax.lax.with_sharding_constraint((batch, keys), by_rows)
        everyones = sums(params, batch, keys)
        # A reduce-scatter; where the compiler has none, as on CPU, an all-reduce of which each device keeps a part.
        return everyones._replace(gradient=jax.lax.with_sharding_constraint(everyones.gradient, parts))

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
    """``data_parallel.make_step`` with parameters and optimiser state in parts: same arguments, numbers and errors."""
    return build_step(
        losses,
        optimizer,
        FORMS,
        shardings,
        mesh=mesh,
        form=form,
        reduction=reduction,
        accumulate=accumulate,
        policy=policy,
        donate=donate,
    )
