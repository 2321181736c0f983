"""The generations: what they are called, how fast they are, what the simulator knows."""

import pytest

from tpu_kernels.models import hardware
from tpu_kernels.xray import targets
from tpu_kernels.xray.errors import UnknownTargetError


@pytest.mark.parametrize("name", ["v5e", "V5E", "TPU v5e", "TPU v5 lite", "v5litepod", "tpu_v5e"])
def test_a_generation_has_all_the_names_that_the_catalogue_knows(name: str) -> None:
    assert targets.target(name).chip == "v5e"


@pytest.mark.parametrize("name", ["v3", "h100", "v9", ""])
def test_another_chip_is_refused_with_those_that_are_known(name: str) -> None:
    with pytest.raises(UnknownTargetError, match="v4, v5e, v5p, v6e, tpu7x"):
        targets.target(name)


@pytest.mark.parametrize(
    ("chip", "clock"), [("v4", 1.05e9), ("v5e", 1.5e9), ("v5p", 1.75e9), ("v6e", 1.75e9), ("tpu7x", 2.2e9)]
)
def test_clocks_are_published_or_implied_by_the_peak(chip: str, clock: float) -> None:
    assert targets.target(chip).clock == pytest.approx(clock, rel=2e-3)


@pytest.mark.parametrize("chip", targets.TARGETS)
def test_the_parts_of_a_chip_make_up_the_chip(chip: str) -> None:
    target, whole = targets.target(chip), hardware.chip(targets.target(chip).hardware.id)
    devices = target.devices_per_chip
    assert devices * target.cores == int(whole.tensorcores)
    assert target.peak("bf16") == pytest.approx(float(whole.peak_flops["bf16"]) / devices)
    assert target.hbm_bandwidth == pytest.approx(float(whole.hbm_bandwidth) / devices)
    per_cycle = 2 * target.cores * target.mxus * target.mxu_side**2 * target.mxu_rows_per_cycle
    assert per_cycle * target.clock == pytest.approx(target.peak("bf16"), rel=3e-3)


def test_a_rate_that_nobody_published_is_not_known() -> None:
    assert targets.target("tpu7x").peak("int8") is None


@pytest.mark.parametrize(
    ("chip", "libtpu", "known"),
    [
        ("v4", "0.0.42.1", False),
        ("v4", "1.0", False),
        ("v5e", "0.0.42.1", True),
        ("v6e", "0.0.50.1", True),
        ("tpu7x", "0.0.42.1", False),
        ("tpu7x", "0.0.50", False),
        ("tpu7x", "0.0.50.1", True),
        ("tpu7x", "0.0.100", True),
    ],
)
def test_the_simulator_knows_some_generations_from_some_version_on(chip: str, libtpu: str, known: bool) -> None:
    assert targets.target(chip).simulates(libtpu) is known
