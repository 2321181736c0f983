"""Simulated devices need more threads than there may be."""

import pytest

from tpu_kernels.doctor.threads import find

EIGHT = "--xla_force_host_platform_device_count=8"


@pytest.mark.parametrize(
    ("environ", "threads", "found"),
    [
        ({}, 1, False),
        ({"XLA_FLAGS": EIGHT}, 2, True),
        ({"XLA_FLAGS": EIGHT}, 7, True),
        ({"XLA_FLAGS": EIGHT}, 8, False),
        ({"XLA_FLAGS": EIGHT, "NPROC": "64"}, 2, False),
        ({"XLA_FLAGS": EIGHT, "NPROC": "2"}, 64, True),
        ({"XLA_FLAGS": EIGHT, "NPROC": "many"}, 2, True),
    ],
)
def test_more_devices_than_threads_are_a_warning(evidence, environ, threads: int, found: bool) -> None:
    told = find(evidence(environ=environ, threads=threads))
    assert [(finding.kind, finding.severity) for finding in told] == ([("threads", "warning")] if found else [])
    assert not told or "NPROC=64" in told[0].cure


def test_devices_that_jax_shows_count_too(evidence, seen) -> None:
    told = find(evidence(threads=2, jax=seen(count=8)))
    assert "8 dispositivos simulados y 2 hilos" in told[0].message


def test_devices_of_an_accelerator_are_not_simulated(evidence, seen) -> None:
    assert find(evidence("tpu", threads=2, jax=seen("tpu", count=8))) == []
