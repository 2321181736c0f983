"""What the operations of a kernel compute that neither touch memory nor branch, in numpy."""

from collections.abc import Callable
from typing import Any

import numpy as np
from jax.extend.mlir import ir

from graders.inspection.dtypes import dtype, element, integers, shape
from graders.inspection.kernel import dimension_numbers

Array = np.ndarray[Any, Any]


def _unsigned(value: Array) -> Array:
    return value.view(np.dtype(f"uint{8 * value.dtype.itemsize}")) if value.dtype.kind == "i" else value


def _toward_zero(a: Array, b: Array) -> Array:
    quotient = np.abs(a) // np.abs(b)
    return np.where((a < 0) == (b < 0), quotient, -quotient)


def _without_nan(choose: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda a, b: np.where(np.isnan(a), b, np.where(np.isnan(b), a, choose(a, b)))


# Each gets arrays of the operands' types; the caller gives the result its own.
_PLAIN: dict[str, Callable[..., Any]] = {
    "arith.addf": np.add,
    "arith.addi": np.add,
    "arith.andi": np.bitwise_and,
    "arith.divf": np.divide,
    "arith.divsi": _toward_zero,
    "arith.divui": lambda a, b: _unsigned(a) // _unsigned(b),
    "arith.maximumf": np.maximum,
    "arith.maxnumf": _without_nan(np.maximum),
    "arith.maxsi": np.maximum,
    "arith.maxui": lambda a, b: np.maximum(_unsigned(a), _unsigned(b)),
    "arith.minimumf": np.minimum,
    "arith.minnumf": _without_nan(np.minimum),
    "arith.minsi": np.minimum,
    "arith.minui": lambda a, b: np.minimum(_unsigned(a), _unsigned(b)),
    "arith.mulf": np.multiply,
    "arith.muli": np.multiply,
    "arith.negf": np.negative,
    "arith.ori": np.bitwise_or,
    "arith.remf": np.fmod,
    "arith.remsi": np.fmod,
    "arith.remui": lambda a, b: _unsigned(a) % _unsigned(b),
    "arith.select": np.where,
    "arith.shli": np.left_shift,
    "arith.shrsi": np.right_shift,
    "arith.shrui": lambda a, b: _unsigned(a) >> _unsigned(b),
    "arith.subf": np.subtract,
    "arith.subi": np.subtract,
    "arith.xori": np.bitwise_xor,
    "math.absf": np.abs,
    "math.absi": np.abs,
    "math.ceil": np.ceil,
    "math.cos": np.cos,
    "math.exp": np.exp,
    "math.exp2": np.exp2,
    "math.floor": np.floor,
    "math.log": np.log,
    "math.log1p": np.log1p,
    "math.powf": np.power,
    "math.roundeven": np.round,
    "math.rsqrt": lambda a: 1 / np.sqrt(a),
    "math.sin": np.sin,
    "math.sqrt": np.sqrt,
    "math.tan": np.tan,
    "math.tanh": np.tanh,
    "tpu.assume_multiple": lambda a: a,
    "tpu.reciprocal": lambda a: 1 / a,
    "tpu.weird": lambda a: ~np.isfinite(a),
}

# By what each is read as; the same for a scalar and for an array.
_CONVERSIONS = {
    "arith.extf",
    "arith.extsi",
    "arith.fptosi",
    "arith.fptoui",
    "arith.index_cast",
    "arith.sitofp",
    "arith.truncf",
    "arith.trunci",
    "tpu.extf",
    "tpu.fptosi",
    "tpu.sitofp",
    "tpu.truncf",
    "tpu.mask_cast",
}
_UNSIGNED_CONVERSIONS = {"arith.extui", "arith.uitofp", "tpu.uitofp", "arith.index_castui"}

_INTEGER_TESTS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
_FLOAT_TESTS = ("equal", "greater", "greater_equal", "less", "less_equal", "not_equal")
_REDUCTIONS = {
    "add": np.add,
    "and": np.bitwise_and,
    "maximumf": np.maximum,
    "maxnumf": np.fmax,
    "maxsi": np.maximum,
    "minimumf": np.minimum,
    "minnumf": np.fmin,
    "minsi": np.minimum,
    "mul": np.multiply,
    "or": np.bitwise_or,
}


def computed(operation: Any, given: list[Array]) -> Array | None:
    """The result of an operation for these operands; ``None`` when it is not one of those known here."""
    name = operation.name
    kind = operation.results[0].type if len(operation.results) else None
    if name in _PLAIN:
        found = _PLAIN[name](*given)
    elif name in _CONVERSIONS:
        found = given[0]
    elif name in _UNSIGNED_CONVERSIONS:
        found = _unsigned(given[0])
    elif name in _SHAPED:
        found = _SHAPED[name](operation, *given)
    else:
        return None
    result = np.asarray(found)
    wanted = dtype(kind)
    return result.astype(wanted, copy=False)


def _constant(operation: Any) -> Any:
    value: Any
    value, kind = operation.attributes["value"], operation.results[0].type
    if not isinstance(kind, ir.ShapedType):
        return value.value
    dense: Any = ir.DenseElementsAttr(value)
    if not dense.is_splat:
        return np.array(dense)
    return np.full(shape(kind), dense.get_splat_value().value, dtype(kind))


def _compared_integers(operation: Any, a: Array, b: Array) -> Any:
    predicate = ir.IntegerAttr(operation.attributes["predicate"]).value
    if predicate < len(_INTEGER_TESTS):
        return getattr(np, _INTEGER_TESTS[predicate])(a, b)
    return getattr(np, _INTEGER_TESTS[predicate - 4])(_unsigned(a), _unsigned(b))


def _compared_floats(operation: Any, a: Array, b: Array) -> Any:
    predicate = ir.IntegerAttr(operation.attributes["predicate"]).value
    unordered = np.isnan(a) | np.isnan(b)
    if predicate in {0, 15}:
        return np.full(unordered.shape, predicate == 15)
    if predicate in {7, 14}:
        return unordered if predicate == 14 else ~unordered
    if predicate < 7:
        return getattr(np, _FLOAT_TESTS[predicate - 1])(a, b) & ~unordered
    return getattr(np, _FLOAT_TESTS[predicate - 8])(a, b) | unordered


def _product(operation: Any, left: Array, right: Array, sums: Array) -> Any:
    """In the type of the sums. Its order of dimensions has pairs: which operand, which of its axes."""
    contracted, other, kept, other_kept, order, batched, other_batched = dimension_numbers(operation)
    a = left.transpose([*batched, *kept, *contracted]).astype(sums.dtype)
    b = right.transpose([*other_batched, *other, *other_kept]).astype(sums.dtype)
    batch = [left.shape[axis] for axis in batched]
    terms = int(np.prod([left.shape[axis] for axis in contracted]))
    rows, columns = [left.shape[axis] for axis in kept], [right.shape[axis] for axis in other_kept]
    product = a.reshape(*batch, -1, terms) @ b.reshape(*batch, terms, -1)
    axes = [(0, axis) for axis in (*batched, *kept)] + [(1, axis) for axis in other_kept]
    wanted = [axes.index((order[place], order[place + 1])) for place in range(0, len(order), 2)]
    return product.reshape(*batch, *rows, *columns).transpose(wanted) + sums


def _reduced(operation: Any, values: Array, start: Array) -> Any:
    kind = str(operation.attributes["kind"])
    combine = _REDUCTIONS[kind[kind.index("<") + 1 : -1]]
    return combine(combine.reduce(values, axis=tuple(integers(operation.attributes["reduction_dims"]))), start)


def _slice(operation: Any, values: Array) -> Any:
    named = (integers(operation.attributes[name]) for name in ("offsets", "sizes", "strides"))
    cut = tuple(slice(first, first + step * size, step) for first, size, step in zip(*named, strict=True))
    return values[cut]


def _iota(operation: Any) -> Any:
    kind = operation.results[0].type
    axes = integers(operation.attributes["dimensions"])
    if len(axes) != 1:
        raise ValueError(f"iota over {len(axes)} dimensions")
    return np.indices(shape(kind), sparse=True)[axes[0]] + np.zeros(shape(kind), dtype(kind))


def _number(operation: Any, name: str) -> int:
    return int(ir.IntegerAttr(operation.attributes[name]).value)


_SHAPED: dict[str, Callable[..., Any]] = {
    "arith.bitcast": lambda op, a: a.view(dtype(element(op.results[0].type))),
    "arith.cmpf": _compared_floats,
    "arith.cmpi": _compared_integers,
    "arith.constant": _constant,
    "tpu.bitcast": lambda op, a: a.view(dtype(op.results[0].type)) if shape(op.results[0].type) == a.shape else None,
    "tpu.concatenate": lambda op, *parts: np.concatenate(parts, _number(op, "dimension")),
    "tpu.dynamic_rotate": lambda op, a, by: np.roll(a, int(by), _number(op, "dimension")),
    "tpu.iota": _iota,
    "tpu.matmul": _product,
    "tpu.repeat": lambda op, a: np.concatenate([a] * _number(op, "times"), _number(op, "dimension")),
    "tpu.reshape": lambda op, a: a.reshape(shape(op.results[0].type)),
    "tpu.transpose": lambda op, a: a.transpose(integers(op.attributes["permutation"])),
    "vector.broadcast": lambda op, a: np.broadcast_to(a, shape(op.results[0].type)),
    "vector.extract": lambda op, a, *more: a[tuple(integers(op.attributes["static_position"]))],
    "vector.extract_strided_slice": _slice,
    "vector.multi_reduction": _reduced,
    "vector.shape_cast": lambda op, a: a.reshape(shape(op.results[0].type)),
    "vector.transpose": lambda op, a: a.transpose(integers(op.attributes["permutation"])),
}
