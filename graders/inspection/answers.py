"""The questions that a judge asks about a program, and their answers in plain data.

A program is what ``jax.export`` writes, as an array of bytes. Whatever is wrong with one is an exception.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jax import export
from jax.extend.mlir import ir
from jax.interpreters import mlir

from graders.inspection.dtypes import UnknownOperationError
from graders.inspection.execution import carried_out
from graders.inspection.tally import Counting

Array = np.ndarray[Any, Any]


def inspect(code: Array) -> dict[str, Any]:
    """What can be counted in a program: see :class:`graders.program.Program`."""
    exported = _read(code)
    with mlir.make_ir_context():
        found = Counting(ir.Module.parse(exported.mlir_module())).of("main")
    return {
        "platforms": list(exported.platforms),
        "devices": exported.nr_devices,
        "arguments": [[list(one.shape), one.dtype.name] for one in exported.in_avals],
        "results": [[list(one.shape), one.dtype.name] for one in exported.out_avals],
        "operations": dict(found.operations),
        "kernels": dict(found.kernels),
        "collectives": [[kind, size, count] for (kind, size), count in found.exchanges.items()],
        "flops": found.flops,
        "constant": found.constant,
    }


def call(code: Array, arguments: Sequence[Array], mesh: Mapping[str, int]) -> dict[str, Any]:
    """``values``: the results for these arguments; or ``unknown``: what in it cannot be carried out here."""
    try:
        return {"values": carried_out(_read(code), arguments, mesh)}
    except UnknownOperationError as error:
        return {"unknown": str(error)}


def xray(code: Array, chip: str, topology: str | None, mesh: Mapping[str, int]) -> dict[str, Any]:
    """``report``: what the TPU's compiler says, as JSON-able data; else ``refused`` or ``missing`` and why."""
    import jax
    from jax.sharding import AbstractMesh, AxisType, use_abstract_mesh

    from tpu_kernels.xray import xray as examined
    from tpu_kernels.xray.errors import CompileError, MissingCompilerError, ProgramError

    exported = _read(code)
    around = AbstractMesh(tuple(mesh.values()), tuple(mesh), axis_types=(AxisType.Auto,) * len(mesh))
    spread: Sequence[Any] = exported.in_shardings_jax(around) if mesh else [None] * len(exported.in_avals)
    specs = [
        jax.ShapeDtypeStruct(one.shape, one.dtype, sharding=how)
        for one, how in zip(exported.in_avals, spread, strict=True)
    ]
    try:
        with use_abstract_mesh(around):
            report = examined(exported.call, *specs, chip=chip, topology=topology, cache=False)
    except MissingCompilerError as error:
        return {"missing": str(error)}
    except (CompileError, ProgramError) as error:
        return {"refused": str(error)}
    # Its products are inside the exported program, where the X-ray does not look.
    return {"report": {**report.to_dict(), "flops": None, "of_peak": None}}


def _read(code: Array) -> export.Exported:
    return export.deserialize(bytearray(code.tobytes()))
