"""A function as bytes that the TPU's compiler takes, lowered where there is no TPU, and what is known of it here.

jax lowers for the generation that the surrounding mesh names: a kernel sees the chip that it is compiled for
(``pltpu.get_tpu_info()``), and what differs between generations is lowered as on that chip.
"""

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import jax
from jax import export
from jax.extend.core import ClosedJaxpr
from jax.sharding import AbstractDevice, AbstractMesh, use_abstract_mesh

from tpu_kernels.phrases import phrase
from tpu_kernels.xray.compile_process import PLACES
from tpu_kernels.xray.compiler_errors import learners_line, refusal
from tpu_kernels.xray.errors import MissingCompilerError, ProgramError
from tpu_kernels.xray.grid import Points
from tpu_kernels.xray.kernel_call import KernelCall, kernel_calls
from tpu_kernels.xray.products import PRODUCTS, product, walk
from tpu_kernels.xray.targets import Target


@dataclass(frozen=True)
class Program:
    """What is compiled: ``code`` is jax's own serialised form; ``calls`` are its Pallas kernels, in order.

    ``flops`` counts the products of matrices as written, two for each multiplication and addition; ``None`` when how
    often they are carried out depends on data.
    """

    name: str
    code: bytes
    calls: tuple[KernelCall, ...]
    flops: int | None


def lower(function: Callable[..., Any], specs: Sequence[Any], target: Target) -> Program:
    """The program that ``function`` is for arguments like ``specs``.

    Arrays and ``jax.ShapeDtypeStruct`` in ``specs``, also inside lists, dicts and other pytrees, are arguments of the
    program, and only their shapes and types are used. Everything else is passed to the function as it is.

    Raises :class:`ProgramError` when it cannot be traced, or has a kernel that is interpreted;
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

    program.__name__ = program.__qualname__ = name = _name(function)
    jitted = jax.jit(program)
    with _lowering_for(target):
        jaxpr = _traced(jitted, traced, name)
        calls = kernel_calls(jaxpr)
        for call in calls:
            if call.interpreted:
                raise ProgramError(phrase("xray.interpreted", kernel=call.name, where=call.where))
            if call.steps == 0:
                raise ProgramError(phrase("xray.empty_grid", kernel=call.name, where=call.where, grid=str(call.grid)))
        return Program(name, _exported(jitted, traced, calls), calls, _flops(jaxpr, calls))


@contextmanager
def _lowering_for(target: Target) -> Iterator[None]:
    before = {name: getattr(jax.config, name) for name in PLACES}
    for name, value in PLACES.items():
        jax.config.update(name, value)
    try:
        with use_abstract_mesh(AbstractMesh((), (), abstract_device=_device(target))):
            yield
    finally:
        for name, value in before.items():
            jax.config.update(name, value)


def _device(target: Target) -> AbstractDevice:
    platform = {"platform": "tpu"} if "platform" in inspect.signature(AbstractDevice).parameters else {}  # jax >= 0.10
    return AbstractDevice(device_kind=target.device_kind, num_cores=target.cores, **platform)


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
        raise refusal(error, calls) or ProgramError(
            phrase("xray.not_lowered", reason=_reason(error)), str(error)
        ) from error


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0][:200].rstrip(". ")


def _flops(jaxpr: ClosedJaxpr, calls: Sequence[KernelCall]) -> int | None:
    visits = walk(Points(()), jaxpr, (*PRODUCTS, "pallas_call"))
    counted = [product(visit).flops for visit in visits if visit.equation.primitive.name in PRODUCTS]
    counted += [None if call.flops is None or call.times is None else call.flops * call.times for call in calls]
    return None if None in counted else sum(filter(None, counted))


def _abstract(leaf: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, weak_type=getattr(leaf, "weak_type", False))


def _is_array(leaf: Any) -> bool:
    return hasattr(leaf, "shape") and hasattr(leaf, "dtype")


def _name(function: Any) -> str:
    while hasattr(function, "func"):  # functools.partial
        function = function.func
    found = getattr(function, "__name__", "") or type(function).__name__
    return re.sub(r"\W", "_", found)
