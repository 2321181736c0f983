"""Kernels that cannot fit are refused before the compiler is asked, with both numbers; those that may fit are not."""

import jax.numpy as jnp
import pytest

from tests.tpu_kernels.xray import kernels
from tpu_kernels.xray import fit, targets
from tpu_kernels.xray.errors import CompileError
from tpu_kernels.xray.kernel_call import KernelCall
from tpu_kernels.xray.program import lower

MIB = 2**20


def calls(case: kernels.Program, chip: str = "v5e") -> tuple[KernelCall, ...]:
    return lower(*case, targets.target(chip)).calls


def test_blocks_beyond_vmem_are_refused_with_both_numbers() -> None:
    """Blocks of 8192 x 4096: 64 MiB of each operand, 256 of the result and its sums."""
    whole = kernels.matmul(8192, 4096, 8192, (8192, 4096, 8192), jnp.float32)
    with pytest.raises(CompileError, match=r"kernels\.py:\d+: .*768.MiB de VMEM.* 128.MiB") as caught:
        fit.require(calls(whole), targets.target("v5e"))
    assert (caught.value.kind, caught.value.got, caught.value.limit) == ("vmem", 768 * MIB, 128 * MIB)
    assert "vmem_limit_bytes" not in str(caught.value)


def test_moving_blocks_beyond_what_the_kernel_asks_for_are_refused() -> None:
    """Operands of 256 MiB surely stay in HBM, and their blocks, of 16 MiB, need two buffers each."""
    moving = kernels.matmul(8192, 16384, 8192, (1024, 8192, 1024))
    with pytest.raises(CompileError, match="VMEM") as caught:
        fit.require(calls(moving), targets.target("v5e"))
    assert caught.value.limit == 16 * MIB
    assert "vmem_limit_bytes" in str(caught.value)
    asked = kernels.matmul(8192, 16384, 8192, (1024, 8192, 1024), vmem_limit_bytes=100 * MIB)
    fit.require(calls(asked), targets.target("v5e"))


@pytest.mark.parametrize("chip", targets.TARGETS)
@pytest.mark.parametrize("case", kernels.CASES)
def test_what_compiles_is_not_refused(case: str, chip: str) -> None:
    if case == "int8" and chip == "v4":  # jax lowers it, and the compiler refuses the type
        return
    fit.require(calls(kernels.CASES[case], chip), targets.target(chip))


def test_arrays_that_may_stay_in_vmem_need_no_second_buffer() -> None:
    """32 MiB of each, in halves: the compiler takes it on TPU7x."""
    halves = kernels.elementwise(16384, 4096)
    fit.require(calls(halves, "tpu7x"), targets.target("tpu7x"))
