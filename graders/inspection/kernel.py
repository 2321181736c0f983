"""A Pallas kernel for a TPU, as it stands in an exported program: a call whose body is a module of Mosaic's own."""

import base64
import json
import math
from dataclasses import dataclass
from typing import Any

from jax._src.lib import tpu  # type: ignore[attr-defined] # no public name; the dialect's Python bindings come with jaxlib
from jax.extend.mlir import ir, passmanager
from jax.interpreters import mlir

from graders.inspection.dtypes import integers

TARGET = "tpu_custom_call"


@dataclass(frozen=True)
class Kernel:
    """``function`` is its code, ``functions`` are by name those that say which block each step has.

    ``flops`` counts its products of matrices in one run; ``None`` when how many there are depends on data, or on the
    step. ``module`` owns all of these.
    """

    name: str
    module: Any
    function: Any
    functions: dict[str, Any]
    grid: tuple[int, ...]

    @property
    def flops(self) -> int | None:
        once = _flops(self.function.regions[0].blocks[0])
        return None if once is None else once * math.prod(self.grid)


def is_kernel(operation: Any) -> bool:
    """Whether an operation calls a kernel for a TPU."""
    target = operation.name == "stablehlo.custom_call" and operation.attributes["call_target_name"]
    return bool(target) and ir.StringAttr(target).value == TARGET


def read(operation: Any) -> Kernel:
    """The kernel that an operation calls. Raises ``ValueError``, or what MLIR raises, when it is none."""
    given = json.loads(ir.StringAttr(operation.attributes["backend_config"]).value)
    module = _parsed(base64.b64decode(given["custom_call_config"]["body"]))
    functions = {
        ir.StringAttr(one.operation.attributes["sym_name"]).value: one.operation
        for one in module.body.operations
        if one.operation.name == "func.func"
    }
    main = next((one for one in functions.values() if "scalar_prefetch" in one.attributes), None)
    if main is None:
        raise ValueError("a kernel without code")
    grid = tuple(integers(main.attributes["iteration_bounds"])) if "iteration_bounds" in main.attributes else ()
    if any(size < 0 for size in grid):
        raise ValueError("a kernel whose grid depends on data")
    name = operation.attributes["kernel_name"] if "kernel_name" in operation.attributes else main.attributes["sym_name"]
    return Kernel(ir.StringAttr(name).value, module, main, functions, grid)


def _parsed(body: bytes) -> Any:
    with mlir.make_ir_context() as context:
        tpu.register_dialect(context)
        context.allow_unregistered_dialects = True  # its stable form is in a dialect that nobody registers
        module = ir.Module.parse(body)
        passmanager.PassManager.parse("builtin.module(mosaic-serde{serialize=false})").run(module.operation)
        context.allow_unregistered_dialects = False
        return module


def _flops(block: Any) -> int | None:
    total = 0
    for view in block.operations:
        operation = view.operation
        inside = [_flops(one) for region in operation.regions for one in region.blocks]
        if None in inside:
            return None
        repeated = _trips(operation) if any(inside) else 1
        if repeated is None:
            return None
        total += repeated * sum(filter(None, inside))
        if operation.name == "tpu.matmul":
            total += _product(operation)
    return total


def _trips(operation: Any) -> int | None:
    """How often what is inside is carried out; ``None``: it depends."""
    if operation.name == "tpu.region":
        return 1
    if operation.name != "scf.for":
        return None
    ends = [_constant(one) for one in list(operation.operands)[:3]]
    first, last, step = ends
    return None if first is None or last is None or not step else max(0, -(-(last - first) // step))


def _constant(value: Any) -> int | None:
    owner = getattr(value.owner, "operation", value.owner)
    found = owner.attributes["value"] if getattr(owner, "name", "") == "arith.constant" else None
    return ir.IntegerAttr(found).value if isinstance(found, ir.IntegerAttr) else None


def _product(operation: Any) -> int:
    left = operation.operands[0].type.shape
    out = operation.results[0].type.shape
    numbers = dimension_numbers(operation)
    return int(2 * math.prod(out) * math.prod(left[axis] for axis in numbers[0]))


def dimension_numbers(operation: Any) -> list[list[int]]:
    """Of a product in a kernel: axes contracted left and right, kept left and right, their order, batched both."""
    if "dimension_numbers" not in operation.attributes:
        return [[1], [0], [0], [1], [0, 0, 1, 1], [], []]
    written = str(operation.attributes["dimension_numbers"])
    found: list[list[int]] = json.loads(f"[{written[written.index('<') + 1 : written.rindex('>')]}]")
    return found
