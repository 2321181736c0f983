"""Kernels that cannot fit in VMEM, found before the compiler is asked: it takes minutes to refuse the largest."""

from collections.abc import Sequence

from tpu_kernels.phrases import phrase
from tpu_kernels.xray.compiler_errors import over
from tpu_kernels.xray.errors import CompileError
from tpu_kernels.xray.kernel_call import KernelCall
from tpu_kernels.xray.targets import Target


def require(calls: Sequence[KernelCall], target: Target) -> None:
    """Raise :class:`CompileError` with both numbers for the first kernel whose blocks and scratch cannot fit.

    Counts the least that they can take, so that nothing is refused that would compile: an array that fits in VMEM whole
    may be kept there, and then needs no second buffer.
    """
    for call in calls:
        limit = call.vmem_limit or target.scoped_vmem
        windows = [window for window in call.windows if window]
        least = sum(min(window.buffers * window.block_bytes, window.array_bytes) for window in windows)
        moving = sum(window.buffers * window.block_bytes for window in windows if window.array_bytes > target.vmem)
        for needed, most in ((least + call.scratch_bytes, target.vmem), (moving + call.scratch_bytes, limit)):
            if needed > most:
                found = over("vmem", needed, most, target.vmem)
                message = phrase("xray.at", where=call.where, message=found.message) if call.where else found.message
                raise CompileError(message, "", "vmem", got=needed, limit=most, where=call.where or None)
