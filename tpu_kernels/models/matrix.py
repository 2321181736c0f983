"""Matrices as lists of rows, checked at the edge: what the models without numpy compute on."""

import operator
from collections.abc import Iterable
from numbers import Real
from typing import SupportsIndex, TypeAlias, TypeGuard

from tpu_kernels.models.numerals import Number
from tpu_kernels.phrases import phrase

Matrix: TypeAlias = list[list[Number]]


def checked_matrix(name: str, value: object) -> Matrix:
    """``value`` as a list of equally long rows of numbers; a numpy array is taken through its ``tolist``.

    Raises ``ValueError`` that says what was got, what was expected and what to do: for something that is not a list
    of rows, for no rows or no columns, for rows of unequal length, and for an element that is not a real number (a
    ``bool`` is not one).
    """
    tolist = getattr(value, "tolist", None)
    value = tolist() if callable(tolist) else value
    rows = [_row(name, index, row) for index, row in enumerate(_items(name, value))]
    if not rows or not rows[0]:
        raise ValueError(phrase("matrix.empty", name=name, rows=len(rows)))
    for index, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise ValueError(phrase("matrix.ragged", name=name, row=index, got=len(row), expected=len(rows[0])))
    return rows


def whole(name: str, value: object) -> int:
    """``value`` as an int of at least one: a dimension, a length. Anything with an index passes, and whole floats."""
    size = int(value) if _whole_float(value) else as_index(value)
    if size is None or size < 1:
        raise ValueError(phrase("matrix.not_whole", name=name, got=repr(value)[:60]))
    return size


def as_index(value: object) -> int | None:
    """``value`` as an int if it can stand for one, as numpy's integers can; ``None`` for a bool and all the rest."""
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        return None
    try:
        return operator.index(value)
    except TypeError:  # an array with more than one element has the method all the same
        return None


def width(matrix: Matrix) -> int:
    """How many columns a checked matrix has."""
    return len(matrix[0])


def _whole_float(value: object) -> TypeGuard[float]:
    return isinstance(value, float) and value.is_integer()


def _items(name: str, value: object) -> list[object]:
    if isinstance(value, str | bytes | dict) or not isinstance(value, Iterable):
        raise ValueError(phrase("matrix.not_rows", name=name, got=type(value).__name__))
    return list(value)


def _row(name: str, index: int, row: object) -> list[Number]:
    numbers: list[Number] = []
    for column, element in enumerate(_items(name, row)):
        if isinstance(element, bool) or not isinstance(element, Real):
            place = f"{name}[{index}][{column}]"
            raise ValueError(phrase("matrix.not_a_number", place=place, got=repr(element)[:60]))
        numbers.append(element)  # type: ignore[arg-type]  # int, float and Fraction are the Reals met in practice
    return numbers
