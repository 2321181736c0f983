"""Hardware by the marks of the operating system, and the place by the marks of whoever runs it."""

from pathlib import Path

import pytest

from tpu_kernels.machine.attached import Attached, attached
from tpu_kernels.machine.place import Place, place


@pytest.fixture
def device(tmp_path: Path):
    def add(address: str, vendor: str, kind: str) -> None:
        folder = tmp_path / "sys/bus/pci/devices" / address
        folder.mkdir(parents=True)
        (folder / "vendor").write_text(f"{vendor}\n")
        (folder / "device").write_text(f"{kind}\n")

    return add


def test_an_empty_machine_has_a_cpu(tmp_path: Path) -> None:
    found = attached(tmp_path)
    assert found == Attached(0, nvidia=False, amd=False)
    assert found.platforms == ("cpu",)


def test_tpu_chips_are_counted_and_googles_other_devices_are_not(tmp_path: Path, device) -> None:
    device("0000:00:04.0", "0x1ae0", "0x0063")
    device("0000:00:05.0", "0x1ae0", "0x006f")
    device("0000:00:06.0", "0x1ae0", "0x0042")
    device("0000:00:07.0", "0x10de", "0x0063")
    assert attached(tmp_path).tpu_chips == 2
    assert attached(tmp_path).platforms == ("tpu", "cpu")


def test_a_device_that_cannot_be_read_is_no_tpu(tmp_path: Path) -> None:
    (tmp_path / "sys/bus/pci/devices/0000:00:04.0").mkdir(parents=True)
    assert attached(tmp_path).tpu_chips == 0


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("dev/nvidia0", Attached(nvidia=True)),
        ("dev/nvidiactl", Attached(nvidia=True)),
        ("usr/lib/wsl/lib/nvidia-smi", Attached(nvidia=True)),
        ("dev/kfd", Attached(amd=True)),
        ("dev/null", Attached()),
    ],
)
def test_a_gpu_is_known_by_the_files_of_its_driver(tmp_path: Path, name: str, found: Attached) -> None:
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).touch()
    assert attached(tmp_path) == found


@pytest.mark.parametrize(
    ("hardware", "platforms"),
    [
        (Attached(), {"cpu"}),
        (Attached(tpu_chips=1), {"cpu", "tpu"}),
        (Attached(nvidia=True), {"cpu", "gpu", "cuda"}),
        (Attached(amd=True), {"cpu", "gpu", "rocm"}),
    ],
)
def test_each_platform_has_its_hardware(hardware: Attached, platforms: set[str]) -> None:
    assert {name for name in ("cpu", "cuda", "gpu", "rocm", "tpu") if hardware.has(name)} == platforms


@pytest.mark.parametrize(
    ("environ", "hardware", "expected"),
    [
        ({}, Attached(), "machine"),
        ({}, Attached(nvidia=True), "gpu_machine"),
        ({}, Attached(tpu_chips=1, nvidia=True), "tpu_vm"),
        ({"COLAB_RELEASE_TAG": "r"}, Attached(tpu_chips=1), "colab"),
        ({"KAGGLE_KERNEL_RUN_TYPE": "Batch"}, Attached(nvidia=True), "kaggle"),
        ({"KAGGLE_KERNEL_RUN_TYPE": "Batch", "COLAB_RELEASE_TAG": "r"}, Attached(), "kaggle"),
    ],
)
def test_a_hosted_notebook_comes_before_its_hardware(
    environ: dict[str, str], hardware: Attached, expected: Place
) -> None:
    assert place(environ, hardware) == expected
