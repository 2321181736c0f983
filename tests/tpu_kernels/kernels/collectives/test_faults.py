"""Every planted fault is found, in every run and in the way that it should be; the kernels without one are clean."""

from typing import Any

import pytest

from tests.tpu_kernels.kernels.collectives.faults import FAULTS, NONE, RUNS, SOURCE, Fault, caught, results


@pytest.fixture(scope="module")
def found() -> dict[str, dict[str, Any]]:
    return results([NONE.name, *FAULTS])


@pytest.mark.parametrize("fault", FAULTS.values(), ids=lambda fault: fault.name)
def test_a_fault_is_found(found: dict[str, dict[str, Any]], fault: Fault) -> None:
    assert caught(fault, found[fault.name]), found[fault.name]


def test_without_a_fault_nothing_is_found(found: dict[str, dict[str, Any]]) -> None:
    assert found[NONE.name] == {"name": NONE.name, "runs": [[]] * RUNS, "stopped": None, "phases": []}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=lambda fault: fault.name)
def test_a_fault_changes_one_place_of_the_kernels(fault: Fault) -> None:
    assert (SOURCE / fault.file).read_text("utf-8").count(fault.old) == 1


def test_values_alone_would_not_find_them_all(found: dict[str, dict[str, Any]]) -> None:
    """Some give the right values in every run: the interpreter has to look for races, and for signals left over."""
    hidden = [name for name in FAULTS if found[name]["runs"] and all("value" not in run for run in found[name]["runs"])]
    assert {"credit_not_waited_for", "send_not_waited_for"} <= set(hidden)
