"""Frames on the wire: what headers cost at each MTU, and how many packets a second a rate means.

The MTU is the largest IP packet, headers included, without the Ethernet header (fact ``mtu.vpc.def``). Around it go
38 bytes: preamble 8, Ethernet header 14, check sequence 4 and the gap before the next frame 12, plus 4 for each
802.1Q tag. Efficiency is payload over bytes on the wire: ``(MTU - 40 - options) / (MTU + 38)`` for TCP over IPv4
(formula F14), ``P / (P + 82)`` for RoCEv2 (F15). Sizes in bytes.
"""

from typing import NamedTuple

from tpu_kernels.models.matrix import whole
from tpu_kernels.models.network.facts import number, numbers
from tpu_kernels.models.network.link_rates import bits_per_second
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.models.table import Table, TableCell
from tpu_kernels.phrases import phrase

IP_VERSIONS = (4, 6)
TCP_ALIGNMENT = 4  # the TCP header counts its length in words of four bytes


class Frame(NamedTuple):
    """One packet as it goes over the wire: ``payload`` for the application, ``headers`` inside the IP packet,
    ``framing`` around it, and ``padding`` up to the shortest Ethernet frame. In bytes."""

    payload: int
    headers: int
    framing: int
    padding: int = 0

    def __repr__(self) -> str:
        return phrase(
            "frame.summary",
            payload=Quantity(self.payload, "bytes"),
            wire=Quantity(self.wire_bytes, "bytes"),
            efficiency=self.efficiency.format(digits=4),
        )

    @property
    def packet(self) -> int:
        """The IP packet: what an MTU limits."""
        return self.payload + self.headers

    @property
    def wire_bytes(self) -> int:
        """All that the wire is busy for, the gap included."""
        return self.packet + self.padding + self.framing

    @property
    def efficiency(self) -> Quantity:
        """Payload over bytes on the wire, from 0 to 1."""
        return Quantity(self.payload / self.wire_bytes, "share")

    def packets_per_second(self, line_rate: float) -> Quantity:
        """How many of them fill a line of ``line_rate`` bit/s."""
        return Quantity(bits_per_second("line_rate", line_rate) / (8 * self.wire_bytes), "pps")

    def goodput(self, line_rate: float) -> Quantity:
        """Payload that a full line of ``line_rate`` bit/s delivers, bit/s."""
        return Quantity(bits_per_second("line_rate", line_rate) * self.efficiency, "bit/s")


def tcp_frame(mtu: int, *, payload: int | None = None, ip: int = 4, options: int = 0, vlan_tags: int = 0) -> Frame:
    """A TCP segment: a full one, or one of ``payload`` bytes. ``options``: bytes of TCP options (timestamps take 12).

    ``ValueError`` for an MTU that leaves no room for payload, a payload beyond it, an IP version other than 4 and 6,
    and options that are not 0 to 40 bytes in words of four.
    """
    most = int(number("header.tcp_options_max"))
    extra = _count("options", options)
    if extra > most or extra % TCP_ALIGNMENT:
        raise ValueError(phrase("frame.bad_options", got=extra, most=most, word=TCP_ALIGNMENT))
    return _frame(mtu, payload, _ip(ip) + _size("tcp") + extra, vlan_tags)


def udp_frame(mtu: int, *, payload: int | None = None, ip: int = 4, vlan_tags: int = 0) -> Frame:
    """A UDP datagram: a full one, or one of ``payload`` bytes. ``ValueError`` as for :func:`tcp_frame`."""
    return _frame(mtu, payload, _ip(ip) + _size("udp"), vlan_tags)


def roce_frame(
    path_mtu: int, *, mtu: int | None = None, ip: int = 4, vlan_tags: int = 0, first_of_write: bool = False
) -> Frame:
    """A RoCEv2 packet with ``path_mtu`` bytes of payload (256, 512, 1024, 2048 or 4096); the first packet of an RDMA
    write carries 16 bytes more. ``mtu``: that of the network it crosses, checked when given.

    ``ValueError`` for a path MTU that RDMA does not have, and for a packet that the network's MTU does not hold.
    """
    known = path_mtus()
    if isinstance(path_mtu, bool) or path_mtu not in known:
        raise ValueError(phrase("frame.bad_path_mtu", got=repr(path_mtu), known=", ".join(map(str, known))))
    headers = _roce_headers(ip) + (_size("reth") if first_of_write else 0)
    return _frame(path_mtu + headers if mtu is None else mtu, int(path_mtu), headers, vlan_tags)


def path_mtus() -> tuple[int, ...]:
    """The payloads that RDMA can negotiate, in bytes (rdma-core, enum ibv_mtu)."""
    return tuple(int(size) for size in numbers("roce.path_mtus"))


def largest_path_mtu(mtu: int, *, ip: int = 4) -> int:
    """The largest RDMA path MTU whose packets, the first of a write included, fit in a network of ``mtu`` bytes.

    ``ValueError`` when none does.
    """
    room = _count("mtu", mtu) - _roce_headers(ip) - _size("reth")
    fitting = [size for size in path_mtus() if size <= room]
    if not fitting:
        raise ValueError(phrase("frame.small_mtu", got=mtu, least=mtu - room + path_mtus()[0]))
    return max(fitting)


def comparison(mtus: tuple[int, ...], *, line_rate: float, ip: int = 4, options: int = 0) -> Table:
    """TCP frames of several MTUs on a line of ``line_rate`` bit/s side by side, in the language in force."""
    frames = [tcp_frame(mtu, ip=ip, options=options) for mtu in mtus]
    headings = [
        phrase("frame.mtu"),
        phrase("frame.payload"),
        phrase("frame.efficiency"),
        phrase("frame.goodput"),
        phrase("frame.packets"),
    ]
    rows = [
        [
            TableCell(str(Quantity(mtu, "count")), numeric=True),
            TableCell(str(Quantity(frame.payload, "count")), numeric=True),
            TableCell(frame.efficiency.format(digits=4), numeric=True),
            TableCell(str(frame.goodput(line_rate)), numeric=True),
            TableCell(str(frame.packets_per_second(line_rate)), numeric=True),
        ]
        for mtu, frame in zip(mtus, frames, strict=True)
    ]
    rate = Quantity(bits_per_second("line_rate", line_rate), "bit/s")
    return Table(phrase("frame.caption", rate=rate, ip=ip), headings, rows)


def _frame(mtu: int, payload: int | None, headers: int, vlan_tags: int) -> Frame:
    room = whole("mtu", mtu) - headers
    if room < 1:
        raise ValueError(phrase("frame.small_mtu", got=mtu, least=headers + 1))
    sent = room if payload is None else _count("payload", payload)
    if sent > room:
        raise ValueError(phrase("frame.large_payload", got=sent, most=room, mtu=mtu))
    ethernet, tags = _size("ethernet") + _size("fcs"), _count("vlan_tags", vlan_tags) * _size("vlan")
    padding = max(0, _size("min_frame") - ethernet - tags - headers - sent)
    return Frame(sent, headers, _size("preamble") + ethernet + tags + _size("gap"), padding)


def _roce_headers(ip: int) -> int:
    return _ip(ip) + _size("udp") + _size("bth") + _size("icrc")


def checked_ip(version: int) -> int:
    """4 or 6; ``ValueError`` for anything else."""
    if isinstance(version, bool) or version not in IP_VERSIONS:
        raise ValueError(phrase("frame.bad_ip", got=repr(version)))
    return version


def _ip(version: int) -> int:
    return _size(f"ipv{checked_ip(version)}")


def _size(header: str) -> int:
    return int(number(f"header.{header}"))


def _count(name: str, value: int) -> int:
    """Zero or a whole number above it."""
    return 0 if value == 0 and not isinstance(value, bool) else whole(name, value)
