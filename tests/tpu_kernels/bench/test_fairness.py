"""Programs are compared only when they start alike, and all that they do is counted."""

import pytest

from tests.tpu_kernels.bench.simulated import brought, report
from tpu_kernels.bench.fairness import (
    BUNDLES,
    CYCLES,
    EXECUTED,
    HBM,
    MODEL,
    PINNED,
    RefusedError,
    check_start,
    compared,
    copy_cycles,
    moved_cycles,
)
from tpu_kernels.bench.programs import problem
from tpu_kernels.xray.record import MODELLED, SIMULATED, Move, Traffic

CUBE = problem(1024, 1024, 1024, "bfloat16")
LEFT = 2 * 1024 * 1024


def test_what_the_program_before_fetched_is_refused_where_all_starts_in_hbm():
    with pytest.raises(RefusedError, match=rf"XLA.*{LEFT}"):
        check_start(report(10, moves=[brought(LEFT, ahead=True)]), HBM, LEFT, "XLA")
    check_start(report(10, moves=[brought(LEFT)]), HBM, LEFT, "XLA")


@pytest.mark.parametrize(
    "moves",
    [
        [],
        [brought(LEFT), brought(LEFT)],
        [brought(LEFT // 2)],
        [brought(LEFT, runs=2)],
        [Move("copy-start", "vmem", "hbm", LEFT, 1, False)],
    ],
)
def test_a_left_operand_that_is_not_alone_in_vmem_is_refused(moves):
    with pytest.raises(RefusedError, match="XLA"):
        check_start(report(10, moves=moves), PINNED, LEFT, "XLA")


@pytest.mark.parametrize("ahead", [False, True])
def test_a_left_operand_in_vmem_may_have_been_brought_by_either_program(ahead):
    check_start(report(10, moves=[brought(LEFT, ahead=ahead)]), PINNED, LEFT, "XLA")


def test_copies_beside_kernels_cost_what_one_copy_costs_as_often_as_they_are_made():
    seen = report(10, moves=[brought(100), brought(50, runs=3)])
    assert moved_cycles(seen, lambda size: 2 * size, "XLA") == 2 * 100 + 3 * 2 * 50
    with pytest.raises(RefusedError, match="XLA"):
        moved_cycles(report(10, moves=[brought(100, runs=None)]), lambda size: size, "XLA")


def test_the_price_of_a_copy_is_that_of_one_dma_of_its_size():
    one = Traffic("hbm", "vmem", 0, 1, 8192)
    assert copy_cycles(report(77, traffic=[one]), 8192) == 77
    assert copy_cycles(report(77, traffic=[one]), 8000) == 77  # in whole tiles
    for other in ([], [one, one], [Traffic("hbm", "vmem", 0, 2, 8192)], [Traffic("hbm", "vmem", 0, 1, 4096)]):
        with pytest.raises(RefusedError, match="8192"):
            copy_cycles(report(77, traffic=other), 8192)
    with pytest.raises(RefusedError):
        copy_cycles(report(77, label=MODELLED, traffic=[one]), 8192)


def test_simulated_programs_are_compared_by_their_cycles_and_copies():
    by, (ours, other) = compared(CUBE, [report(10_000), report(20_000)], [], [500, 1000])
    assert by == CYCLES
    assert (ours.cycles, other.cycles) == (10_500, 21_000)
    assert (ours.label, other.label) == (SIMULATED, SIMULATED)
    # v5e: 128 x 128 multiply-adds a cycle in each of 4 units
    assert ours.of_peak == pytest.approx(1024**3 / (4 * 128 * 128) / 10_500, rel=1e-2)


def test_a_program_without_cycles_takes_at_least_its_bundles():
    seen = [report(10_000), report(12_000, label=MODELLED, executed=11_000)]
    models = [report(9_000, label=MODELLED), report(12_000, label=MODELLED)]
    by, (ours, other) = compared(CUBE, seen, models, [0, 0])
    assert (by, ours.cycles, other.cycles, other.label) == (BUNDLES, 10_000, 11_000, EXECUTED)
    assert (ours.modelled, other.modelled) == (9_000, 12_000)


@pytest.mark.parametrize(("executed", "moved"), [(9_999, 0), (None, 0), (11_000, 1_000)])
def test_bundles_that_settle_nothing_leave_it_to_the_model_on_both_sides(executed, moved):
    seen = [report(10_000), report(12_000, label=MODELLED, executed=executed)]
    models = [report(9_000, label=MODELLED), report(12_000, label=MODELLED, executed=executed)]
    by, (ours, other) = compared(CUBE, seen, models, [moved, 0])
    assert (by, ours.cycles, other.cycles) == (MODEL, 9_000 + moved, 12_000)
    assert (ours.label, other.label) == (MODELLED, MODELLED)


def test_a_program_of_which_nothing_is_known_is_refused():
    unknown = report(None, label=MODELLED, executed=None)
    with pytest.raises(RefusedError):
        compared(CUBE, [report(10), unknown], [report(9, label=MODELLED), unknown], [0, 0])
