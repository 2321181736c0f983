"""A kernel carried out on the CPU: memory, copies, branches and the grid, step by step, as the TPU's core would.

Copies are made when they are asked for, and nothing waits: for a kernel on one core that waits for its copies before it
reads, the results are the same. What a block holds outside its array, and an output before it is written, is NaN.
"""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from jax.extend.mlir import ir

from graders.inspection.arithmetic import computed
from graders.inspection.dtypes import UnknownOperationError, dtype, integers, shape
from graders.inspection.kernel import Kernel

Array = np.ndarray[Any, Any]

ENDS = frozenset({"func.return", "scf.yield", "tpu.yield"})
NOTHING = frozenset(
    {
        "cf.assert",
        "memref.dealloc",
        "tpu.delay",
        "tpu.log",
        "tpu.sem_signal",
        "tpu.sem_wait",
        "tpu.trace_start",
        "tpu.trace_stop",
        "tpu.wait_dma",
        "tpu.wait_dma2",
    }
)
SAME = frozenset({"tpu.erase_memref_layout", "tpu.reinterpret_cast", "memref.cast"})


def run(kernel: Kernel, operands: Sequence[Array], results: Sequence[Array]) -> None:
    """Carry out ``kernel`` on arrays in HBM: reads ``operands``, writes into ``results``.

    Raises :class:`UnknownOperationError` for an operation that is not known here.
    """
    with np.errstate(all="ignore"):  # NaN, infinities and overflow are values like any other on a TPU
        _Grid(kernel, operands, results).run()


class _Grid:
    """The steps of a grid, in order, and the block of each array that each of them sees."""

    def __init__(self, kernel: Kernel, operands: Sequence[Array], results: Sequence[Array]) -> None:
        self._kernel = kernel
        main = kernel.function
        block = main.regions[0].blocks[0]
        given = list(block.arguments)[len(kernel.grid) :]
        scratch = ir.IntegerAttr(main.attributes["scratch_operands"]).value
        prefetched = ir.IntegerAttr(main.attributes["scalar_prefetch"]).value
        arrays = [*operands, *results]
        if len(given) != len(arrays) + scratch:
            raise ValueError(f"a kernel of {len(given) - scratch} arrays called with {len(arrays)}")
        self._scalars = list(arrays[:prefetched])
        self._inputs = len(operands) - prefetched
        self._arrays = arrays[prefetched:]
        self._types = [one.type for one in given[prefetched : len(arrays)]]
        self._scratch = [_fresh(one.type) for one in given[len(arrays) :]]
        whole: list[Any] = [None] * len(self._arrays)
        self._windows = list(main.attributes["window_params"]) if "window_params" in main.attributes else whole
        self._held: list[tuple[tuple[slice, ...], Array] | None] = [None] * len(self._arrays)

    def run(self) -> None:
        block = self._kernel.function.regions[0].blocks[0]
        for step in itertools.product(*map(range, self._kernel.grid)):
            indices = [np.asarray(one, np.int32) for one in step]
            machine = _Machine(self._kernel)
            refs = [self._block(number, indices) for number in range(len(self._arrays))]
            machine.run(block, [*indices, *self._scalars, *refs, *self._scratch])
        for number in range(self._inputs, len(self._arrays)):
            self._write_back(number)

    def _block(self, number: int, indices: list[Array]) -> Array:
        """What this step sees of an array: all of it, or a copy of the block that its window is at."""
        array, window = self._arrays[number], self._windows[number]
        if window is None or "transform_indices" not in window:
            return array.reshape(shape(self._types[number])) if window is None else array
        if "window_kind" in window:
            raise UnknownOperationError(str(window["window_kind"]))
        sizes = integers(window["window_bounds"])
        function = self._kernel.functions[ir.FlatSymbolRefAttr(window["transform_indices"]).value]
        at = _Machine(self._kernel).run(function.regions[0].blocks[0], [*indices, *self._scalars])
        place = tuple(slice(int(one) * size, (int(one) + 1) * size) for one, size in zip(at, sizes, strict=True))
        held = self._held[number]
        if held is None or held[0] != place:
            self._write_back(number)
            self._held[number] = held = (place, _garbage(sizes, array.dtype))
        if number < self._inputs:
            inside = array[place]
            held[1][tuple(map(slice, inside.shape))] = inside
        return held[1].reshape(shape(self._types[number]))

    def _write_back(self, number: int) -> None:
        held = self._held[number]
        if held is not None and number >= self._inputs:
            there = self._arrays[number][held[0]]
            there[...] = held[1][tuple(map(slice, there.shape))]


class _Machine:
    """One core, during one step."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._values: dict[Any, Any] = {}

    def run(self, block: Any, arguments: Sequence[Any]) -> list[Any]:
        """Carry out a block; the values that it ends with."""
        self._values.update(zip(block.arguments, arguments, strict=True))
        for view in block.operations:
            operation = view.operation
            given = [self._values[one] for one in operation.operands]
            if operation.name in ENDS or operation.name == "scf.condition":
                return given
            found = self._carried_out(operation, view, given)
            self._values.update(zip(operation.results, found, strict=True))
        return []

    def _carried_out(self, operation: Any, view: Any, given: list[Any]) -> Sequence[Any]:
        name = operation.name
        if name in NOTHING:
            return ()
        if name in SAME:
            return given[:1]
        if name.startswith("scf.") or name == "tpu.region":
            return self._branched(operation, given)
        if name in _MEMORY:
            return _MEMORY[name](view, self._values)
        if name in {"memref.alloca", "tpu.sem_alloc"}:
            return [_fresh(operation.results[0].type)]
        if name == "tpu.iteration_bound":
            return [np.asarray(self._kernel.grid[ir.IntegerAttr(operation.attributes["dim"]).value], np.int32)]
        result = computed(operation, given)
        if result is None:
            raise UnknownOperationError(name)
        return [result]

    def _branched(self, operation: Any, given: list[Any]) -> Sequence[Any]:
        blocks = [region.blocks[0] for region in operation.regions if len(region.blocks)]
        match operation.name:
            case "tpu.region":
                return self.run(blocks[0], [])
            case "scf.if":
                taken = 0 if given[0] else 1
                return self.run(blocks[taken], []) if taken < len(blocks) else ()
            case "scf.for":
                first, last, step, *carried = given
                for number in range(int(first), int(last), int(step)):
                    carried = self.run(blocks[0], [np.asarray(number, first.dtype), *carried])
                return carried
            case "scf.while":
                while True:
                    goes_on, *given = self.run(blocks[0], given)
                    if not goes_on:
                        return given
                    given = self.run(blocks[1], given)
        raise UnknownOperationError(operation.name)


def _fresh(kind: Any) -> Array:
    """Memory that nobody has written; a semaphore is one number that nobody reads."""
    try:
        return _garbage(shape(kind), dtype(kind))
    except UnknownOperationError:
        return np.zeros(shape(kind), np.int32)


def _garbage(sizes: Sequence[int], kind: "np.dtype[Any]") -> Array:
    if kind.kind in "biu":
        return np.full(tuple(sizes), 1 if kind.kind == "b" else np.iinfo(kind).max, kind)
    return np.full(tuple(sizes), np.nan, kind)


def _window(array: Array, at: Sequence[Any], sizes: Sequence[int], strides: Sequence[int] = ()) -> Array:
    """The part of an array that begins at ``at``; a vector may have fewer dimensions than the memory it is from."""
    sizes = [1] * (array.ndim - len(sizes)) + list(sizes)
    steps = list(strides) or [1] * array.ndim
    cut = []
    for first, size, step, side in zip(map(int, at), sizes, steps, array.shape, strict=True):
        if not 0 <= first <= side - (size - 1) * step - 1 and size:
            raise ValueError(f"a kernel reads or writes outside memory: from {first}, {size} of {side}")
        cut.append(slice(first, first + size * step, step))
    return array[tuple(cut)]


def _load(view: Any, values: dict[Any, Any]) -> Sequence[Any]:
    kind = view.operation.results[0].type
    base, at = values[view.base], [values[one] for one in view.indices]
    strides = integers(view.operation.attributes["strides"]) if "strides" in view.operation.attributes else ()
    return [_window(base, at, shape(kind), strides).reshape(shape(kind)).copy()]


def _store(view: Any, values: dict[Any, Any]) -> Sequence[Any]:
    base, at = values[view.base], [values[one] for one in view.indices]
    value = values[view.valueToStore]
    strides = integers(view.operation.attributes["strides"]) if "strides" in view.operation.attributes else ()
    there = _window(base, at, value.shape, strides)
    value = value.reshape(there.shape)
    mask = getattr(view, "mask", None)
    if "add" in view.operation.attributes and ir.BoolAttr(view.operation.attributes["add"]).value:
        value = there + value
    there[...] = value if mask is None else np.where(values[mask].reshape(there.shape), value, there)
    return ()


def _load_scalar(view: Any, values: dict[Any, Any]) -> Sequence[Any]:
    return [values[view.memref][tuple(int(values[one]) for one in view.indices)].copy()]


def _store_scalar(view: Any, values: dict[Any, Any]) -> Sequence[Any]:
    values[view.memref][tuple(int(values[one]) for one in view.indices)] = values[view.operation.operands[0]]
    return ()


def _slice(view: Any, values: dict[Any, Any]) -> Sequence[Any]:
    if len(view.dynamic_sizes):
        raise UnknownOperationError("tpu.memref_slice of a size that depends on data")
    at = [values[one] for one in view.base_idx]
    return [_window(values[view.mem_ref], at, shape(view.operation.results[0].type))]


def _reshape(view: Any, values: dict[Any, Any]) -> Sequence[Any]:
    given = values[view.operation.operands[0]]
    found = given.reshape(shape(view.operation.results[0].type))
    if not np.shares_memory(found, given):
        raise UnknownOperationError(f"{view.operation.name} of memory that is not in one piece")
    return [found]


def _copy(view: Any, values: dict[Any, Any]) -> Sequence[Any]:
    if view.device_id is not None:
        raise UnknownOperationError("tpu.enqueue_dma to another device")
    values[view.target][...] = values[view.source]
    return ()


_MEMORY = {
    "memref.load": _load_scalar,
    "memref.store": _store_scalar,
    "tpu.enqueue_dma": _copy,
    "tpu.memref_reshape": _reshape,
    "tpu.memref_slice": _slice,
    "tpu.memref_squeeze": _reshape,
    "tpu.strided_load": _load,
    "tpu.strided_store": _store,
    "tpu.vector_load": _load,
    "tpu.vector_store": _store,
    "vector.load": _load,
    "vector.store": _store,
}
