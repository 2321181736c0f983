"""GPU memory: less free than jax asks for, and by whom it is held."""

import pytest

from tpu_kernels.doctor.gpu_memory import GIBIBYTE, find
from tpu_kernels.machine.nvidia_smi import GpuMemory


def gpu(free: float, *holders: int, index: int = 0) -> GpuMemory:
    """A GPU of 80 GiB."""
    return GpuMemory(index, "NVIDIA H200", 80 * GIBIBYTE, int(free * GIBIBYTE), holders)


def test_free_memory_is_no_finding(evidence) -> None:
    assert find(evidence("gpu")) == []
    assert find(evidence("gpu", gpus=(gpu(60),))) == []


def test_memory_that_others_hold_is_a_warning_with_the_numbers(evidence) -> None:
    (found,) = find(evidence("gpu", gpus=(gpu(60), gpu(59.5, 12, 34, index=1))))
    assert (found.kind, found.severity) == ("gpu_memory", "warning")
    assert "GPU 1 (NVIDIA H200): libres 59,5 GiB de 80,0, y jax pide 60,0" in found.message
    assert found.message.endswith("proceso 12, proceso 34.")
    assert "XLA_PYTHON_CLIENT_PREALLOCATE=false" in found.cure


def test_a_holder_in_another_container_is_not_invented(evidence) -> None:
    assert "no se ve desde aquí" in find(evidence("gpu", gpus=(gpu(1),)))[0].message


def test_what_this_process_took_is_a_note(evidence) -> None:
    for own in (evidence("gpu", gpus=(gpu(10, 1000),)), evidence("gpu", jax_started=True, gpus=(gpu(10),))):
        (found,) = find(own)
        assert found.severity == "note"
        assert "este mismo proceso" in found.message


@pytest.mark.parametrize(
    ("environ", "enough"),
    [
        ({}, 60),
        ({"XLA_CLIENT_MEM_FRACTION": ".5"}, 40),
        ({"XLA_PYTHON_CLIENT_MEM_FRACTION": "0.25"}, 20),
        ({"XLA_CLIENT_MEM_FRACTION": "0.5", "XLA_PYTHON_CLIENT_MEM_FRACTION": "0.25"}, 40),
        ({"XLA_CLIENT_MEM_FRACTION": "half"}, 60),
        ({"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}, 8),
        ({"XLA_PYTHON_CLIENT_PREALLOCATE": "true"}, 60),
        ({"XLA_PYTHON_CLIENT_ALLOCATOR": "platform"}, 8),
    ],
)
def test_how_much_is_asked_for_is_what_the_environment_says(evidence, environ: dict[str, str], enough: float) -> None:
    assert find(evidence("gpu", environ=environ, gpus=(gpu(enough),))) == []
    assert len(find(evidence("gpu", environ=environ, gpus=(gpu(enough - 0.1),)))) == 1
