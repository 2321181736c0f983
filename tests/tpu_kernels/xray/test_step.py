"""The step of a kernel: which loop it is, where it multiplies, which copies cross from one step to the next."""

import dataclasses

import pytest

from tests.tpu_kernels.xray import stored
from tpu_kernels.xray import targets
from tpu_kernels.xray.kernel_dump import KernelDump
from tpu_kernels.xray.regions import loops
from tpu_kernels.xray.replay import Replay
from tpu_kernels.xray.step import Flight, Step, step


def only(name: str) -> KernelDump:
    (dump,) = stored.dumps(name).values()
    return dump


def step_of(dump: KernelDump, chip: str) -> Step:
    found = step(dump, loops(dump.replay, targets.target(chip).delay_slots))
    assert found is not None
    return found


def test_the_step_is_the_loop_of_the_grid() -> None:
    found = step_of(only("matmul-v5e"), "v5e")
    assert (found.first, found.last, found.trips) == (16, 760, 10)  # 8 steps, and two to fill and drain the pipeline
    assert (found.bins[0].first, found.bins[-1].last) == (16, 760)


def test_without_a_loop_the_step_is_the_whole_program() -> None:
    dump = only("mlp-v5e")
    found = step_of(dump, "v5e")
    assert (found.first, found.last, found.trips) == (0, len(dump.bundles) - 1, 1)
    assert not any(flight.ahead for flight in found.flights)


@pytest.mark.parametrize("name", ["matmul-v4", "matmul-v5e", "int8-v6e", "mlp-tpu7x"])
def test_multiplications_are_where_the_program_has_them(name: str) -> None:
    dump = only(name)
    found = step_of(dump, name.rpartition("-")[2])
    written = [bundle.address for bundle in dump.bundles if "vmatmul" in bundle.body]
    inside = [address for address in written if found.first <= address <= found.last]
    assert (found.mxu_first, found.mxu_last) == (inside[0], inside[-1])


def test_a_program_that_does_not_multiply_says_so() -> None:
    found = step_of(only("elementwise-v5e"), "v5e")
    assert (found.mxu_first, found.mxu_last) == (None, None)


def test_a_pipeline_waits_for_what_the_step_before_started() -> None:
    found = step_of(only("matmul-v5e"), "v5e")
    assert found.flights == (
        Flight(40, "hbm", "vmem", 0, 8, (74,), True),
        Flight(65, "hbm", "vmem", 1, 8, (78,), True),
        Flight(741, "vmem", "hbm", 2, 4, (746,), True),
    )


def test_a_copy_by_hand_is_waited_for_in_the_step_that_starts_it() -> None:
    found = step_of(only("own_copies-v5e"), "v5e")
    assert found.flights[0] == Flight(12, "hbm", "vmem", 0, 4, (13,), False)


def test_a_wait_before_the_start_is_for_another_trip() -> None:
    dump = only("own_copies-v5e")
    moved = tuple(dataclasses.replace(copy, bundle=copy.bundle + 3) for copy in dump.copies)
    found = step_of(dataclasses.replace(dump, copies=moved), "v5e")
    assert found.flights[0] == Flight(15, "hbm", "vmem", 0, 4, (13,), True)


def test_without_a_loop_no_copy_is_of_another_step() -> None:
    found = step(only("matmul-v5e"), ())
    assert found is not None
    assert [(flight.waits, flight.ahead) for flight in found.flights] == [((), False)] * 3


def test_executions_that_are_not_known_are_no_step() -> None:
    dump = only("matmul-v5e")
    unknown = Replay(None, {}, (None,) * len(dump.copies), (None,) * len(dump.copies))
    assert step(dataclasses.replace(dump, cores=(unknown,)), ()) is None
