"""The alpha-beta model of a link: a message of ``s`` bytes takes ``alpha + s / bandwidth``.

Textbook form (Hockney). ``alpha`` is paid per message, whatever its size; ``beta`` is the inverse of the bandwidth.
"""

from typing import NamedTuple

from tpu_kernels.models.network.link_rates import bytes_per_second
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.models.roofline.amounts import not_negative
from tpu_kernels.phrases import phrase


class AlphaBeta(NamedTuple):
    """``alpha`` in seconds and ``bandwidth`` in bytes/s, one way. Make it with :func:`link`, which checks them."""

    alpha: Quantity
    bandwidth: Quantity

    def __repr__(self) -> str:
        return phrase("collective.alpha_beta", alpha=self.alpha, bandwidth=self.bandwidth)

    def time(self, size: float) -> Quantity:
        """Seconds for a message of ``size`` bytes. ``ValueError`` for a negative size."""
        return Quantity(self.alpha + not_negative("size", size) / self.bandwidth, "s")

    @property
    def half_size(self) -> Quantity:
        """The message, in bytes, that reaches half of the bandwidth: ``alpha * bandwidth``. Smaller ones mostly
        wait."""
        return Quantity(self.alpha * self.bandwidth, "bytes")


def link(*, alpha: float, bandwidth: float) -> AlphaBeta:
    """A link with ``alpha`` seconds a message and ``bandwidth`` bytes/s one way (a quantity in bit/s is converted).

    ``ValueError`` for a negative or non-finite ``alpha`` and for a bandwidth that is not positive.
    """
    rate = bytes_per_second("bandwidth", bandwidth)
    return AlphaBeta(Quantity(not_negative("alpha", alpha), "s"), Quantity(rate, "bytes/s"))
