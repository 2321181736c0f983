"""The model of the cost: what is known of blocks on TPUs, and what no model may say."""

import csv
import math
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax

from tpu_kernels.kernels.gemm.block import Block
from tpu_kernels.kernels.gemm.cost import COMPUTE, LATENCIES, MEMORY, cost
from tpu_kernels.kernels.gemm.dtypes import accumulator_dtype, result_dtype
from tpu_kernels.kernels.gemm.problem import Problem
from tpu_kernels.kernels.gemm.schedule import Schedule
from tpu_kernels.kernels.gemm.tensor_core import tensor_core
from tpu_kernels.models import hardware
from tpu_kernels.xray.targets import target

GENERATIONS = ("v4", "v5e", "v5p", "v6e", "7x")


def problem(m: int, k: int, n: int, dtype: Any = jnp.bfloat16, g: int = 1) -> Problem:
    dtype = jnp.dtype(dtype)
    return Problem(g, m, k, n, dtype, accumulator_dtype(dtype), result_dtype(dtype))


SQUARE = problem(4096, 4096, 4096)


def of(block: tuple[int, int, int], chip: str, product: Problem = SQUARE, **options: Any) -> Any:
    return cost(product, Block(*block), tensor_core(chip), **options)


@pytest.mark.parametrize("chip", GENERATIONS)
def test_small_blocks_wait_for_the_memory_to_answer(chip: str) -> None:
    small = of((128, 128, 128), chip)
    assert small.bound == LATENCIES
    assert small.seconds > 5 * of((512, 1024, 512), chip).seconds


def test_the_same_block_is_balanced_on_one_chip_and_starved_on_another() -> None:
    """A v6e multiplies 4.7 times as fast as a v5e and reads twice as fast: its blocks must be larger."""
    assert of((512, 512, 512), "v5e").bound == COMPUTE
    assert of((512, 512, 512), "v6e").bound == MEMORY
    assert of((512, 512, 512), "v6e").share < 0.5 < 0.75 < of((512, 512, 512), "v5e").share


@pytest.mark.parametrize("chip", ["v5e", "v5p", "v6e", "7x"])
def test_larger_blocks_are_better(chip: str) -> None:
    sides = [(256, 256, 256), (512, 512, 512), (512, 1024, 1024), (1024, 1024, 1024)]
    seconds = [of(side, chip).seconds for side in sides]
    assert seconds == sorted(seconds, reverse=True)


def test_blocks_with_all_of_k_are_better_than_cubes_that_take_as_much_vmem() -> None:
    assert of((1024, 4096, 512), "v6e").seconds < of((2048, 1024, 1024), "v6e").seconds
    assert of((512, 4096, 512), "v5e").seconds < of((1024, 1024, 1024), "v5e").seconds


def test_a_block_narrower_than_the_matrix_unit_leaves_part_of_it_idle() -> None:
    narrow = of((2048, 4096, 128), "v6e")
    assert narrow.compute > 1.9 * of((2048, 4096, 256), "v6e").compute
    assert of((2048, 4096, 128), "v5e").compute == of((2048, 4096, 256), "v5e").compute


def test_float32_moves_twice_the_bytes_and_highest_multiplies_six_times() -> None:
    wide = problem(4096, 4096, 4096, jnp.float32)
    assert of((512, 512, 512), "v5e", wide).bytes == 2 * of((512, 512, 512), "v5e").bytes
    assert of((512, 512, 512), "v5e", wide).compute == of((512, 512, 512), "v5e").compute
    exact = of((512, 512, 512), "v5e", wide, precision=lax.Precision.HIGHEST)
    assert exact.compute == pytest.approx(6 * of((512, 512, 512), "v5e", wide).compute)
    assert of((512, 512, 512), "v5e", precision=lax.Precision.HIGHEST) == of((512, 512, 512), "v5e")


def test_two_cores_halve_the_work_and_not_the_bytes_of_a_block() -> None:
    alone, shared = (replace(tensor_core("v5p"), sharing=cores) for cores in (1, 2))
    one, two = (cost(SQUARE, Block(512, 512, 512), core) for core in (alone, shared))
    assert two.steps == one.steps / 2
    assert two.share == pytest.approx(one.share, rel=0.02)


@pytest.mark.parametrize(
    ("block", "reads"),
    [
        ((1024, 4096, 512), 4096 * 4096 + 4 * 4096 * 4096),  # a once, b for each of four rows of blocks
        ((512, 512, 512), 16 * 4096 * 4096),  # both eight times
        ((512, 4096, 4096), 2 * 4096 * 4096),  # b stays: both once
    ],
)
def test_bytes_are_those_that_the_grid_asks_for(block: tuple[int, int, int], reads: int) -> None:
    assert of(block, "v6e").bytes == 2 * (reads + 4096 * 4096)


# Chip, clock in Hz, sizes, block: the cycles that the simulator in libtpu 0.0.42.1 gave for bfloat16.
SIMULATED = [
    ("v6e", 1.75e9, (4096, 4096, 4096), Block(2048, 4096, 512, Schedule.PANELS), 282_800),
    ("v6e", 1.75e9, (4000, 4100, 3900), Block(1024, 4100, 512, Schedule.PANELS), 322_390),
    ("v6e", 1.75e9, (3000, 5000, 2000), Block(1504, 5000, 512, Schedule.PANELS), 137_733),
    ("v5e", 1.5e9, (4000, 4100, 3900), Block(2048, 4100, 128, Schedule.PANELS), 1_105_331),
    ("v5p", 1.75e9, (4000, 4100, 3900), Block(1024, 4100, 128, Schedule.PANELS, 2), 565_105),
    ("v6e", 1.75e9, (4096, 4096, 4096), Block(4096, 4096, 256, Schedule.RESIDENT), 273_759),
]


@pytest.mark.parametrize(("chip", "clock", "sizes", "block", "cycles"), SIMULATED, ids=str)
def test_the_model_agrees_with_the_compiler_s_simulator(
    chip: str, clock: float, sizes: tuple[int, int, int], block: Block, cycles: int
) -> None:
    assert cost(problem(*sizes), block, tensor_core(chip)).seconds * clock == pytest.approx(cycles, rel=0.03)


def test_an_operand_that_is_there_already_costs_no_bytes() -> None:
    there = cost(SQUARE, Block(4096, 4096, 256, Schedule.RESIDENT), tensor_core("v6e"))
    assert there.bytes == 2 * 4096 * 4096 * 2  # b and the result


sizes = st.integers(1, 3000)


@settings(deadline=None, max_examples=60)
@given(
    m=sizes,
    k=sizes,
    n=sizes,
    g=st.integers(1, 5),
    block=st.tuples(*[st.integers(1, 24)] * 3),
    chip=st.sampled_from(GENERATIONS),
)
def test_nothing_is_faster_than_the_chip(m: int, k: int, n: int, g: int, block: Any, chip: str) -> None:
    made, core = problem(m, k, n, g=g), tensor_core(chip)
    expected = cost(made, Block(*(128 * side for side in block)), core)
    assert 0 < expected.share < 1
    assert expected.seconds > expected.compute / 1.0000001
    assert expected.seconds > expected.memory
    assert expected.bytes >= made.bytes / core.sharing / 1.0000001


@pytest.mark.parametrize("chip", GENERATIONS)
def test_every_figure_of_a_core_is_the_catalogue_s(chip: str) -> None:
    core, found = tensor_core(chip), hardware.chip(chip)
    cores = int(found.tensorcores)
    assert core.vmem == found.vmem_per_core
    assert core.bandwidth * cores == found.hbm_bandwidth
    assert core.rate(jnp.dtype(jnp.bfloat16), None) * cores == found.peak_flops["bf16"]
    assert core.mxu == found.mxu_side
    assert core.sharing == (2 if chip in {"v4", "v5p"} else 1)


def test_formats_without_a_rate_run_as_bfloat16() -> None:
    assert tensor_core("v5e").rate(jnp.dtype(jnp.int8), None) == hardware.chip("v5e").peak_flops["int8"]
    for chip, dtype in (("v5e", jnp.float8_e4m3fn), ("7x", jnp.int8)):
        core = tensor_core(chip)
        assert core.rate(jnp.dtype(dtype), None) == core.rate(jnp.dtype(jnp.bfloat16), None)


def test_a_chip_that_is_no_tpu_has_no_core() -> None:
    with pytest.raises(LookupError):
        tensor_core("H100")


# Cycles of the simulator in libtpu 0.0.42.1, to which the constants of the model were fitted: blocks in HBM alone.
BLOCKS = list(csv.DictReader(Path(__file__).with_name("simulated_blocks.csv").read_text("utf-8").splitlines()))


def modelled(row: dict[str, str]) -> float:
    """Cycles, by the model."""
    g, m, k, n = (int(row[side]) for side in ("g", "m", "k", "n"))
    sides = (int(row[side]) for side in ("block_m", "block_k", "block_n"))
    block = Block(*sides, Schedule(row["schedule"]), int(row["cores"]))
    return (
        cost(problem(m, k, n, row["dtype"], g=g), block, tensor_core(row["chip"])).pipeline * target(row["chip"]).clock
    )


@pytest.mark.parametrize(("schedule", "most"), [("stream", 0.12), ("panels", 0.06)])
def test_the_model_is_as_near_to_the_simulator_as_it_was_fitted(schedule: str, most: float) -> None:
    errors = [modelled(row) / int(row["cycles"]) - 1 for row in BLOCKS if row["schedule"] == schedule]
    assert len(errors) > 40
    assert math.sqrt(statistics.fmean(error**2 for error in errors)) < most


def test_of_the_simulated_blocks_of_a_product_the_model_prefers_one_of_the_best() -> None:
    products: dict[tuple[str, ...], list[tuple[float, int]]] = {}
    for row in BLOCKS:
        asked = tuple(row[name] for name in ("chip", "g", "m", "k", "n", "dtype"))
        products.setdefault(asked, []).append((modelled(row), int(row["cycles"])))
    ratios = [min(blocks)[1] / min(cycles for _, cycles in blocks) for blocks in products.values()]
    assert len(ratios) > 20
    assert max(ratios) < 1.03
