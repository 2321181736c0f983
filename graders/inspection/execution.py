"""An exported program carried out on the CPU, whatever it was exported for.

A program for a CPU is compiled. One for a TPU is compiled for the CPU too, as far as it is XLA's; its Pallas kernels
are carried out from their own code, between compiled parts. So what was counted is what gives these results.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import export
from jax.extend.mlir import ir, passmanager
from jax.extend.mlir.dialects import func, stablehlo
from jax.interpreters import mlir
from jax.sharding import Mesh

from graders.inspection import kernel, machine
from graders.inspection.dtypes import UnknownOperationError, dtype, shape
from graders.inspection.tally import functions

Array = np.ndarray[Any, Any]


def carried_out(exported: export.Exported, arguments: Sequence[Array], axes: Mapping[str, int]) -> list[Array]:
    """The results of a program, flat. ``axes`` are names and sizes of those of its mesh, none for one device.

    Raises :class:`UnknownOperationError` for a program that cannot be carried out here.
    """
    if "cpu" in exported.platforms:
        return _compiled(exported, arguments, axes)
    if exported.nr_devices > 1:
        raise UnknownOperationError(f"a program for {exported.nr_devices} TPU devices")
    return _Parts(exported).function("main", list(arguments))


def _compiled(
    exported: export.Exported, arguments: Sequence[Array], axes: Mapping[str, int] | None = None
) -> list[Array]:
    devices = jax.devices("cpu")
    if len(devices) < exported.nr_devices:
        raise UnknownOperationError(f"a program for {exported.nr_devices} devices where there are {len(devices)}")
    with jax.default_device(devices[0]):
        placed: Sequence[Any] = arguments
        if axes:
            mesh = Mesh(np.array(devices[: exported.nr_devices]).reshape(tuple(axes.values())), tuple(axes))
            shardings = exported.in_shardings_jax(mesh)
            placed = [jax.device_put(one, how) for one, how in zip(arguments, shardings, strict=True)]
        return [np.asarray(one) for one in jax.tree.leaves(jax.jit(exported.call)(*placed))]


class _Parts:
    """A program cut at its kernels: each part is compiled, each kernel carried out."""

    def __init__(self, exported: export.Exported) -> None:
        self._text = exported.mlir_module()

    def function(self, name: str, arguments: list[Array]) -> list[Array]:
        """The results of one function of the program for these arguments."""
        with mlir.make_ir_context():
            module = ir.Module.parse(self._text)
            operations = _operations(functions(module)[name])
            cuts = [place for place, one in enumerate(operations) if _holds_kernel(module, one)]
            known: dict[int, list[Array]] = {}
            for place in cuts:
                operation = operations[place]
                given = self._part(name, place, arguments, known)
                if kernel.is_kernel(operation):
                    known[place] = _kernel_results(operation, given)
                elif operation.name in {"func.call", "call"}:
                    callee = ir.FlatSymbolRefAttr(operation.attributes["callee"]).value
                    known[place] = self.function(callee, given)
                else:
                    raise UnknownOperationError(f"a kernel inside {operation.name}")
            return self._part(name, len(operations) - 1, arguments, known)

    def _part(self, name: str, place: int, arguments: Sequence[Array], known: dict[int, list[Array]]) -> list[Array]:
        """The operands of the operation at ``place``, from the arguments and from what is known of those before it."""
        with mlir.make_ir_context(), ir.Location.unknown():
            module = ir.Module.parse(self._text)
            found = functions(module)
            function = found[name]
            block = function.regions[0].blocks[0]
            operations = _operations(function)
            given = list(arguments)
            for number, results in known.items():
                for result, value in zip(operations[number].results, results, strict=True):
                    result.replace_all_uses_with(block.add_argument(result.type, ir.Location.unknown()))
                    given.append(value)
            wanted = list(operations[place].operands)
            if not wanted:
                return []
            with ir.InsertionPoint(operations[place]):
                func.ReturnOp(wanted)
            gone = {*range(place, len(operations)), *known}
            for number in sorted(gone, reverse=True):
                operations[number].erase()
            _make_main(found, name, [one.type for one in wanted])
            passmanager.PassManager.parse("builtin.module(symbol-dce)").run(module.operation)
            specs = [jax.ShapeDtypeStruct(shape(one.type), dtype(one.type)) for one in wanted]
            return _compiled(_runnable(str(module), given, specs), given)


def _make_main(found: dict[str, Any], name: str, results: Sequence[Any]) -> None:
    """Make a function what the program begins with, with the arguments that its block has now and these results."""
    function = found[name]
    for other, one in found.items():
        if other != name:
            one.attributes["sym_visibility"] = ir.StringAttr.get("private")
    if name != "main":
        found["main"].erase()
        function.attributes["sym_name"] = ir.StringAttr.get("main")
    function.attributes["sym_visibility"] = ir.StringAttr.get("public")
    for attributes in ("arg_attrs", "res_attrs"):
        if attributes in function.attributes:
            del function.attributes[attributes]
    taken = [one.type for one in function.regions[0].blocks[0].arguments]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(taken, list(results)))


def _runnable(text: str, given: Sequence[Array], results: Sequence[jax.ShapeDtypeStruct]) -> export.Exported:
    """A module, given as text, as a program for the CPU."""
    # One with these arguments and results, made the usual way, lends the new module all that is around it.
    stand_in = jax.jit(lambda *_: [jnp.zeros(one.shape, one.dtype) for one in results], keep_unused=True)
    exported = export.export(stand_in, platforms=["cpu"])(*given)
    artifact = stablehlo.serialize_portable_artifact_str(text, stablehlo.get_current_version())
    return dataclasses.replace(exported, mlir_module_serialized=artifact)


def _operations(function: Any) -> list[Any]:
    return [one.operation for one in function.regions[0].blocks[0].operations]


def _holds_kernel(module: Any, operation: Any) -> bool:
    """Whether an operation is a kernel, or has one inside, or calls a function that has."""
    if kernel.is_kernel(operation):
        return True
    bodies = list(operation.regions)
    if operation.name in {"func.call", "call"}:
        callee = functions(module)[ir.FlatSymbolRefAttr(operation.attributes["callee"]).value]
        bodies = list(callee.regions)
    return any(
        _holds_kernel(module, one.operation) for body in bodies for block in body.blocks for one in block.operations
    )


def _kernel_results(operation: Any, given: Sequence[Array]) -> list[Array]:
    results = [np.full(shape(one.type), 0, dtype(one.type)) for one in operation.results]
    aliased = "output_operand_aliases" in operation.attributes
    for pair in operation.attributes["output_operand_aliases"] if aliased else ():
        alias = stablehlo.OutputOperandAlias(pair)
        number = alias.output_tuple_indices[0] if alias.output_tuple_indices else 0
        results[number][...] = given[alias.operand_index]
    machine.run(kernel.read(operation), [one.copy() for one in given], results)
    return results
