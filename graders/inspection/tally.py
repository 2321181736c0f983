"""What is counted in a program's StableHLO: operations, kernels, products, exchanges, constants.

Only what the results depend on counts: an operation whose results nobody uses is as good as not written. A function is
counted for each call of it, the body of a loop once, except in FLOP.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from jax.extend.mlir import ir
from jax.extend.mlir.dialects import stablehlo

from graders.inspection import kernel
from graders.inspection.loops import trips

COLLECTIVES = frozenset(
    {"all_gather", "all_reduce", "all_to_all", "collective_broadcast", "collective_permute", "reduce_scatter"}
)
MOST_CALLS_DEEP = 64


@dataclass
class Tally:
    """``flops`` are those of products of matrices; ``None`` when how often one is carried out depends on data.

    ``exchanges`` counts pairs of a collective and the bytes that a device gives to it; ``constant`` is the size in
    bytes of the largest constant.
    """

    operations: Counter[str] = field(default_factory=Counter)
    kernels: Counter[str] = field(default_factory=Counter)
    exchanges: Counter[tuple[str, int]] = field(default_factory=Counter)
    flops: int | None = 0
    constant: int = 0

    def add(self, other: "Tally", times: int | None = 1) -> None:
        """Count ``other`` too; ``times`` is how often its products are carried out."""
        self.operations.update(other.operations)
        self.kernels.update(other.kernels)
        self.exchanges.update(other.exchanges)
        self.constant = max(self.constant, other.constant)
        if other.flops != 0:
            known = self.flops is not None and other.flops is not None and times is not None
            self.flops = (self.flops or 0) + (other.flops or 0) * (times or 0) if known else None


class Counting:
    """Counts one module. Raises ``ValueError`` for one that is not a program."""

    def __init__(self, module: Any) -> None:
        self._module = module  # what is in it goes when it goes
        self._functions = functions(module)
        self._known: dict[str, Tally] = {}

    def of(self, name: str, depth: int = 0) -> Tally:
        """Everything that is counted in a function, in those that it calls too."""
        if name not in self._functions or depth > MOST_CALLS_DEEP:
            raise ValueError(f"a call of {name[:80]!r}: no such function, or calls nested too deep")
        if name not in self._known:
            self._known[name] = self._block(self._functions[name].regions[0].blocks[0], depth)
        return self._known[name]

    def _block(self, block: Any, depth: int) -> Tally:
        found = Tally()
        for operation in live(block):
            kind = operation.name.partition(".")[2] or operation.name
            found.operations[kind] += 1
            times: int | None = 1
            if operation.name == "stablehlo.while":
                times = trips(operation)
            elif operation.name in {"stablehlo.case", "stablehlo.if"}:
                times = None
            for region in operation.regions:
                for inside in region.blocks:
                    found.add(self._block(inside, depth), times)
            found.add(self._own(operation, kind, depth))
        return found

    def _own(self, operation: Any, kind: str, depth: int) -> Tally:
        """What an operation is by itself, the regions in it apart."""
        if operation.name in {"func.call", "call"}:
            return self.of(ir.FlatSymbolRefAttr(operation.attributes["callee"]).value, depth + 1)
        found = Tally()
        if kind == "constant":
            found.constant = constant_bytes(operation)
        elif kind in COLLECTIVES:
            found.exchanges[kind, sum(array_bytes(one.type) for one in operation.operands)] += 1
        elif kind == "dot_general":
            found.flops = _dot(operation)
        elif kind == "convolution":
            found.flops = _convolution(operation)
        elif kernel.is_kernel(operation):
            one = kernel.read(operation)
            found.kernels[one.name] += 1
            found.flops = one.flops
        return found


def functions(module: Any) -> dict[str, Any]:
    """The functions of a module by name."""
    found = [one.operation for one in module.body.operations if one.operation.name == "func.func"]
    return {ir.StringAttr(one.attributes["sym_name"]).value: one for one in found}


def live(block: Any) -> list[Any]:
    """The operations of a block that its results depend on, in order, the one that returns them apart."""
    *rest, last = [one.operation for one in block.operations]
    needed = set(last.operands)
    found = []
    for operation in reversed(rest):
        if any(result in needed for result in operation.results) or not len(operation.results):
            found.append(operation)
            needed.update(used(operation))
    return found[::-1]


def used(operation: Any) -> Iterator[Any]:
    """The values that an operation reads, also from inside its regions."""
    yield from operation.operands
    for region in operation.regions:
        for block in region.blocks:
            for inside in block.operations:
                yield from used(inside.operation)


def array_bytes(kind: Any) -> int:
    """Bytes of an array of this type; an element takes whole bytes."""
    if not isinstance(kind, ir.RankedTensorType):
        return 0  # a token
    return math.prod(kind.shape) * _element_bytes(str(kind.element_type))


def constant_bytes(operation: Any) -> int:
    """Bytes that a constant takes in the program: a single number, however often it is repeated, takes its own."""
    value = operation.attributes["value"]
    kind = operation.results[0].type
    if isinstance(value, ir.DenseElementsAttr) and value.is_splat:
        return _element_bytes(str(kind.element_type))
    return array_bytes(kind)


def _element_bytes(name: str) -> int:
    bits = re.search(r"\d+", name)
    size = -(-int(bits[0]) // 8) if bits else 1
    return 2 * size if name.startswith("complex") else size


def _dot(operation: Any) -> int:
    numbers = stablehlo.DotDimensionNumbers(operation.attributes["dot_dimension_numbers"])
    left = operation.operands[0].type.shape
    terms = math.prod(left[axis] for axis in numbers.lhs_contracting_dimensions)
    return int(2 * terms * math.prod(operation.results[0].type.shape))


def _convolution(operation: Any) -> int:
    """As the product that it is: for every element of the result, every weight that reaches it."""
    numbers = stablehlo.ConvDimensionNumbers(operation.attributes["dimension_numbers"])
    weights = operation.operands[1].type.shape
    terms = math.prod(weights) // max(1, weights[numbers.kernel_output_feature_dimension])
    return int(2 * terms * math.prod(operation.results[0].type.shape))
