"""Products of any shape on a fixed array, against numpy; the cycle formulas against the machine."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_kernels import messages
from tpu_kernels.models import systolic
from tpu_kernels.models.hardware import chip

SIDE = st.integers(min_value=1, max_value=4)
SHAPE = st.tuples(*[st.integers(min_value=1, max_value=9)] * 3)


@settings(deadline=None)
@given(SHAPE, SIDE, SIDE, st.booleans(), st.integers(min_value=0, max_value=2**32 - 1))
def test_any_shape_on_any_array(shape: tuple[int, int, int], rows: int, columns: int, overlap: bool, seed: int) -> None:
    m, k, n = shape
    generator = np.random.default_rng(seed)
    a, b = generator.integers(-99, 100, (m, k)), generator.integers(-99, 100, (k, n))
    run = systolic.matmul(a, b, rows, columns, overlap_weight_load=overlap)
    assert np.array_equal(run.product, a @ b)
    assert run.cycles == systolic.tiled_cycles(m, k, n, rows, columns, overlap_weight_load=overlap)
    assert run.tiles == run.loads == -(-k // rows) * -(-n // columns)
    assert run.utilisation == systolic.utilisation(m, k, n, rows, columns, overlap_weight_load=overlap)
    assert run.utilisation == m * k * n / (rows * columns * run.cycles)


def test_fractions_stay_exact_across_tiles() -> None:
    a, b = [[Fraction(1, 3)] * 6], [[Fraction(1, 2)]] * 6
    assert systolic.matmul(a, b, 4, 1).product == [[1]]


def test_floats_add_up_to_rounding() -> None:
    generator = np.random.default_rng(3)
    a, b = generator.normal(size=(5, 11)), generator.normal(size=(11, 7))
    np.testing.assert_allclose(systolic.matmul(a, b, 4, 3).product, a @ b, rtol=1e-12)


def test_one_tile_takes_its_load_and_then_what_the_array_alone_takes() -> None:
    for overlap in (True, False):
        assert systolic.tiled_cycles(5, 4, 3, 4, 3, overlap) == 4 + systolic.cycle_count(4, 3, 5)


def test_hiding_the_weight_load_pays_from_the_second_tile_on() -> None:
    hidden = [systolic.tiled_cycles(64, 8 * tiles, 8, 8, 8, True) for tiles in (1, 2, 3)]
    exposed = [systolic.tiled_cycles(64, 8 * tiles, 8, 8, 8, False) for tiles in (1, 2, 3)]
    assert hidden[0] == exposed[0]
    assert hidden[1] - hidden[0] == hidden[2] - hidden[1] == 64  # only the inputs take time
    assert exposed[1] - exposed[0] == 8 + 64 + 8 + 8 - 2


def test_a_short_batch_cannot_hide_the_load() -> None:
    two, one = (systolic.tiled_cycles(1, 8 * tiles, 8, 8, 8, True) for tiles in (2, 1))
    assert two - one == 8


def test_one_column_too_many_costs_a_second_tile_and_half_the_array() -> None:
    side = chip("v5e").mxu_rows
    fits = systolic.utilisation(100_000, 128, 128, side, side)
    spills = systolic.utilisation(100_000, 128, 129, side, side)
    assert fits > 0.99
    assert spills == pytest.approx(129 / 256, abs=0.002)
    small = systolic.matmul([[1] * 8] * 4, [[1] * 9] * 8, 8, 8)
    assert (small.tiles, small.product) == (2, [[8] * 9] * 4)


@pytest.mark.parametrize(
    ("a", "b", "rows", "columns", "message"),
    [
        ([[1, 2]], [[1]], 2, 2, "a tiene 2 columnas y b tiene 1 filas"),
        ([[1], [2, 3]], [[1]], 2, 2, "a: la fila 1"),
        ([[1]], [[None]], 2, 2, r"b\[0\]\[0\]"),
        ([[1]], [[1]], 0, 2, "rows"),
        ([[1]], [[1]], 2, 2.5, "columns"),
    ],
)
def test_wrong_matrices_and_arrays_are_refused(a: Any, b: Any, rows: Any, columns: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        systolic.matmul(a, b, rows, columns)


def test_a_run_says_what_it_took() -> None:
    run = systolic.matmul([[1] * 8] * 4, [[1] * 9] * 8, 8, 8)
    assert repr(run) == "Producto por teselas: 2 cargas de pesos, 34 ciclos, 13,2\N{NO-BREAK SPACE}% de utilización"
    messages.use("pt")
    assert repr(run).startswith("Produto por blocos: 2 cargas de pesos, 34 ciclos, 13,2% ")


def test_counts_are_exact_beyond_what_a_float_holds() -> None:
    k = 10**17 + 1
    assert systolic.tiled_cycles(1, k, 1, 1, 1) == 1 + (k - 1) + 1
    assert systolic.tiled_cycles(1, 10**400, 1, 10**399, 1, overlap_weight_load=False) == 10 * 2 * 10**399


def test_a_run_that_nobody_would_wait_for_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match=r"1000×1000 celdas .* tiled_cycles"):
        systolic.matmul([[1]], [[1]], 1000, 1000)
    with pytest.raises(ValueError, match="demasiado para simular"):
        systolic.simulate([[1] * 1000] * 1000, [[1] * 1000])
