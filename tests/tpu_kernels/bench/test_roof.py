"""What a machine can do, and the refusal of what it cannot."""

import pytest

from tpu_kernels.backend import Here
from tpu_kernels.bench.measurement_error import MeasurementError
from tpu_kernels.bench.roof import MEASURED, PUBLISHED, Roof, checked_rate, roof
from tpu_kernels.models import hardware

CPU = Here("cpu", 1, "cpu", None, None)
V5E = Here("tpu", 1, "TPU v5 lite", hardware.chip("v5e").id, None)
UNKNOWN = Here("gpu", 1, "a GPU of tomorrow", None, "99.0")


def test_a_known_chip_has_its_published_roof():
    chip = hardware.chip("v5e")
    assert roof(V5E, "bfloat16") == Roof(chip.peak_flops["bf16"], chip.hbm_bandwidth, PUBLISHED)


def test_a_format_that_no_source_rates_has_no_peak():
    assert roof(V5E, "float64").peak is None


def test_an_unknown_device_has_no_roof():
    assert roof(UNKNOWN, "bfloat16").seconds(1e9, 1e9) is None


def test_a_cpu_is_measured():
    found = roof(CPU, "float32")
    assert found.label == MEASURED
    assert found.peak > 1e8
    assert found.bandwidth > 1e8


def test_the_roof_is_the_slower_of_the_two():
    assert Roof(100.0, 10.0, PUBLISHED).seconds(1000, 10) == 10
    assert Roof(100.0, 10.0, PUBLISHED).seconds(1000, 200) == 20


@pytest.mark.parametrize("here", [CPU, V5E])
def test_a_rate_that_cannot_be_is_refused(here):
    """What a clock shows that does not wait for the result."""
    assert checked_rate(1e9, here, "bfloat16") == 1e9
    with pytest.raises(MeasurementError, match="block_until_ready"):
        checked_rate(1e16, here, "bfloat16")
