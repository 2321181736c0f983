"""The collectives, as functions of what each device holds; called inside ``jax.shard_map``, like those of ``jax.lax``.

``axis_name`` is a mesh axis, or several, in whose order devices are numbered, the last one fastest. The kernels move
float32, bfloat16 and int32, of any shape. All raise ``ValueError`` for what is no array, an axis that the mesh does not
have, an unknown ``impl`` or ``op``, a device that is not there, a dtype that the kernels do not move, and a shape that
does not fall into equal parts where it must; and :class:`~tpu_kernels.backend.BackendError` where kernels cannot run.
Kernels batch under ``jax.vmap``, from jax 0.10 on; they raise ``ValueError`` where they are to be differentiated, and
where ``shard_map`` leaves an axis of the mesh to jax. To jax the results of kernels vary over the axes, also where all
devices get the same; on a CPU, ``shard_map`` must be told ``check_vma=False``, or ``ValueError`` says so, and must not
be inside another, where XLA ends the process. ``interpret=False`` compiles for a TPU also where there is none; ``None``
then runs the kernels in Pallas's interpreter.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jax import lax

from tpu_kernels.kernels.collectives import direct_permute as direct
from tpu_kernels.kernels.collectives import judged, places, whole, xla
from tpu_kernels.kernels.collectives.interpreter import interpreter
from tpu_kernels.kernels.collectives.operations import COMBINE, SUM
from tpu_kernels.kernels.collectives.route import RING, XLA, route
from tpu_kernels.kernels.collectives.stages import PERMUTE, Stages
from tpu_kernels.kernels.collectives.transforms import transformable
from tpu_kernels.kernels.gemm.manual_axes import varying
from tpu_kernels.phrases import phrase

Axes = str | Sequence[str]


def all_gather(x: jax.Array, axis_name: Axes, *, impl: str = RING, interpret: bool | None = None) -> jax.Array:
    """``[m, ...]`` of each of ``n`` devices -> ``[n * m, ...]`` on all, in the order of the devices."""
    sizes = judged.sizes(x, axis_name, impl)
    judged.leading(x, "all_gather")
    if impl == XLA or not travels(x, sizes):
        return xla.all_gather(x, tuple(sizes))
    run = stages(x, sizes, impl, interpret)
    return transformable(lambda x: whole.all_gather(x, run), "all_gather", impl)(x)


def reduce_scatter(
    x: jax.Array, axis_name: Axes, *, op: str = SUM, impl: str = RING, interpret: bool | None = None
) -> jax.Array:
    """``[n * m, ...]`` of each of ``n`` devices, reduced by ``op`` -> ``[m, ...]``, part ``i`` on device ``i``.

    ``op``: ``"sum"``, ``"max"`` or ``"min"``. A sum is rounded to the dtype at each device that it passes.
    """
    sizes = judged.sizes(x, axis_name, impl)
    judged.operation(op, x)
    judged.divisible(x, "reduce_scatter", sizes)
    if impl == XLA or not travels(x, sizes):
        return xla.reduce_scatter(x, tuple(sizes), op)
    run = stages(x, sizes, impl, interpret)
    return transformable(lambda x: whole.reduce_scatter(x, COMBINE[op], run), "reduce_scatter", impl)(x)


def all_reduce(
    x: jax.Array, axis_name: Axes, *, op: str = SUM, impl: str = RING, interpret: bool | None = None
) -> jax.Array:
    """An array of each device, reduced by ``op`` -> one of its shape, on all the same bit for bit.

    ``op``: ``"sum"``, ``"max"`` or ``"min"``. A sum is rounded as in :func:`reduce_scatter`.
    """
    sizes = judged.sizes(x, axis_name, impl)
    judged.operation(op, x)
    if impl == XLA or not travels(x, sizes):
        return xla.all_reduce(x, tuple(sizes), op)
    run = stages(x, sizes, impl, interpret)
    return transformable(lambda x: whole.all_reduce(x, COMBINE[op], run), "all_reduce", impl)(x)


def all_to_all(x: jax.Array, axis_name: Axes, *, impl: str = RING, interpret: bool | None = None) -> jax.Array:
    """``[n * m, ...]``, part ``i`` for device ``i`` -> ``[n * m, ...]``, part ``i`` from device ``i``."""
    sizes = judged.sizes(x, axis_name, impl)
    judged.divisible(x, "all_to_all", sizes)
    if impl == XLA or not travels(x, sizes):
        return xla.all_to_all(x, tuple(sizes))
    run = stages(x, sizes, impl, interpret)
    return transformable(lambda x: whole.all_to_all(x, run), "all_to_all", impl)(x)


def broadcast(
    x: jax.Array, axis_name: Axes, *, root: int = 0, impl: str = RING, interpret: bool | None = None
) -> jax.Array:
    """The array of device ``root`` on all."""
    sizes = judged.sizes(x, axis_name, impl)
    start = judged.device(root, "root", sizes)
    if impl == XLA or not travels(x, sizes):
        return xla.broadcast(x, tuple(sizes), start)
    run = stages(x, sizes, impl, interpret)
    return transformable(lambda x: whole.broadcast(x, start, run), "broadcast", impl)(x)


def permute(
    x: jax.Array, axis_name: Axes, pairs: Sequence[tuple[int, int]], *, impl: str = RING, interpret: bool | None = None
) -> jax.Array:
    """The array of the first device of each pair on the second; zeros on those that no pair names second.

    One copy goes straight to its target, whatever ``impl`` but ``"xla"`` is. No source and no target twice.
    """
    sizes = judged.sizes(x, axis_name, impl)
    moves = judged.pairs(pairs, sizes)
    if impl == XLA or not travels(x, sizes):
        return xla.permute(x, tuple(sizes), moves)
    run = stages(x, sizes, impl, interpret)

    def act(x: jax.Array) -> jax.Array:
        rows, _ = whole.permute(x)
        got, _ = direct.permute(rows, sizes, moves, collective_id=PERMUTE, interpret=run.interpret)
        return got.reshape(-1)[: x.size].reshape(x.shape)

    return transformable(act, "permute", impl)(x)


def stages(x: jax.Array, sizes: dict[str, int], impl: str, interpret: bool | None, count: bool = False) -> Stages:
    """How kernels of ``impl`` will go over mesh axes of these sizes. Raises as said above."""
    over = route(impl, sizes)
    mesh = jax.sharding.get_abstract_mesh()
    if left := [axis for axis in mesh.axis_names if axis not in places.axes()]:
        raise ValueError(phrase("collectives.not_manual", axes=", ".join(left)))
    how = interpreter(mesh.size, interpret)
    if how and varying(lax.axis_index(over.axes)):  # jax's interpreter cannot tell what varies
        raise ValueError(phrase("collectives.check_vma"))
    return Stages(over, jnp.dtype(x.dtype), how, count)


def travels(x: jax.Array, sizes: dict[str, int]) -> bool:
    """Whether there is anything to send, and somebody to send it to."""
    return x.size > 0 and any(size > 1 for size in sizes.values())
