"""The array against another implementation: plain loops, and numpy; and its timing against the formula."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_kernels import messages
from tpu_kernels.models import systolic
from tpu_kernels.models.hardware import chip
from tpu_kernels.models.systolic.array import Operand, SystolicArray

SIZES = st.integers(min_value=1, max_value=6)
INTEGERS = st.integers(min_value=-(10**30), max_value=10**30)
FRACTIONS = st.fractions(min_value=-9, max_value=9, max_denominator=99)
FLOATS = st.floats(min_value=-1e6, max_value=1e6)


def matrices(draw: Callable[..., Any], elements: st.SearchStrategy[Any]) -> tuple[list[list[Any]], list[list[Any]]]:
    """Inputs ``M x K`` and weights ``K x N``."""
    m, k, n = draw(SIZES), draw(SIZES), draw(SIZES)
    row = lambda width: st.lists(elements, min_size=width, max_size=width)  # noqa: E731
    return (
        draw(st.lists(row(k), min_size=m, max_size=m)),
        draw(st.lists(row(n), min_size=k, max_size=k)),
    )


def plain_product(a: list[list[Any]], b: list[list[Any]]) -> list[list[Any]]:
    product = [[0] * len(b[0]) for _ in a]
    for m in range(len(a)):
        for n in range(len(b[0])):
            for k in range(len(b)):
                product[m][n] = product[m][n] + a[m][k] * b[k][n]
    return product


@pytest.mark.parametrize("elements", [INTEGERS, FRACTIONS, FLOATS], ids=["int", "Fraction", "float"])
def test_the_product_is_the_plain_one_exactly(elements: st.SearchStrategy[Any]) -> None:
    @settings(deadline=None)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        inputs, weights = matrices(data.draw, elements)
        # Exactly, for floats too: a column adds in the order of k, as the loop does.
        assert systolic.simulate(weights, inputs).product == plain_product(inputs, weights)

    check()


@settings(deadline=None)
@given(SIZES, SIZES, SIZES)
def test_the_cycles_are_those_of_the_formula(rows: int, columns: int, length: int) -> None:
    trace = systolic.simulate([[1] * columns] * rows, [[1] * rows] * length)
    assert trace.cycles == systolic.cycle_count(rows, columns, length) == length + rows + columns - 2
    assert trace.load_cycles == rows


@settings(deadline=None)
@given(SIZES, SIZES, SIZES)
def test_each_cell_works_on_the_input_that_the_docstring_says_and_each_result_leaves_when_it_says(
    rows: int, columns: int, length: int
) -> None:
    inputs = [[100 * m + k for k in range(rows)] for m in range(length)]
    trace = systolic.simulate([[1] * columns] * rows, inputs)
    for state in trace.states():
        for k in range(rows):
            for n in range(columns):
                m = state.cycle - k - n
                assert state.cells[k][n].input == (inputs[m][k] if 0 <= m < length else None)
    for n, column in enumerate(state.left):
        assert [departure.cycle for departure in column] == [m + rows - 1 + n for m in range(length)]


def test_a_large_array_agrees_with_numpy() -> None:
    generator = np.random.default_rng(7)
    weights, inputs = generator.integers(-9, 10, (17, 23)), generator.integers(-9, 10, (31, 17))
    assert np.array_equal(systolic.simulate(weights, inputs).product, inputs @ weights)


def test_the_first_cycles_of_a_small_array_one_register_at_a_time() -> None:
    trace = systolic.simulate(weights=[[1, 2], [3, 4]], inputs=[[10, 20], [30, 40]])
    idle = [systolic.Cell(weight, None, None, None) for weight in (1, 2, 3, 4)]
    assert trace.state(0).cells == ((systolic.Cell(1, 10, 0, 10), idle[1]), (idle[2], idle[3]))
    assert trace.state(1).cells == (
        (systolic.Cell(1, 30, 0, 30), systolic.Cell(2, 10, 0, 20)),
        (systolic.Cell(3, 20, 10, 70), idle[3]),
    )
    assert trace.state(0).waiting == ((30,), (20, 40))  # row 1 is one cycle behind
    assert trace.state(1).waiting == ((), (40,))
    assert [trace.state(cycle).leaving for cycle in range(4)] == [(None, None), (70, None), (150, 100), (None, 220)]
    assert trace.state(3).left == (
        (systolic.Departure(1, 70), systolic.Departure(2, 150)),
        (systolic.Departure(2, 100), systolic.Departure(3, 220)),
    )
    assert (trace.product, trace.cycles) == ([[70, 100], [150, 220]], 4)


def test_a_bubble_waits_before_the_first_input_of_each_lower_row() -> None:
    assert systolic.simulate([[1], [1], [1]], [[1, 2, 3]]).state(0).waiting == ((), (2,), (None, 3))


def test_occupancy_counts_the_cells_that_work() -> None:
    trace = systolic.simulate([[1, 2], [3, 4]], [[10, 20], [30, 40]])
    assert trace.occupancy() == [1, 3, 3, 1] == [trace.active_cells(cycle) for cycle in range(4)]
    assert [state.active for state in trace.states()] == trace.occupancy()
    assert trace.utilisation == 8 / (4 * 4)
    assert trace.utilisation.format("pt") == "50%"


@settings(deadline=None)
@given(SIZES, SIZES, SIZES)
def test_work_is_conserved(rows: int, columns: int, length: int) -> None:
    trace = systolic.simulate([[1] * columns] * rows, [[1] * rows] * length)
    assert sum(trace.occupancy()) == rows * columns * length


def test_inputs_that_are_not_skewed_are_caught_by_the_machine() -> None:
    array = SystolicArray(2, 1)
    with pytest.raises(RuntimeError, match="not skewed"):
        array.tick([Operand(1), Operand(2)], [None])


@pytest.mark.parametrize(
    ("weights", "inputs", "message"),
    [
        ([[1, 2]], [[1, 2]], "inputs tiene 2 columnas y weights tiene 1 filas"),
        ([[1, 2], [3]], [[1, 2]], "weights: la fila 1"),
        ([[1]], [], "inputs: matriz vacía"),
        ([[1]], [["x"]], r"inputs\[0\]\[0\]"),
        ([[True]], [[1]], r"weights\[0\]\[0\]"),
    ],
)
def test_wrong_matrices_are_refused(weights: object, inputs: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        systolic.simulate(weights, inputs)


@pytest.mark.parametrize("cycle", [-1, 4, 1.5, True, None])
def test_a_cycle_that_does_not_exist_is_refused(cycle: Any) -> None:
    trace = systolic.simulate([[1, 2], [3, 4]], [[10, 20], [30, 40]])
    asked = (trace.state, trace.picture, trace.active_cells, lambda c: trace.table([c]), lambda c: trace.filmstrip([c]))
    for ask in asked:
        with pytest.raises(ValueError, match=r"ciclo .* va del ciclo 0 al 3"):
            ask(cycle)


def test_a_cycle_may_be_counted_by_numpy() -> None:
    trace = systolic.simulate([[1]], [[2]])
    assert [trace.active_cells(cycle) for cycle in np.arange(1)] == [1]


def test_the_table_works_each_cell_out() -> None:
    table = systolic.simulate([[1, 2], [3, 4]], [[10, 20], [30, 40.5]]).table(cycles=range(1, 3))
    texts = [[cell.text.replace("\N{NO-BREAK SPACE}", " ") for cell in row] for row in table.rows]
    assert texts == [
        ["1", "0 + 30 × 1 = 30", "0 + 10 × 2 = 20", "10 + 20 × 3 = 70", "en espera", "70", "nada"],
        ["2", "en espera", "0 + 30 × 2 = 60", "30 + 40,5 × 3 = 151,5", "20 + 20 × 4 = 100", "151,5", "100"],
    ]
    assert table.headings[:2] == ("Ciclo", "Celda (0, 0)")
    messages.use("pt")
    assert len(systolic.simulate([[1]], [[2], [3]]).table().rows) == 2
    assert systolic.simulate([[1]], [[2]]).table().headings == ("Ciclo", "Célula (0, 0)", "Sai pela coluna 0")


def test_a_table_or_drawing_of_a_large_array_is_refused_with_what_to_do() -> None:
    trace = systolic.simulate([[1] * 13], [[1]])
    for ask in (trace.table, trace.filmstrip, lambda: trace.picture(0)):
        with pytest.raises(ValueError, match=r"1×13.*occupancy_picture"):
            ask()


def test_a_trace_says_what_it_is() -> None:
    trace = systolic.simulate([[1, 2], [3, 4]], [[10, 20], [30, 40]])
    assert repr(trace) == (
        "Arreglo sistólico de 2×2: 2 filas de entrada en 4 ciclos, 50\N{NO-BREAK SPACE}% de utilización"
    )


@settings(deadline=None)
@given(SIZES, SIZES, SIZES)
def test_operand_reads_are_those_that_the_machine_does(rows: int, columns: int, length: int) -> None:
    trace = systolic.simulate([[1] * columns] * rows, [[1] * rows] * length)
    cells = [cell for state in trace.states() for row in state.cells for cell in row[:1]]
    entered = sum(cell.active for cell in cells)  # what crosses the left edge was read from memory
    macs = sum(trace.occupancy())
    reads = (entered + rows * columns) / macs
    assert systolic.operand_reads_per_mac(rows, columns, length) == pytest.approx(reads)
    assert systolic.operand_reads_per_mac(rows, columns, length) == pytest.approx(1 / columns + 1 / length)
    writes = sum(len(column) for column in trace.state(trace.cycles - 1).left) / macs
    assert systolic.result_writes_per_mac(rows) == pytest.approx(writes)


def test_costs_accept_a_count_of_the_catalogue() -> None:
    side = chip("v5e").mxu_rows
    assert systolic.operand_reads_per_mac(rows=side, columns=side, length=1024) == 1 / 128 + 1 / 1024
    assert systolic.cycle_count(side, side, 1) == 255


@pytest.mark.parametrize("arguments", [(0, 1, 1), (1, -1, 1), (1, 1, 1.5), (1, 1, True)])
def test_sizes_that_are_not_sizes_are_refused(arguments: tuple[Any, Any, Any]) -> None:
    for cost in (systolic.cycle_count, systolic.operand_reads_per_mac):
        with pytest.raises(ValueError, match="entero de 1 en adelante"):
            cost(*arguments)


def test_fractions_stay_exact() -> None:
    third = Fraction(1, 3)
    assert systolic.simulate([[third], [third], [third]], [[1, 1, 1]]).product == [[1]]
