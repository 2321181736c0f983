"""Scalars of a Pallas program at every point of its grid: index maps, and the conditions that ``pl.when`` asks about.

A jaxpr is walked once with arrays that hold a value for each point of the grid. What reads memory is unknown, ``None``.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var

Values: TypeAlias = np.ndarray | None

MOST_POINTS = 2_000_000

# Calls that compute what their jaxpr computes.
CALLS = {"pjit", "jit", "closed_call", "core_call", "custom_jvp_call", "custom_vjp_call", "remat", "checkpoint"}

ELEMENTWISE: Mapping[str, Callable[..., np.ndarray]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "neg": np.negative,
    "sign": np.sign,
    "abs": np.abs,
    "max": np.maximum,
    "min": np.minimum,
    "rem": np.fmod,  # both keep the sign of the dividend
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "not": np.invert,
    "shift_left": np.left_shift,
    "shift_right_arithmetic": np.right_shift,
}


class Points:
    """The points of a grid in the order in which they are run, the last axis fastest.

    ``coordinates[axis]`` holds that coordinate of each point. A grid without axes is one point. For grids of up to
    ``MOST_POINTS``.
    """

    def __init__(self, grid: Sequence[int]) -> None:
        self.grid = tuple(grid)
        self.count = math.prod(self.grid)
        self.coordinates = tuple(axis.ravel() for axis in np.indices(self.grid, dtype=np.int32))

    def constant(self, value: Any) -> Values:
        """A scalar, the same at every point."""
        array = np.asarray(value)
        return np.broadcast_to(array, (self.count,)) if array.ndim == 0 and array.dtype.kind in "biuf" else None


class Scalars:
    """The values of a jaxpr's scalar variables at every point."""

    def __init__(
        self, points: Points, jaxpr: Jaxpr, arguments: Sequence[Values], constants: Sequence[Any] = ()
    ) -> None:
        self._points = points
        self._known: dict[Var, Values] = dict(zip(jaxpr.invars, arguments, strict=True))
        self._known.update(zip(jaxpr.constvars, map(points.constant, constants), strict=True))

    def __getitem__(self, atom: Any) -> Values:
        return self._points.constant(atom.val) if isinstance(atom, Literal) else self._known.get(atom)

    def carry_out(self, equation: JaxprEqn) -> None:
        """Take note of what an equation computes, where that is known."""
        for variable, value in zip(equation.outvars, self._results(equation), strict=True):
            self._known[variable] = value

    def _results(self, equation: JaxprEqn) -> Sequence[Values]:
        name, unknown = equation.primitive.name, [None] * len(equation.outvars)
        if name in {"program_id", "num_programs"}:
            axis = equation.params["axis"]
            if axis >= len(self._points.grid):  # of a grid whose bounds are data
                return unknown
            size = self._points.constant(np.int32(self._points.grid[axis]))
            return [self._points.coordinates[axis] if name == "program_id" else size]
        given = [self[atom] for atom in equation.invars]
        if name in CALLS:
            inner = called(equation)
            return results(self._points, inner, given) if inner else unknown
        known = [value for value in given if value is not None]
        if not given or len(known) < len(given):
            return unknown
        computed = _computed(name, known, equation.params)
        return unknown if computed is None else [computed]


def results(points: Points, closed: ClosedJaxpr, arguments: Sequence[Values]) -> Sequence[Values]:
    """What a jaxpr returns, at every point."""
    scalars = Scalars(points, closed.jaxpr, arguments, closed.consts)
    for equation in closed.jaxpr.eqns:
        scalars.carry_out(equation)
    return [scalars[atom] for atom in closed.jaxpr.outvars]


def called(equation: JaxprEqn) -> ClosedJaxpr | None:
    """The jaxpr of a plain call."""
    for name in ("jaxpr", "call_jaxpr", "fun_jaxpr"):
        inner = equation.params.get(name)
        if isinstance(inner, ClosedJaxpr):
            return inner
        if isinstance(inner, Jaxpr) and not inner.constvars:
            return ClosedJaxpr(inner, ())
    return None


def changes(values: Sequence[Values]) -> int | None:
    """How many runs of equal points there are: the blocks that a pipeline fetches. ``None`` when a value is unknown."""
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    if not known:
        return 1
    stacked = np.stack(known)
    return 1 + int(np.any(stacked[:, 1:] != stacked[:, :-1], axis=0).sum())


def _computed(name: str, given: Sequence[np.ndarray], params: Mapping[str, Any]) -> Values:
    if name in ELEMENTWISE:
        return np.asarray(ELEMENTWISE[name](*given))
    if name == "div" and given[0].dtype.kind in "iu":
        quotient = np.trunc(given[0] / np.where(given[1] == 0, 1, given[1]))  # exact: grids and blocks are below 2**53
        return quotient.astype(given[0].dtype)
    if name == "select_n":
        return np.asarray(np.choose(given[0].astype(np.int64), given[1:]))
    if name == "convert_element_type":
        return np.asarray(given[0].astype(params["new_dtype"]))
    if name == "clamp":
        return np.asarray(np.clip(given[1], given[0], given[2]))
    if name in {"squeeze", "reshape", "broadcast_in_dim", "stop_gradient", "copy"}:
        return given[0]
    return None
