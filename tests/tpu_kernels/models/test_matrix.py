from fractions import Fraction

import numpy as np
import pytest

from tpu_kernels import messages
from tpu_kernels.models.hardware import chip
from tpu_kernels.models.matrix import checked_matrix, whole

WRONG = [
    (5, "int.*lista de filas"),
    ("12", "str.*lista de filas"),
    (None, "NoneType"),
    ({1: [2]}, "dict"),
    ([], "0 filas"),
    ([[]], "1 filas"),
    ([[], []], "2 filas"),
    ([1, 2], "int.*lista de filas"),
    (["ab"], "str"),
    ([[1, 2], [3]], "fila 1 tiene 1 elementos y se esperaban 2"),
    ([[1], [2, 3]], "fila 1 tiene 2 elementos y se esperaban 1"),
    ([[1, "2"]], r"w\[0\]\[1\].*'2'"),
    ([[1], [None]], r"w\[1\]\[0\].*None"),
    ([[True]], r"w\[0\]\[0\].*True"),
    ([[1j]], "1j"),
    ([[[1]]], r"\[1\].*número"),
    (np.zeros((2, 2, 2)), r"w\[0\]\[0\]"),
    (np.array([[True]]), "True"),
]


@pytest.mark.parametrize(("value", "message"), WRONG, ids=[repr(value)[:20] for value, _ in WRONG])
def test_what_is_not_a_matrix_is_refused_with_got_expected_and_cure(value: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        checked_matrix("w", value)


def test_the_refusal_speaks_the_language_in_force() -> None:
    messages.use("pt")
    with pytest.raises(ValueError, match=r"a linha 1 tem 1 elementos.* 2\b"):
        checked_matrix("w", [[1, 2], [3]])


def test_rows_of_numbers_pass_whatever_holds_them() -> None:
    assert checked_matrix("w", ((1, 2.5), [Fraction(1, 2), -3])) == [[1, 2.5], [Fraction(1, 2), -3]]
    from_numpy = checked_matrix("w", np.array([[1, 2]], dtype=np.int8))
    assert from_numpy == [[1, 2]]
    assert type(from_numpy[0][0]) is int  # and so it cannot overflow
    assert checked_matrix("w", iter([range(2)])) == [[0, 1]]


def test_what_was_given_is_not_shared() -> None:
    given = [[1, 2]]
    checked_matrix("w", given)[0][0] = 9
    assert given == [[1, 2]]


@pytest.mark.parametrize("value", [1, 128, 128.0, np.int64(3), chip("v5e").mxu_rows])
def test_a_whole_number_is_a_size(value: float) -> None:
    assert whole("rows", value) == int(value)
    assert type(whole("rows", value)) is int


@pytest.mark.parametrize(
    "value", [0, -1, 1.5, float("nan"), float("inf"), True, "3", None, Fraction(3, 2), np.array([2]), np.array([1, 2])]
)
def test_anything_else_is_not(value: object) -> None:
    with pytest.raises(ValueError, match=r"rows: se recibió .* entero"):
        whole("rows", value)
