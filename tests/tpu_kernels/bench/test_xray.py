"""Our product and XLA's in the simulator: both start alike, each row says how it was had, or why not."""

import math

import pytest

from tests.tpu_kernels.bench.simulated import LATENCY, RATE, FakeSimulator, brought, report
from tpu_kernels.bench.fairness import BUNDLES, CYCLES, HBM, NO_PREFETCH, PINNED
from tpu_kernels.bench.programs import problem
from tpu_kernels.bench.xray import Contest, bench_xray, contests
from tpu_kernels.kernels.gemm.blocking import choose_block, resident_block
from tpu_kernels.xray.errors import LimitError, MissingCompilerError, UnknownTargetError
from tpu_kernels.xray.record import MODELLED

IN_HBM = Contest("v5e", (512, 256, 512), "bfloat16", HBM)
IN_VMEM = Contest("v5e", (512, 256, 512), "bfloat16", PINNED)
WANTED = problem(512, 256, 512, "bfloat16")
LEFT = 512 * 256 * 2  # bytes
KEYS = {
    "chip",
    "shape",
    "dtype",
    "class",
    "cycles",
    "cycles_xla",
    "ratio",
    "libtpu",
    "compared_by",
    "label",
    "label_xla",
}


def row_of(contest, **programs):
    fake = FakeSimulator(**programs)
    (row,) = bench_xray([contest], examine=fake)
    return row, fake


def test_a_row_says_everything_that_a_reader_needs_to_judge_it():
    row, _ = row_of(IN_HBM, ours=lambda program: report(900))
    found = row.to_dict()
    assert set(found) > KEYS
    assert (found["chip"], found["shape"], found["dtype"], found["class"]) == ("v5e", "512x256x512", "bfloat16", "H")
    assert (found["cycles"], found["cycles_xla"], found["ratio"]) == (900, 1000, 0.9)
    assert (found["compared_by"], found["reason"]) == (CYCLES, "")
    assert found["libtpu"] == report(1).versions["libtpu"]
    assert found["block"] == str(row.block)


def test_where_both_start_in_hbm_neither_has_anything_fetched_ahead():
    row, fake = row_of(IN_HBM, ours=lambda program: report(900))
    assert [(name, options["flags"]) for name, options in fake.asked] == [
        ("ours", (NO_PREFETCH,)),
        ("XLA", (NO_PREFETCH,)),
    ]
    assert row.block == choose_block(WANTED, "v5e")
    row, _ = row_of(IN_HBM, ours=lambda _: report(900), xla=lambda _: report(1000, moves=[brought(LEFT, ahead=True)]))
    assert row.ratio is None
    assert "XLA" in row.reason


def test_the_copy_of_the_left_operand_is_in_the_cycles_of_both():
    row, fake = row_of(
        IN_VMEM,
        ours=lambda _: report(900, moves=[brought(LEFT)]),
        xla=lambda _: report(1000, moves=[brought(LEFT, ahead=True)]),
    )
    price = LATENCY + LEFT // RATE
    assert (row.ours.cycles, row.xla.cycles) == (900 + price, 1000 + price)
    assert row.ours.moved == row.xla.moved == price
    assert {options["flags"] for name, options in fake.asked if name != "copy"} == {()}
    assert row.block == resident_block(WANTED, "v5e")


def test_a_left_operand_that_only_one_has_in_vmem_is_no_comparison():
    row, _ = row_of(IN_VMEM, ours=lambda _: report(900, moves=[brought(LEFT)]))
    assert row.ratio is None
    assert str(LEFT) in row.reason


def test_a_left_operand_too_large_for_vmem_says_so():
    row, fake = row_of(Contest("v5p", (8192, 8192, 8192), "bfloat16", PINNED), ours=lambda _: report(900))
    assert "v5p" in row.reason
    assert row.block is None
    assert fake.asked == []


def test_a_program_of_xlas_without_cycles_is_compared_by_what_it_executes():
    row, fake = row_of(
        IN_HBM, ours=lambda _: report(900, executed=800), xla=lambda _: report(990, label=MODELLED, executed=1000)
    )
    found = row.to_dict()
    assert (found["compared_by"], found["cycles"], found["cycles_xla"]) == (BUNDLES, 900, 1000)
    assert (found["modelled"], found["modelled_xla"]) == (800, 1000)
    assert [options["simulate"] for _, options in fake.asked] == [True, True, False, False]


def too_long(program):
    raise LimitError("after 900 s")


def test_a_row_that_could_not_be_had_says_why_and_the_next_one_comes():
    fake = FakeSimulator(ours=too_long)
    rows = list(bench_xray([IN_HBM, IN_HBM], examine=fake))
    assert [row.reason for row in rows] == ["after 900 s"] * 2
    found = rows[0].to_dict()
    assert found["cycles"] is found["cycles_xla"] is found["ratio"] is found["compared_by"] is None


@pytest.mark.parametrize("error", [MissingCompilerError("none"), UnknownTargetError("none")])
def test_what_no_row_can_come_of_is_raised(error):
    def fails(program):
        raise error

    with pytest.raises(type(error)):
        row_of(IN_HBM, ours=fails)


def test_what_is_compared_is_large_whole_and_ragged_of_two_types_and_both_ways():
    full = contests(["v5e", "v5p", "v6e"])
    assert len(full) == len(set(full)) == 3 * 8
    assert {contest.dtype for contest in full} == {"bfloat16", "int8"}
    assert {contest.start for contest in full} == {HBM, PINNED}
    ragged = {contest.shape for contest in full if math.gcd(*contest.shape) % 128}
    assert len(ragged) == 4
    quick = contests(["v6e"], quick=True)
    assert [(contest.shape, contest.start) for contest in quick] == [((4096,) * 3, HBM), ((4096,) * 3, PINNED)]
