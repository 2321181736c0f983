"""A function as bytes that the TPU's compiler takes, lowered where there is no TPU, and what is known of it here.

jax lowers for the generation that the surrounding mesh names: a kernel sees the chip that it is compiled for
(``pltpu.get_tpu_info()``), and what differs between generations is lowered as on that chip.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import jax
from jax import export
from jax.extend.core import ClosedJaxpr
from jax.sharding import use_abstract_mesh

from tpu_kernels.phrases import phrase
from tpu_kernels.xray.compile_process import PLACES
from tpu_kernels.xray.compiler_errors import FIRST_WORDS, learners_line, refusal
from tpu_kernels.xray.errors import MissingCompilerError, ProgramError
from tpu_kernels.xray.grid import Points
from tpu_kernels.xray.kernel_call import KernelCall, kernel_calls
from tpu_kernels.xray.mesh_axes import ONE_DEVICE, Axes
from tpu_kernels.xray.products import PRODUCTS, jaxprs, product, walk
from tpu_kernels.xray.sharding import arguments, axes_of, mapped_over, mesh_of, on_a_mesh, spread, surroundings
from tpu_kernels.xray.targets import Target

OURS = re.compile(rf" at {re.escape(__file__)}:\d+")
LAMBDA = "<lambda>"  # what Python calls a function without a name


@dataclass(frozen=True)
class Program:
    """What is compiled: ``code`` is jax's own serialised form; ``calls`` are its Pallas kernels, in order.

    ``flops`` counts the products of matrices as written, two for each multiplication and addition, and is a device's
    share of them; ``None`` when how often they are carried out depends on data. ``axes`` are those of the mesh that the
    program is for. ``donated`` are the arguments, by number, whose memory it may write results to.
    """

    name: str
    code: bytes
    calls: tuple[KernelCall, ...]
    flops: int | None
    axes: Axes = ONE_DEVICE
    donated: tuple[int, ...] = ()


def lower(function: Callable[..., Any], specs: Sequence[Any], target: Target) -> Program:
    """The program that ``function`` is for arguments like ``specs``.

    Arrays and ``jax.ShapeDtypeStruct`` in ``specs``, also inside lists, dicts and other pytrees, are arguments of the
    program, and only their shapes, types and shardings are used. Everything else is passed to the function as it is.

    Raises :class:`ProgramError` when it cannot be traced, is for several meshes, or has a kernel that is interpreted;
    :class:`~tpu_kernels.xray.errors.CompileError` when Pallas refuses a kernel.
    """
    if not callable(function):
        raise ProgramError(phrase("xray.not_callable", got=repr(function)[:60]))
    leaves, tree = jax.tree.flatten(list(specs))
    traced = [_abstract(leaf) for leaf in leaves if _is_array(leaf)]

    def program(*arrays: jax.Array) -> list[Any]:
        given = iter(arrays)
        arguments = jax.tree.unflatten(tree, [next(given) if _is_array(leaf) else leaf for leaf in leaves])
        return jax.tree.leaves(function(*arguments))

    name = _name(function)
    program.__name__ = program.__qualname__ = re.sub(r"\W", "_", name)
    jitted = jax.jit(program)
    with _lowering_for(target):
        jaxpr = _traced(jitted, traced, name)
        calls = kernel_calls(jaxpr)
        for call in calls:
            if call.interpreted:
                raise ProgramError(phrase("xray.interpreted", kernel=call.name, where=call.where))
            if call.steps == 0:
                raise ProgramError(phrase("xray.empty_grid", kernel=call.name, where=call.where, grid=str(call.grid)))
        mesh, said = mesh_of(traced, jaxpr.jaxpr), arguments(jaxpr.jaxpr)
        axes = ONE_DEVICE if mesh is None else axes_of(mesh)
        donated = tuple(number for number, one in enumerate(said) if one.donated)
        code = _exported(jitted, spread(traced, said, mesh), calls)
        return Program(name, code, calls, _flops(jaxpr, calls, axes.devices), axes, donated)


@contextmanager
def _lowering_for(target: Target) -> Iterator[None]:
    before = {name: getattr(jax.config, name) for name in PLACES}
    for name, value in PLACES.items():
        jax.config.update(name, value)
    try:
        with use_abstract_mesh(surroundings(target)):
            yield
    finally:
        for name, value in before.items():
            jax.config.update(name, value)


def _traced(jitted: Any, specs: Sequence[jax.ShapeDtypeStruct], name: str) -> ClosedJaxpr:
    try:
        traced: ClosedJaxpr = jitted.trace(*specs).jaxpr
    except Exception as error:  # whatever the learner's code raises
        where = learners_line(error) or name
        raise refusal(error) or ProgramError(
            phrase("xray.not_traced", where=where, name=name, reason=_reason(error)), str(error)
        ) from error
    return traced


def _exported(jitted: Any, specs: Sequence[jax.ShapeDtypeStruct], calls: Sequence[KernelCall]) -> bytes:
    try:
        return bytes(export.export(jitted, platforms=["tpu"])(*specs).serialize())
    except ImportError as error:
        raise MissingCompilerError(phrase("xray.no_serialiser", package=error.name or "flatbuffers")) from error
    except Exception as error:  # of many classes: Pallas raises its own, and NotImplementedError, and ValueError
        message = phrase("xray.not_lowered", reason=_reason(error))
        where = learners_line(error)
        raise refusal(error, calls) or ProgramError(
            phrase("xray.at", where=where, message=message) if where else message, str(error)
        ) from error


def _reason(error: BaseException) -> str:
    """What it says first, without the place that jax gives the function: it is that of our own around the learner's."""
    return f"{type(error).__name__}: {OURS.sub('', str(error))}".splitlines()[0][:FIRST_WORDS].rstrip(". ")


def _flops(jaxpr: ClosedJaxpr, calls: Sequence[KernelCall], devices: int) -> int | None:
    """Of one device: what is written for all of them is shared, what a ``shard_map`` writes is done by each."""
    counted = [None if call.flops is None or call.times is None else call.flops * call.times for call in calls]
    for visit in walk(Points(()), jaxpr, (*PRODUCTS, "pallas_call", "shard_map")):
        name = visit.equation.primitive.name
        if name in PRODUCTS:
            counted.append(_share(product(visit).flops, 1, devices))
        elif name == "shard_map":
            times = None if visit.times is None else int(visit.times.sum())
            sharing = devices // mapped_over(visit.equation)
            inside = walk(Points(()), next(jaxprs(visit.equation.params["jaxpr"])), (*PRODUCTS, "pallas_call"))
            each = [product(one).flops for one in inside if one.equation.primitive.name in PRODUCTS]
            counted += [_share(flops, times, sharing) for flops in each]
    return None if None in counted else sum(filter(None, counted))


def _share(flops: int | None, times: int | None, devices: int) -> int | None:
    return None if flops is None or times is None else -(-flops * times // devices)


def _abstract(leaf: Any) -> jax.ShapeDtypeStruct:
    sharding = on_a_mesh(getattr(leaf, "sharding", None))
    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding, weak_type=getattr(leaf, "weak_type", False))


def _is_array(leaf: Any) -> bool:
    return hasattr(leaf, "shape") and hasattr(leaf, "dtype")


def _name(function: Any) -> str:
    while hasattr(function, "func"):  # functools.partial
        function = function.func
    found = getattr(function, "__name__", "") or type(function).__name__
    return found if found == LAMBDA else re.sub(r"\W", "_", found)
