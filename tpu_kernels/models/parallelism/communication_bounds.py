"""From which batch, and up to how many ways, communication hides behind arithmetic: closed forms.

All of them compare the FLOP of the feed-forward matrices with the bytes of the collectives that their splitting needs,
sent at the bandwidth of as many mesh axes as carry them. ``intensity`` is a chip's FLOP/s over the bytes/s that it
sends along **one** axis, both links of the ring together. The limit of many devices is taken: ``(n - 1) / n`` is 1.
Source: scaling book, chapter 5.
"""

from math import sqrt

from tpu_kernels.models.checked_number import positive_number
from tpu_kernels.models.hardware import Chip
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.models.roofline.amounts import itemsize
from tpu_kernels.models.roofline.machine import Machine, machine


def network_intensity(on: str | Chip | Machine, dtype: str = "bf16", level: str = "ici") -> Quantity:
    """FLOP that the chip does in ``dtype`` while it sends one byte over ``level`` (one axis of ICI, or ``dcn``)."""
    target = machine(on)
    return Quantity(target.rate(dtype) / target.level(level).bandwidth, "FLOP/byte")


def fsdp_batch_per_device(intensity: float, *, axes: float = 1, dtype: str = "bf16") -> float:
    """Tokens per device from which data parallelism and FSDP are bound by compute: ``s * intensity / (2 axes)``.

    With ``s`` bytes a parameter: the forward pass does 2 FLOP per parameter and token and gathers ``s`` bytes per
    parameter; the backward pass, twice both. In bf16, ``intensity / axes``.
    """
    return itemsize(dtype) * positive_number("intensity", intensity) / (2 * positive_number("axes", axes))


def tensor_ways(d_ff: int, intensity: float, *, axes: float = 1, matrices: int = 2, dtype: str = "bf16") -> float:
    """Devices up to which tensor parallelism of a feed-forward block is bound by compute, whatever the batch.

    ``matrices * axes * d_ff / (s * intensity)``: forward it does 2 FLOP per parameter and token, and gathers and
    scatters ``s`` bytes per element of width and token; backward, twice the FLOP hide the same bytes. The book leaves
    the gate out (2 matrices, bf16: ``axes * d_ff / intensity``); a gated block has 3.
    """
    work = positive_number("matrices", matrices) * positive_number("axes", axes) * positive_number("d_ff", d_ff)
    return work / (itemsize(dtype) * positive_number("intensity", intensity))


def optimal_fsdp(
    tokens: float, d_ff: int, devices: int, *, fsdp_axes: float = 2, tensor_axes: float = 1, matrices: int = 2
) -> float:
    """Devices of ``fsdp`` that make its time equal to that of ``tensor``, of ``devices`` in all: the mixture whose
    longer communication is shortest. ``sqrt(2 tokens / (matrices d_ff) * fsdp_axes / tensor_axes * devices)``.
    """
    block = positive_number("matrices", matrices) * positive_number("d_ff", d_ff)
    axes = positive_number("fsdp_axes", fsdp_axes) / positive_number("tensor_axes", tensor_axes)
    return sqrt(2 * positive_number("tokens", tokens) / block * axes * positive_number("devices", devices))


def fsdp_tensor_batch_per_device(
    d_ff: int,
    intensity: float,
    *,
    fsdp_axes: float = 2,
    tensor_axes: float = 1,
    matrices: int = 2,
    overlap: bool = True,
) -> float:
    """Tokens per device from which the best mixture of FSDP and tensor parallelism is bound by compute, in bf16.

    ``2 intensity² / (matrices d_ff fsdp_axes tensor_axes)`` when both communicate at once, on axes of their own; four
    times that when one waits for the other (``overlap=False``), as the book's first edition had it.
    """
    alpha = positive_number("intensity", intensity)
    axes = positive_number("fsdp_axes", fsdp_axes) * positive_number("tensor_axes", tensor_axes)
    block = positive_number("matrices", matrices) * positive_number("d_ff", d_ff)
    return (2 if overlap else 8) * alpha**2 / (block * axes)


def dcn_batch_per_slice(intensity: float) -> float:
    """Tokens per slice from which data parallelism between slices is bound by compute.

    ``intensity`` is the chip's FLOP/s over the bytes/s that it sends over the data-centre network. Every chip of a
    slice sends its own part of the gradients, so that the size of the slice cancels: the batch of a whole slice must
    exceed the intensity of one chip.
    """
    return positive_number("intensity", intensity)


def largest_replicated_model(on: str | Chip | Machine, bytes_per_parameter: float) -> Quantity:
    """Parameters of the largest model whose states fit in the HBM of one chip, activations aside."""
    return Quantity(machine(on).capacity() / positive_number("bytes_per_parameter", bytes_per_parameter), "count")
