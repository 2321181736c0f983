"""nvidia-smi's answers: read when it answers, nothing when it does not."""

import os
from pathlib import Path

import pytest

from tpu_kernels.machine import nvidia_smi
from tpu_kernels.machine.nvidia_smi import MEBIBYTE, GpuMemory, gpu_memory, parse

GPUS = "0, GPU-aaa, NVIDIA H200, 143771, 143000\n1, GPU-bbb, NVIDIA H200, 143771, 12\n"
PROCESSES = "GPU-bbb, 1234\nGPU-bbb, 99\n"


def test_each_gpu_has_its_memory_and_its_processes() -> None:
    first, second = parse(GPUS, PROCESSES)
    assert first == GpuMemory(0, "NVIDIA H200", 143771 * MEBIBYTE, 143000 * MEBIBYTE)
    assert second == GpuMemory(1, "NVIDIA H200", 143771 * MEBIBYTE, 12 * MEBIBYTE, (1234, 99))


@pytest.mark.parametrize("answer", ["", "\n", "No devices were found\n", "0, GPU-a, NVIDIA GB10, [N/A], [N/A]\n"])
def test_an_answer_without_numbers_gives_nothing(answer: str) -> None:
    assert parse(answer, answer) == ()


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    def write(script: str) -> None:
        path = tmp_path / "nvidia-smi"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    return write


def test_the_program_is_asked_for_both(program) -> None:
    program(f"case $2 in *compute-apps*) printf '{PROCESSES}';; *) printf '{GPUS}';; esac".replace("\n", "\\n"))
    assert gpu_memory() == parse(GPUS, PROCESSES)


@pytest.mark.parametrize("script", [f"echo {GPUS.splitlines()[0]}; exit 9", "exec sleep 5"])
def test_a_program_that_fails_or_hangs_gives_nothing(program, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    monkeypatch.setattr(nvidia_smi, "TIME_LIMIT", 0.2)
    program(script)
    assert gpu_memory() == ()


def test_without_the_program_there_is_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert gpu_memory() == ()
