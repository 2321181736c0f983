"""Dumps that the compiler left, of every generation, read whole: what can be counted by hand comes out."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tpu_kernels.xray import stored
from tpu_kernels.xray import hlo, kernel_dump, targets
from tpu_kernels.xray.dissect import kernels, moves
from tpu_kernels.xray.record import MODELLED, SIMULATED, Kernel, Move

Read = Callable[[str], tuple[Kernel, ...]]


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Read:
    known: dict[str, tuple[Kernel, ...]] = {}

    def find(name: str) -> tuple[Kernel, ...]:
        if name not in known:
            found, target = stored.entry(name), targets.target(name.rpartition("-")[2])
            reason = "" if target.simulates(found["libtpu"]) else "chip"
            result = stored.unpack(found, tmp_path_factory.mktemp(name))
            known[name] = kernels(result, stored.program(name).calls, target, reason)
        return known[name]

    return find


def moved(name: str, folder: Path) -> tuple[Move, ...]:
    found = stored.unpack(stored.entry(name), folder)
    return moves(hlo.parse(found.hlo), targets.target(name.rpartition("-")[2]))


CHIPS = ("v4", "v5e", "v5p", "v6e", "tpu7x")
PRODUCT = 2 * 512 * 1024 * 512


def test_every_dump_that_is_listed_is_there_and_no_other() -> None:
    assert {path.name.removesuffix(".json.gz") for path in stored.FOLDER.iterdir()} == set(stored.NAMES)
    assert sum(path.stat().st_size for path in stored.FOLDER.iterdir()) < 3_000_000


@pytest.mark.parametrize("name", stored.NAMES)
def test_all_that_can_be_compared_agrees(read: Read, name: str) -> None:
    for kernel in read(name):
        assert {"counts", "slots"} <= set(kernel.checks)
        assert kernel.cycles.value is not None
        assert kernel.cycles.value > 0
        assert kernel.executed is not None


@pytest.mark.parametrize("chip", CHIPS)
def test_a_product_has_its_steps_multiplications_and_traffic(read: Read, chip: str) -> None:
    (kernel,) = read(f"matmul-{chip}")
    assert {"steps", "products", "copies"} <= set(kernel.checks)
    assert (kernel.name, kernel.where, kernel.pallas, kernel.runs) == ("body", "kernels.py:38", True, 1)
    assert (kernel.flops, kernel.mxu_flops) == (PRODUCT, PRODUCT)
    assert kernel.steps == 8 // kernel.cores
    assert kernel.cores == (2 if chip == "v5p" else 1)
    assert kernel.hbm("written") == 512 * 512 * 2
    # Blocks of both operands change at each of the 8 steps. XLA brings them to TPU7x's VMEM before the kernel starts.
    assert kernel.hbm("read") == (0 if chip == "tpu7x" else 8 * (256 * 512 + 512 * 256) * 2)


@pytest.mark.parametrize("chip", CHIPS)
def test_the_pipeline_is_a_loop_of_two_trips_more_than_steps(read: Read, chip: str) -> None:
    (kernel,) = read(f"matmul-{chip}")
    assert kernel.steps is not None
    assert [(loop.entries, loop.trips) for loop in kernel.loops] == [(1, kernel.steps + 2)]
    counts = [region.executions for region in kernel.regions]
    assert kernel.steps in counts  # what each step does
    assert kernel.steps // 2 in counts  # what the first, and the last, of each pair along k does
    assert sum((region.last - region.first + 1) * region.executions for region in kernel.regions) == kernel.executed


@pytest.mark.parametrize("chip", CHIPS)
def test_cycles_say_where_they_come_from(read: Read, chip: str) -> None:
    (kernel,) = read(f"matmul-{chip}")
    simulated = chip in {"v5e", "v5p", "v6e"}
    assert kernel.cycles.label == (SIMULATED if simulated else MODELLED)
    assert kernel.cycles.reason == ("" if simulated else "chip")
    assert ("cycles" in kernel.checks) is simulated


def test_the_simulators_answers_are_kept_as_they_are(read: Read) -> None:
    """Of libtpu 0.0.42.1, which made the dumps."""
    cycles = {chip: read(f"matmul-{chip}")[0].cycles.value for chip in ("v5e", "v5p", "v6e")}
    assert cycles == {"v5e": 11569, "v5p": 5193, "v6e": 6854}


@pytest.mark.parametrize(("name", "passes"), [("int8-v5e", 1), ("int8-v6e", 1), ("highest-v5e", 6)])
def test_other_types_and_passes(read: Read, name: str, passes: int) -> None:
    (kernel,) = read(name)
    assert "products" in kernel.checks
    assert kernel.flops is not None
    assert kernel.mxu_flops == passes * kernel.flops


def test_types_are_told_apart(read: Read) -> None:
    assert set(read("int8-v5e")[0].mxu_operations or {}) == {"s8"}
    assert set(read("highest-v5e")[0].mxu_operations or {}) == {"f32"}


@pytest.mark.parametrize("chip", ["v5e", "v6e"])
def test_a_ragged_product_is_more_work_than_it_has(read: Read, chip: str) -> None:
    kernel = next(one for one in read(f"ragged-{chip}") if one.pallas)
    assert "products" in kernel.checks
    assert kernel.flops is not None and kernel.mxu_flops is not None
    assert kernel.flops <= kernel.mxu_flops


@pytest.mark.parametrize("chip", ["v4", "v5e", "v5p"])
def test_a_kernel_without_products_moves_each_byte_once(read: Read, chip: str) -> None:
    (kernel,) = read(f"elementwise-{chip}")
    array = 1024 * 512 * 4
    assert (kernel.hbm("read"), kernel.hbm("written"), kernel.mxu_flops) == (2 * array, array, 0)
    assert [traffic.starts for traffic in kernel.traffic] == [8, 8, 8]


@pytest.mark.parametrize("chip", ["v5e", "v6e"])
def test_copies_that_a_kernel_starts_itself_are_counted(read: Read, chip: str) -> None:
    (kernel,) = read(f"own_copies-{chip}")
    assert kernel.hbm("read") == 4 * 64 * 128 * 4
    assert kernel.hbm("written") == 64 * 128 * 4


def test_traffic_that_depends_on_data_is_not_known(read: Read) -> None:
    (kernel,) = read("chosen_rows-v5e")
    assert kernel.hbm("read") is None
    assert kernel.hbm("written") == 32 * 128 * 4


@pytest.mark.parametrize("chip", ["v4", "v6e"])
def test_a_kernel_in_a_loop_is_run_as_often(read: Read, chip: str) -> None:
    runs = {kernel.runs for kernel in read(f"repeated-{chip}")}
    assert runs == {5}


def test_kernels_that_are_alike_share_their_code(read: Read) -> None:
    first, second = read("alike-v6e")
    assert first.operation != second.operation
    assert (first.flops, second.flops) == (2 * 1024 * 512 * 512,) * 2


def test_kernels_that_are_not_alike_are_told_apart(read: Read) -> None:
    first, between, second = read("unlike-v5e")
    assert [first.pallas, between.pallas, second.pallas] == [True, False, True]
    assert (first.grid, second.grid) == ((2, 2, 1), (4, 1, 1))


@pytest.mark.parametrize("chip", ["v4", "v5e", "v5p", "tpu7x"])
def test_xla_is_read_as_pallas_is(read: Read, chip: str) -> None:
    fusions = read(f"mlp-{chip}")
    assert sum(kernel.flops or 0 for kernel in fusions) == 2 * 2 * 512**3
    for kernel in fusions:
        assert "products" in kernel.checks
        assert not kernel.pallas
        assert kernel.mxu_flops is not None and kernel.flops is not None
        assert kernel.flops <= kernel.mxu_flops < 1.1 * kernel.flops


def test_what_xla_moves_beside_the_kernels_is_listed(tmp_path: Path) -> None:
    found = moved("matmul-tpu7x", tmp_path)
    assert sorted((move.source, move.destination, move.bytes) for move in found) == [
        ("hbm", "vmem", 512 * 1024 * 2),
        ("hbm", "vmem", 1024 * 512 * 2),
    ]


def test_the_memory_near_v4_s_hbm_is_another(tmp_path: Path) -> None:
    assert {move.destination for move in moved("repeated-v4", tmp_path)} == {"cmem", "hbm"}


@pytest.mark.parametrize("name", stored.NAMES)
def test_shares_are_shares_and_bounds_are_sorted(read: Read, name: str) -> None:
    for kernel in read(name):
        assert kernel.use is not None
        assert all(0 <= share <= 1 for share in kernel.use.values())
        assert all(0 <= share <= 1 for region in kernel.regions for share in region.use.values())
        cycles = [bound.cycles for bound in kernel.bounds]
        assert cycles == sorted(cycles, reverse=True)


@pytest.mark.parametrize("name", stored.NAMES)
def test_memory_is_what_the_compiler_allocates(read: Read, name: str) -> None:
    for kernel in read(name):
        windows = [one for one in kernel.allocations if one.space == "vmem"]
        assert kernel.vmem is None or sum(one.size for one in windows) <= 128 << 20
        assert kernel.semaphores >= 0
        assert all(one.size > 0 for one in kernel.allocations)


def test_a_grid_whose_bound_is_data_is_not_known() -> None:
    written = "iteration_bounds: ({}) \n"
    assert kernel_dump.grid(written.format("3, 4")) == (3, 4)
    assert kernel_dump.grid(written.format("7,")) == (7,)
    assert kernel_dump.grid(written.format("2147483647,")) is None  # as libtpu writes a bound that it does not know
    assert kernel_dump.grid(written.format("2147483647, 4")) is None
    assert kernel_dump.grid(written.format("3,") + written.format("4,")) is None
    assert kernel_dump.grid("") is None
