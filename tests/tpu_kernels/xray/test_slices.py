"""Slices by name: what they are made of, and which do not exist."""

import pytest

from tpu_kernels.xray import slices, targets
from tpu_kernels.xray.errors import UnknownTargetError


@pytest.mark.parametrize(
    ("topology", "chips", "devices"),
    [
        ("v4:16x16x16", 4096, 8192),
        ("v5e:16x16", 256, 256),
        ("v5p:16x20x28", 8960, 8960),
        ("v6e:16x16", 256, 256),
        ("tpu7x:16x16x36", 9216, 18432),
    ],
)
def test_whole_pods(topology: str, chips: int, devices: int) -> None:
    pod = slices.named(topology)
    assert (pod.name, pod.chips, pod.devices) == (topology, chips, devices)
    assert pod.chips == int(pod.target.hardware.pod_chips)


@pytest.mark.parametrize("chip", targets.TARGETS)
def test_the_smallest_is_taken_when_none_is_named(chip: str) -> None:
    target = targets.target(chip)
    assert slices.of(None, target).name == target.topology


@pytest.mark.parametrize(
    ("topology", "reason"),
    [
        ("v5p:16x20x29", "8960"),
        ("v5e:32x16", "256"),
        ("v5e:3x3", "2x2"),
        ("v5e:1x1", "2x2"),
        ("v5p:2x2", "3 lados"),
        ("v5p:8x8x6", "4"),
        ("tpu7x:16x16x40", "9216"),
        ("v9:2x2", "v5e"),
        ("v5e", "v5e:2x2"),
    ],
)
def test_one_that_does_not_exist_is_refused_with_what_does(topology: str, reason: str) -> None:
    with pytest.raises(UnknownTargetError, match=reason):
        slices.named(topology)
