"""Speeds by a clock that the test turns, and a peak that is known or not."""

from collections.abc import Iterable
from types import SimpleNamespace

import jax.numpy as jnp
import pytest

from tpu_kernels import backend
from tpu_kernels.models import hardware
from tpu_kernels.training import metrics
from tpu_kernels.training.metrics import Meter, Speed, Work, peak_flops


class Clock:
    """Stands still unless told."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


class Result:
    """What a device will have computed, some day."""

    waited = 0

    def block_until_ready(self) -> "Result":
        self.waited += 1
        return self


def devices(*places: tuple[int, tuple[int, ...]]) -> Iterable[SimpleNamespace]:
    return [SimpleNamespace(process_index=process, coords=coords, id=n) for n, (process, coords) in enumerate(places)]


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch):
    def use(chip: str | None) -> None:
        seen = backend.Here(platform="tpu", count=1, kind="some kind", chip=chip, compute_capability=None)
        monkeypatch.setattr(metrics, "here", lambda: seen)

    return use


V5E = hardware.chip("v5e")
PEAK = float(V5E.peak_flops["bf16"])


def test_the_rates_are_counts_over_the_time_between_readings(on) -> None:
    on(V5E.id)
    clock = Clock()
    meter = Meter(Work(tokens=128, flops=PEAK / 1000), devices((0, (0, 0))), clock)
    assert meter.read(3, 30) is None  # nobody started it
    meter.start(jnp.zeros(2))
    clock.now += 2
    assert meter.read(10, 200) == pytest.approx((5, 100, 12800, PEAK / 10, 0.1))
    clock.now += 4  # the second reading starts at the first
    assert meter.read(10, 200) == pytest.approx((2.5, 50, 6400, PEAK / 20, 0.05))
    assert meter.read(10, 200) is None  # in no time
    clock.now += 100
    assert meter.read(0, 0) is None
    meter.start(jnp.zeros(2))  # and what came before does not count
    clock.now += 1
    assert meter.read(4, 8) == pytest.approx((4, 8, 1024, 8 * PEAK / 1000, 0.008))


def test_it_waits_for_the_results_before_the_clock_starts() -> None:
    result = Result()
    Meter(Work(), [], Clock()).start({"loss": result})
    assert result.waited == 1


def test_what_is_not_known_is_none(on) -> None:
    clock = Clock()

    def speed(work: Work) -> Speed | None:
        meter = Meter(work, devices((0, (0,))), clock)
        meter.start(())
        clock.now += 1
        return meter.read(1, 2)

    on(V5E.id)
    assert speed(Work()) == (1, 2, None, None, None)
    assert speed(Work(tokens=3)) == (1, 2, 6, None, None)
    on(None)
    assert speed(Work(tokens=3, flops=5.0)) == (1, 2, 6, 10, None)


def test_more_than_the_peak_is_no_measurement_and_is_said_so(on) -> None:
    on(V5E.id)
    clock = Clock()
    meter = Meter(Work(flops=2 * PEAK), devices((0, (0, 0))), clock)
    meter.start(())
    clock.now += 1
    with pytest.warns(backend.FallbackWarning, match=r"más que el pico de los chips \(1\.97e\+14"):
        speed = meter.read(1, 1)
    assert speed == (1, 1, None, 2 * PEAK, None)


def test_a_chip_of_two_devices_counts_once_and_hosts_may_share_coordinates(on) -> None:
    on(V5E.id)
    assert peak_flops(devices((0, (0, 0)), (0, (0, 0)))) == PEAK
    assert peak_flops(devices((0, (0, 0)), (0, (1, 0)), (1, (0, 0)))) == 3 * PEAK
    without = [SimpleNamespace(process_index=0, id=0), SimpleNamespace(process_index=0, id=1)]
    assert peak_flops(without) == 2 * PEAK


@pytest.mark.parametrize("chip", [None, "intel_gaudi1"])
def test_a_peak_without_a_source_is_none(on, chip: str | None) -> None:
    on(chip)
    if chip:
        assert "bf16" not in hardware.chip(chip).peak_flops
    assert peak_flops(devices((0, (0, 0)))) is None


def test_there_is_no_peak_for_this_machines_cpu() -> None:
    assert peak_flops([]) is None
