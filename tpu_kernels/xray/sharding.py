"""Programs for many devices: the mesh that one is written for, and how its arguments are spread over it.

A mesh of devices that are not here is a ``jax.sharding.AbstractMesh``: it has names and sizes, and no devices.
"""

import inspect
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
from jax.extend.core import Jaxpr, JaxprEqn, Literal
from jax.sharding import AbstractDevice, AbstractMesh, AxisType, NamedSharding, PartitionSpec

from tpu_kernels.phrases import phrase
from tpu_kernels.xray import slices
from tpu_kernels.xray.errors import ProgramError
from tpu_kernels.xray.mesh_axes import Axes
from tpu_kernels.xray.products import jaxprs
from tpu_kernels.xray.targets import Target

JITTED = ("jit", "pjit")


@dataclass(frozen=True)
class Argument:
    """What a program says of one of its arguments: how it is spread, and whether its memory is given away."""

    sharding: NamedSharding | None
    donated: bool


def slice_mesh(topology: str, **axes: int) -> AbstractMesh:
    """The mesh of a whole slice, ``slice_mesh("v5p:16x20x28", data=320, model=28)``; by default one axis, ``data``.

    Programs are written for it as for any mesh. It knows its chip, so that kernels in a ``shard_map`` over it are
    lowered for that chip. Its axes are of type ``Auto``.

    Raises :class:`~tpu_kernels.xray.errors.UnknownTargetError` for a slice that does not exist,
    :class:`~tpu_kernels.xray.errors.ProgramError` for axes that do not have as many devices as it.
    """
    place = slices.named(topology)
    wanted = axes or {"data": place.devices}
    require_devices(math.prod(wanted.values()), place)
    return AbstractMesh(
        tuple(wanted.values()),
        tuple(wanted),
        axis_types=(AxisType.Auto,) * len(wanted),
        abstract_device=abstract_device(place.target),
    )


def require_devices(count: int, place: slices.Slice) -> None:
    """Raise :class:`ProgramError` unless the slice has ``count`` devices."""
    if count != place.devices:
        chips, each = place.chips, place.target.devices_per_chip
        raise ProgramError(
            phrase("xray.other_devices", got=count, topology=place.name, devices=place.devices, chips=chips, each=each)
        )


def abstract_device(target: Target) -> AbstractDevice:
    """A device that is not here, by the name that jax has for it."""
    platform = {"platform": "tpu"} if "platform" in inspect.signature(AbstractDevice).parameters else {}  # jax >= 0.10
    return AbstractDevice(device_kind=target.device_kind, num_cores=target.cores, **platform)


def surroundings(target: Target) -> AbstractMesh:
    """The mesh that the caller has around the call, of devices of ``target``; without axes when there is none."""
    around = jax.sharding.get_abstract_mesh()
    return AbstractMesh(
        around.axis_sizes, around.axis_names, axis_types=around.axis_types, abstract_device=abstract_device(target)
    )


def mesh_of(specs: Sequence[jax.ShapeDtypeStruct], jaxpr: Jaxpr) -> AbstractMesh | None:
    """The mesh that a program is for, by its arguments and its text; ``None`` for a program for one device.

    Raises :class:`ProgramError` when there is more than one.
    """
    placed = [spec.sharding.mesh for spec in specs if isinstance(spec.sharding, NamedSharding)]
    around = jax.sharding.get_abstract_mesh()
    found: dict[Axes, AbstractMesh] = {}
    for mesh in (*placed, *_meshes(jaxpr), *([around] if around.axis_names else [])):
        found.setdefault(axes_of(mesh), mesh.abstract_mesh)
    if len(found) > 1:
        written = ["x".join(map(str, axes.sizes)) + f" ({', '.join(axes.names)})" for axes in found]
        raise ProgramError(phrase("xray.several_meshes", meshes="; ".join(written)))
    return next(iter(found.values()), None)


def axes_of(mesh: Any) -> Axes:
    """Of an abstract mesh, or of one with devices."""
    return Axes(tuple(mesh.axis_names), tuple(mesh.axis_sizes), tuple(kind.name for kind in mesh.axis_types))


def on_a_mesh(sharding: Any) -> NamedSharding | None:
    """A sharding with its mesh's devices taken away; ``None`` for one that is over no mesh."""
    named = isinstance(sharding, NamedSharding)
    return NamedSharding(sharding.mesh.abstract_mesh, sharding.spec) if named else None


def arguments(jaxpr: Jaxpr) -> list[Argument]:
    """What the program itself says of its arguments: the first ``jit``, ``shard_map`` or constraint that takes one."""
    known = {variable: Argument(None, donated=False) for variable in jaxpr.invars}
    origins = {variable: variable for variable in jaxpr.invars}
    for equation in jaxpr.eqns:
        for atom, said in zip(equation.invars, _said(equation), strict=False):
            origin = None if isinstance(atom, Literal) else origins.get(atom)
            if origin is not None:
                before = known[origin]
                known[origin] = Argument(before.sharding or said.sharding, before.donated or said.donated)
        if equation.primitive.name == "device_put":  # its results are its arguments, elsewhere
            same = zip(equation.outvars, equation.invars, strict=True)
            origins.update(
                {out: origins[atom] for out, atom in same if not isinstance(atom, Literal) and atom in origins}
            )
    return [known[variable] for variable in jaxpr.invars]


def mapped_over(equation: JaxprEqn) -> int:
    """How many devices each do for themselves what a ``shard_map`` says."""
    params = equation.params
    names = params["newly_manual_axes"] if "newly_manual_axes" in params else params["manual_axes"]  # jax < 0.10
    return math.prod(params["mesh"].shape[name] for name in names)


def spread(
    specs: Sequence[jax.ShapeDtypeStruct], said: Sequence[Argument], mesh: AbstractMesh | None
) -> list[jax.ShapeDtypeStruct]:
    """The arguments with their shardings: the caller's, else what the program says, else whole on every device."""
    if mesh is None:
        return list(specs)
    whole = NamedSharding(mesh, PartitionSpec())
    return [
        jax.ShapeDtypeStruct(
            spec.shape, spec.dtype, sharding=spec.sharding or one.sharding or whole, weak_type=spec.weak_type
        )
        for spec, one in zip(specs, said, strict=True)
    ]


def _said(equation: JaxprEqn) -> Iterator[Argument]:
    """What an equation says of each of its operands."""
    name, params = equation.primitive.name, equation.params
    if name in JITTED:
        inner = arguments(params["jaxpr"].jaxpr)
        for asked, gone, one in zip(params["in_shardings"], params["donated_invars"], inner, strict=True):
            yield Argument(on_a_mesh(asked) or one.sharding, gone or one.donated)
    elif name == "shard_map":
        mesh = params["mesh"].abstract_mesh
        for spec in params["in_specs"]:
            yield Argument(NamedSharding(mesh, spec), donated=False)
    elif name == "device_put":
        for asked in params["devices"]:
            yield Argument(on_a_mesh(asked), donated=False)
    elif name == "sharding_constraint":
        yield Argument(on_a_mesh(params["sharding"]), donated=False)


def _meshes(jaxpr: Jaxpr) -> Iterator[Any]:
    """Every mesh that the text of a program names."""
    for equation in jaxpr.eqns:
        params = equation.params
        if equation.primitive.name == "shard_map":
            yield params["mesh"]
        for key in ("in_shardings", "out_shardings", "devices"):
            given = params.get(key)
            yield from (one.mesh for one in given or () if isinstance(one, NamedSharding))
        if isinstance(params.get("sharding"), NamedSharding):
            yield params["sharding"].mesh
        if equation.primitive.name not in {"shard_map", "pallas_call"}:  # in there, the program is one device's
            for body in (body for value in params.values() for body in jaxprs(value)):
                yield from _meshes(body.jaxpr)
