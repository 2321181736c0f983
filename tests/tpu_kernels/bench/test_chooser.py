"""The chooser's pick is set beside the best of all that fit; only what cannot win is left out."""

import math

import pytest

from tests.tpu_kernels.bench.simulated import LATENCY, RATE, FakeSimulator, brought, report
from tpu_kernels.bench.chooser import Case, bench_chooser, cases, count
from tpu_kernels.bench.fairness import NO_PREFETCH
from tpu_kernels.bench.floor import least_cycles
from tpu_kernels.bench.programs import problem
from tpu_kernels.kernels.gemm.block import Block
from tpu_kernels.kernels.gemm.blocking import candidates, choose_block
from tpu_kernels.xray.errors import LimitError
from tpu_kernels.xray.record import MODELLED

CASE = Case("v5e", 1, 256, 256, 256, "bfloat16")
SLOW = 10**6  # cycles that no floor of so small a product comes near


def steps(program):
    return math.prod(program.calls[0].grid)


def by_steps(program):
    return report(SLOW + 1000 * steps(program))


def chosen(fake, case=CASE, **options):
    (found,) = bench_chooser([case], examine=fake, **options)
    return found


def test_every_candidate_is_tried_and_the_best_of_them_found():
    ticks = []
    found = chosen(FakeSimulator(by_steps), progress=lambda: ticks.append(1))
    fitting = set(candidates(CASE.problem, "v5e"))
    assert {trial.block for trial in found.trials} == fitting
    assert len(ticks) == count(CASE) == len(fitting)
    assert found.beaten == 0
    assert found.pick.block == choose_block(CASE.problem, "v5e")
    assert found.best.cycles == min(SLOW + 1000 * math.prod(-(-256 // side) for side in block) for block in fitting)
    assert found.ratio == found.pick.cycles / found.best.cycles


def test_candidates_that_cannot_win_are_not_tried():
    fake = FakeSimulator(lambda program: report(1))
    found = chosen(fake)
    assert [trial.block for trial in found.trials] == [choose_block(CASE.problem, "v5e")]
    assert found.beaten == count(CASE) - 1
    assert [name for name, _ in fake.asked] == ["copy", "copy", "ours"]


def test_both_operands_start_in_hbm_and_the_simulator_must_answer():
    fake = FakeSimulator(by_steps)
    chosen(fake)
    assert {options["flags"] for _, options in fake.asked} == {(NO_PREFETCH,)}
    assert all(options["simulate"] for _, options in fake.asked)


def test_what_xla_copies_beside_the_kernel_counts():
    size = 2**15
    found = chosen(FakeSimulator(lambda program: report(SLOW, moves=[brought(size)])))
    assert found.pick.cycles == SLOW + LATENCY + size // RATE


def refused(program):
    if steps(program) > 1:
        raise LimitError("too slow")
    return report(SLOW)


@pytest.mark.parametrize("simulate", [refused, lambda program: report(9, label=MODELLED)])
def test_a_candidate_without_cycles_says_why_and_is_never_the_best(simulate):
    found = chosen(FakeSimulator(simulate))
    unknown = [trial for trial in found.trials if trial.cycles is None]
    assert unknown
    assert all(trial.reason for trial in unknown)
    assert found.to_dict()["refused"] == len(unknown)
    assert found.best is None or found.best.cycles == SLOW


def test_a_pick_without_cycles_has_no_ratio():
    found = chosen(FakeSimulator(lambda program: report(9, label=MODELLED)))
    assert found.ratio is None
    assert found.to_dict()["reason"] == found.pick.reason != ""


def test_the_record_holds_every_trial():
    found = chosen(FakeSimulator(by_steps)).to_dict()
    fitting = set(map(str, candidates(CASE.problem, "v5e")))
    assert found["shape"] == "256x256x256"
    assert found["candidates"] == found["simulated"] == len(fitting)
    assert {trial["block"] for trial in found["trials"]} == fitting


def test_ten_problems_are_put_to_each_chip():
    put = cases(["v5e", "v6e"])
    assert len(put) == 20
    assert len({case.size + case.dtype for case in put}) == 10
    assert {case.dtype for case in put} == {"bfloat16", "int8", "float32"}


# Cycles that the simulator of libtpu 0.0.42.1 gives for blocks that stream, and its rate of one copy, in bytes a cycle.
RATES = {"v5e": 491, "v5p": 1251, "v6e": 776}
SIMULATED = [
    ("v5e", 512, (256, 512, 512), 5662),
    ("v5e", 512, (512, 256, 512), 6054),
    ("v5e", 1024, (1024, 1024, 1024), 26715),
    ("v5e", 2048, (512, 2048, 512), 141831),
    ("v5p", 512, (512, 512, 128), 3516),
    ("v5p", 1024, (1024, 1024, 512), 12290),
    ("v6e", 512, (512, 512, 512), 3157),
    ("v6e", 1024, (128, 1024, 1024), 11144),
    ("v6e", 2048, (2048, 2048, 512), 48697),
    ("v6e", 2048, (1024, 2048, 1024), 43364),
]


@pytest.mark.parametrize(("chip", "side", "block", "cycles"), SIMULATED)
def test_no_block_takes_less_than_the_floor(chip, side, block, cycles):
    floor = least_cycles(problem(side, side, side, "bfloat16"), Block(*block), chip, RATES[chip])
    assert 0.4 * cycles < floor <= cycles


def test_the_floor_rules_out_blocks_that_only_wait():
    cube = problem(2048, 2048, 2048, "bfloat16")
    best = 43364  # of 1024x2048x1024 on v6e
    assert least_cycles(cube, Block(2048, 2048, 2048), "v6e", RATES["v6e"]) > best  # for their first block
    assert least_cycles(cube, Block(128, 128, 128), "v6e", RATES["v6e"]) > best  # for the same blocks again


@pytest.mark.parametrize("schedule", ["panels", "resident"])
def test_of_other_schedules_only_the_work_is_sure(schedule):
    cube = problem(1024, 1024, 1024, "bfloat16")
    floor = least_cycles(cube, Block(512, 1024, 256, schedule), "v6e", RATES["v6e"])
    assert floor == pytest.approx(1024**3 / (2 * 256 * 256 * 2), rel=0.01)
