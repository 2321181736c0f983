"""The products of matrices that a program asks for, and how often: what the matrix unit must at least do."""

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jax import lax
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn

from tpu_kernels.xray.grid import CALLS, Points, Scalars, Values

PRODUCTS = ("dot_general", "conv_general_dilated")

PASSES = {lax.Precision.DEFAULT: 1, lax.Precision.HIGH: 3, lax.Precision.HIGHEST: 6}


@dataclass(frozen=True)
class Product:
    """``batch`` products of ``[m, k]`` by ``[k, n]``, carried out ``times`` times in all; ``None``: it depends on data.

    ``passes`` is how many products of the matrix unit one in float32 takes; ``None`` when the precision does not say.
    """

    batch: int
    m: int
    k: int
    n: int
    dtype: str
    passes: int | None
    times: int | None

    @property
    def flops(self) -> int | None:
        """Of all of them, counted as written: one multiplication and one addition for each term."""
        return None if self.times is None else 2 * self.batch * self.m * self.k * self.n * self.times


@dataclass(frozen=True)
class Visit:
    """An equation that a walk came across, and how often it is carried out at each point; ``None``: unknown."""

    equation: JaxprEqn
    times: Values


def walk(points: Points, jaxpr: ClosedJaxpr, wanted: Collection[str], given: Sequence[Values] = ()) -> Iterator[Visit]:
    """Every equation of the primitives ``wanted``, in order. ``given`` are the jaxpr's arguments, where known."""
    unknown: list[Values] = [None] * len(jaxpr.jaxpr.invars)
    return _walk(points, jaxpr, wanted, given or unknown, np.ones(points.count, dtype=np.int64))


def product(visit: Visit) -> Product:
    """What a ``dot_general`` or a ``conv_general_dilated`` multiplies."""
    equation = visit.equation
    left, right = (_aval(atom) for atom in equation.invars[:2])
    batch, m, k, n = _dot(equation) if equation.primitive.name == "dot_general" else _convolution(equation)
    times = None if visit.times is None else int(visit.times.sum())
    wide = max(left.dtype, right.dtype, key=lambda dtype: dtype.itemsize)
    return Product(batch, m, k, n, wide.name, _passes(equation.params.get("precision"), wide.name), times)


def _walk(
    points: Points, closed: ClosedJaxpr, wanted: Collection[str], given: Sequence[Values], times: Values
) -> Iterator[Visit]:
    scalars = Scalars(points, closed.jaxpr, given, closed.consts)
    for equation in closed.jaxpr.eqns:
        if equation.primitive.name in wanted:
            yield Visit(equation, times)
        else:
            for body, inner, repeated in _inside(scalars, equation, times):
                yield from _walk(points, body, wanted, inner, repeated)
        scalars.carry_out(equation)


def _inside(
    scalars: Scalars, equation: JaxprEqn, times: Values
) -> Iterator[tuple[ClosedJaxpr, Sequence[Values], Values]]:
    """The jaxprs inside an equation, with their arguments and how often each is carried out."""
    name, params = equation.primitive.name, equation.params
    if name == "cond":
        index, *inner = [scalars[atom] for atom in equation.invars]
        for number, branch in enumerate(params["branches"]):
            taken = None if index is None or times is None else times * (index.astype(np.int64) == number)
            yield branch, inner, taken
        return
    bodies = [body for value in params.values() for body in jaxprs(value)]
    given = [scalars[atom] for atom in equation.invars]
    for body in bodies:
        arguments: list[Values] = [None] * len(body.jaxpr.invars)
        if name in CALLS:
            arguments[: len(given)] = given
        elif name == "scan":
            arguments[: params["num_consts"]] = given[: params["num_consts"]]
        once = name in CALLS or name in {"run_scoped", "shard_map"}
        if name == "scan" and times is not None:
            yield body, arguments, times * params["length"]
        else:
            yield body, arguments, times if once else None


def jaxprs(value: Any) -> Iterator[ClosedJaxpr]:
    """The jaxprs in a parameter of an equation."""
    if isinstance(value, ClosedJaxpr):
        yield value
    elif isinstance(value, Jaxpr):
        yield ClosedJaxpr(value, [None] * len(value.constvars))
    elif isinstance(value, tuple | list):
        for one in value:
            yield from jaxprs(one)


def _dot(equation: JaxprEqn) -> tuple[int, int, int, int]:
    (contracted, _), (batched, right_batched) = equation.params["dimension_numbers"]
    right_contracted = equation.params["dimension_numbers"][0][1]
    left, right = (_aval(atom).shape for atom in equation.invars)
    m = math.prod(size for axis, size in enumerate(left) if axis not in {*contracted, *batched})
    n = math.prod(size for axis, size in enumerate(right) if axis not in {*right_contracted, *right_batched})
    return math.prod(left[axis] for axis in batched), m, math.prod(left[axis] for axis in contracted), n


def _convolution(equation: JaxprEqn) -> tuple[int, int, int, int]:
    """As the product that it is: every place of the result, by every weight that reaches it, by every feature."""
    out, kernel = _aval(equation.outvars[0]).shape, _aval(equation.invars[1]).shape
    numbers = equation.params["dimension_numbers"]
    features = out[numbers.out_spec[1]]
    weights = math.prod(kernel) // kernel[numbers.rhs_spec[0]]
    return 1, math.prod(out) // max(1, features), weights, features


def _aval(atom: Any) -> Any:
    """Shape and type of a variable, whose class says nothing of them."""
    return atom.aval


def _passes(precision: Any, dtype: str) -> int | None:
    if dtype != "float32" or precision is None:
        return 1
    asked = precision if isinstance(precision, tuple) else (precision,)
    found = {PASSES.get(one) for one in asked if one is not None} or {1}
    return found.pop() if len(found) == 1 else None
