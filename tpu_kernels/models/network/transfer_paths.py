"""Ways into the cloud and what each lets through: a plain line, Cloud Interconnect attachments, Cloud VPN tunnels.

A path carries full TCP segments. What binds is the wire of its line, or the packets a second of its tunnels, which
Cloud VPN counts both ways together (fact ``vpn.pps``): acknowledgements use some of them up.
"""

from math import ceil
from typing import NamedTuple

from tpu_kernels.models.checked_number import positive_number
from tpu_kernels.models.matrix import whole
from tpu_kernels.models.network.facts import number, numbers
from tpu_kernels.models.network.frames import Frame, checked_ip, tcp_frame
from tpu_kernels.models.network.link_rates import bits_per_second
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.phrases import phrase

LINE, INTERCONNECT, VPN = "line", "interconnect", "vpn"


class TransferPath(NamedTuple):
    """``frame``: a full segment; ``line_rate`` in bit/s of the wire and ``packet_rate`` in packets/s, each ``None``
    where it does not limit; ``mtu`` in bytes."""

    kind: str
    mtu: int
    frame: Frame
    line_rate: Quantity | None = None
    packet_rate: Quantity | None = None

    def __repr__(self) -> str:
        if self.kind == VPN:
            return phrase("path.vpn", rate=self.packet_rate, payload=self.frame.payload)
        if self.kind == INTERCONNECT:
            return phrase("path.interconnect", rate=self.line_rate, mtu=self.mtu)
        return phrase("path.line", rate=self.line_rate, mtu=self.mtu)

    def line_goodput(self) -> Quantity | None:
        """Payload in bit/s that the wire lets through."""
        return None if self.line_rate is None else self.frame.goodput(self.line_rate)

    def packet_goodput(self) -> Quantity | None:
        """Payload in bit/s that the packet limit lets through, with an acknowledgement for every other segment."""
        if self.packet_rate is None:
            return None
        segments = self.packet_rate / (1 + 1 / number("tcp.segments_per_ack"))
        return Quantity(8 * segments * self.frame.payload, "bit/s")


def line(rate: float, *, mtu: int = 1500, ip: int = 4, options: int = 0, vlan_tags: int = 0) -> TransferPath:
    """A line of ``rate`` bit/s. ``ValueError`` for a rate that is not positive and for a frame that cannot be."""
    frame = tcp_frame(mtu, ip=ip, options=options, vlan_tags=vlan_tags)
    return TransferPath(LINE, mtu, frame, Quantity(bits_per_second("rate", rate), "bit/s"))


def interconnect(
    bandwidth: float | None = None,
    *,
    attachments: int = 1,
    mtu: int | None = None,
    ip: int = 4,
    options: int = 0,
) -> TransferPath:
    """``attachments`` VLAN attachments of ``bandwidth`` bit/s each, traffic spread evenly over them.

    The default size and MTU are Google's (10 Gbit/s and 1440 bytes). A tag is counted on each frame, and the size of
    the attachment as bits on the wire. ``ValueError`` for a size or an MTU that is not sold (facts
    ``ic.attach.sizes``, ``mtu.ic.values``).
    """
    sizes = numbers("ic.attach.sizes")
    rate = float(number("ic.attach.default")) if bandwidth is None else bits_per_second("bandwidth", bandwidth)
    if rate not in sizes:
        raise ValueError(phrase("path.bad_size", got=Quantity(rate, "bit/s"), known=", ".join(map(str, sizes))))
    mtus = [int(value) for value in numbers("mtu.ic.values")]
    chosen = int(number("mtu.ic.default")) if mtu is None else mtu
    if isinstance(chosen, bool) or chosen not in mtus:
        raise ValueError(phrase("path.bad_mtu", got=repr(chosen), known=", ".join(map(str, mtus))))
    frame = tcp_frame(chosen, ip=ip, options=options, vlan_tags=1)
    return TransferPath(INTERCONNECT, chosen, frame, Quantity(whole("attachments", attachments) * rate, "bit/s"))


def vpn(*, tunnels: int = 1, ip: int = 4, options: int = 0, line_rate: float | None = None) -> TransferPath:
    """``tunnels`` Cloud VPN tunnels that all carry traffic, flows spread evenly over them.

    The payload MTU inside is 1406 bytes for IPv4 and 1386 for IPv6; ``line_rate`` bit/s: that of the line under the
    tunnels, when it may bind (encryption's own bytes are not counted). ``ValueError`` for counts below one.
    """
    mtu = int(number(f"vpn.mtu.payload_v{checked_ip(ip)}"))
    frame = tcp_frame(mtu, ip=ip, options=options)
    rate = None if line_rate is None else Quantity(bits_per_second("line_rate", line_rate), "bit/s")
    packets = Quantity(whole("tunnels", tunnels) * number("vpn.pps"), "pps")
    return TransferPath(VPN, mtu, frame, rate, packets)


class VpnTunnels(NamedTuple):
    """HA VPN for a packet rate: ``active`` tunnels carry it, ``pairs`` of which one tunnel each is the spare,
    ``tunnels`` in all."""

    active: int
    pairs: int
    tunnels: int


def vpn_tunnels(packet_rate: float) -> VpnTunnels:
    """The tunnels for ``packet_rate`` packets/s, both ways together, that survive the loss of one tunnel of each pair.

    ``ceil(packets / 250,000)`` pairs (formula F18), as in Google's example: 600,000 packets/s, 3 pairs, 6 tunnels.
    """
    active = ceil(positive_number("packet_rate", packet_rate) / number("vpn.pps"))
    return VpnTunnels(active, active, 2 * active)
