"""Shapes: those that NumPy multiplies are multiplied, and for the others the message says which two sizes clash."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes

from tpu_kernels.kernels.gemm.layout import layout

signatures = mutually_broadcastable_shapes(signature="(m?,k),(k,n?)->(m?,n?)", max_dims=3, max_side=4)


@settings(deadline=None)
@given(shapes=signatures)
def test_the_result_has_the_shape_that_numpy_gives_it(shapes: object) -> None:
    left, right = shapes.input_shapes
    found = layout(left, right)
    assert found.result == np.matmul(np.zeros(left), np.zeros(right)).shape == shapes.result_shape
    g, m, _, n = found.sizes
    assert g * m * n == int(np.prod(found.result))


@settings(deadline=None)
@given(shapes=signatures, seed=st.integers(0, 9))
def test_folded_operands_make_the_same_product(shapes: object, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = (rng.integers(-3, 4, shape).astype(np.float32) for shape in shapes.input_shapes)
    found = layout(a.shape, b.shape)
    left, right = found.fold(a, b)
    g, m, k, n = found.sizes
    assert (left.shape, right.shape) == ((g, m, k), (g, k, n))
    np.testing.assert_array_equal(np.matmul(left, right).reshape(found.result), np.matmul(a, b))


def test_rows_that_share_a_matrix_become_one_product() -> None:
    assert layout((4, 8, 16), (16, 5)).sizes == (1, 32, 16, 5)
    assert layout((2, 4, 8, 16), (1, 1, 16, 5)).sizes == (1, 64, 16, 5)
    assert layout((4, 8, 16), (4, 16, 5)).sizes == (4, 8, 16, 5)
    assert layout((8, 16), (4, 16, 5)).sizes == (4, 8, 16, 5)


@pytest.mark.parametrize(
    ("left", "right", "clash"),
    [
        ((3, 4), (5, 6), r"\(3, 4\) por \(5, 6\): a tiene 4 columnas y b tiene 5 filas"),
        ((4,), (5,), r"\(4,\) por \(5,\): a tiene 4 columnas y b tiene 5 filas"),
        ((2, 3, 4), (3, 4, 5), r"lotes de \(2, 3, 4\) y de \(3, 4, 5\): 2 y 3 no son iguales"),
        ((7, 1, 3, 4), (5, 2, 4, 5), r"7 y 5 no son iguales"),
        ((0, 3, 4), (2, 4, 5), r"0 y 2 no son iguales"),
        ((), (3, 4), "a es un solo número"),
        ((3, 4), (), "b es un solo número"),
    ],
)
def test_shapes_that_clash(left: tuple[int, ...], right: tuple[int, ...], clash: str) -> None:
    with pytest.raises(ValueError, match=clash):
        layout(left, right)
    with pytest.raises(ValueError):
        np.matmul(np.zeros(left), np.zeros(right))
