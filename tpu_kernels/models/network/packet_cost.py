"""What a packet costs the host that sends or receives it, and the rate that this allows.

A packet of ``P`` bytes takes ``c0 + c1 * P`` seconds, so the host moves at most ``P / (c0 + c1 * P)`` (formula F16).
A line may allow less; the slower of the two binds. The costs belong to one host and its software: measure them, then
:func:`fit_packet_cost`.
"""

from collections.abc import Iterable
from typing import NamedTuple

from tpu_kernels.models.checked_number import positive_number
from tpu_kernels.models.collective_cost.alpha_beta_fit import weighted_line
from tpu_kernels.models.network.frames import Frame
from tpu_kernels.models.network.link_rates import bits_per_second
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.models.roofline.amounts import not_negative
from tpu_kernels.phrases import phrase

ROUNDING = 1e-9


class PacketCost(NamedTuple):
    """Seconds per packet and per byte of payload. Make it with :func:`packet_cost` or :func:`fit_packet_cost`."""

    per_packet: Quantity
    per_byte: Quantity

    def __repr__(self) -> str:
        return phrase("packet.cost", per_packet=self.per_packet, per_byte=self.per_byte)

    def goodput(self, payload: float) -> Quantity:
        """Payload that the host moves, bit/s, in packets of ``payload`` bytes."""
        size = positive_number("payload", payload)
        return Quantity(8 * size / (self.per_packet + self.per_byte * size), "bit/s")

    def packets_per_second(self, payload: float) -> Quantity:
        """How many packets of ``payload`` bytes the host moves in a second."""
        return Quantity(1 / (self.per_packet + self.per_byte * positive_number("payload", payload)), "pps")


def packet_cost(*, per_packet: float, per_byte: float = 0.0) -> PacketCost:
    """The cost of a host: ``per_packet`` and ``per_byte`` in seconds. ``ValueError`` unless the first is positive and
    the second zero or more."""
    return PacketCost(
        Quantity(positive_number("per_packet", per_packet), "s"), Quantity(not_negative("per_byte", per_byte), "s")
    )


def fit_packet_cost(points: Iterable[tuple[float, float]]) -> PacketCost:
    """The cost behind measured (payload in bytes, goodput in bit/s) where the host and not the line was the limit.

    Least squares on the relative error of the time per packet; two points are met exactly. ``ValueError`` for fewer
    than two sizes, or points that no positive cost explains.
    """
    times = [
        (positive_number("payload", size), 8 * positive_number("payload", size) / bits_per_second("goodput", rate))
        for size, rate in points
    ]
    if len({size for size, _ in times}) < 2:
        raise ValueError(phrase("fit.too_few", got=len({size for size, _ in times}), least=2))
    constant, slope = weighted_line(times)
    if abs(slope) * max(size for size, _ in times) < ROUNDING * constant:
        slope = 0.0  # a cost per packet alone, and what rounding left of nothing
    if constant <= 0 or slope < 0:
        raise ValueError(phrase("packet.no_cost", per_packet=Quantity(constant, "s"), per_byte=Quantity(slope, "s")))
    return packet_cost(per_packet=constant, per_byte=slope)


def goodput(frame: Frame, *, line_rate: float, cost: PacketCost) -> Quantity:
    """Payload in bit/s with such frames: the slower of a line of ``line_rate`` bit/s and a host that costs ``cost``."""
    return min(frame.goodput(line_rate), cost.goodput(frame.payload))
