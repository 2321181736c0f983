"""Linux's own TCP between two network namespaces of this machine: what packets, their headers and the MTU cost a host.

Nothing crosses a wire, so the rates say what the processors can do and nothing of a network card. With offload TCP
hands over up to 64 KiB at once, for the card to cut, and the MTU hardly matters; without, each packet pays for itself.
Each transfer has namespaces and processes of its own (:mod:`~tpu_kernels.bench.tcp_pair`).
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any, NamedTuple

from tpu_kernels.bench.measurement_error import MeasurementError
from tpu_kernels.bench.tcp_counters import Counters
from tpu_kernels.bench.tcp_refusal import kernel_setting, refusal
from tpu_kernels.models.network import Frame, PacketCost, fit_packet_cost, number, tcp_frame
from tpu_kernels.phrases import phrase

LABEL = "measured: kernel TCP over veth, one machine; no wire"
MTUS = (576, 65535)  # what every IPv4 host must accept (RFC 791), and the most that IPv4 can say
MOST_STREAMS = 256  # each is a thread and an open file on both sides


class Case(NamedTuple):
    """What is varied: ``mtu`` in bytes, whether TCP may hand over many segments at once, connections."""

    mtu: int
    offload: bool
    streams: int


@dataclass(frozen=True)
class Transfer:
    """One transfer: ``received`` bytes of payload in ``seconds``, from the first one sent until all were read, and what
    each side counted meanwhile."""

    seconds: float
    received: int
    congestion_control: str
    sender: Counters
    receiver: Counters

    @property
    def goodput(self) -> float:
        """Payload, bit/s."""
        return 8 * self.received / self.seconds


@dataclass(frozen=True)
class Row:
    """One case: the transfer of median goodput, and the goodput of every one, bit/s, in order."""

    case: Case
    transfer: Transfer
    samples: tuple[float, ...]

    @property
    def bytes_per_packet(self) -> float:
        """Of what the sender's device sent, Ethernet header included."""
        return self.transfer.sender.bytes_sent / self.transfer.sender.packets_sent

    @property
    def payload_per_packet(self) -> float:
        return self.transfer.received / self.transfer.sender.packets_sent

    @property
    def model(self) -> Frame:
        """The frame that the model expects: full, with the timestamps that Linux's TCP sends."""
        return tcp_frame(self.case.mtu, options=int(number("header.tcp_timestamps")))

    @property
    def efficiency(self) -> float | None:
        """Payload over the bytes that a wire would be busy for; None where packets were larger than any wire's."""
        sent = self.transfer.sender
        ethernet = number("header.ethernet")
        if self.bytes_per_packet > self.case.mtu + ethernet:
            return None
        return self.transfer.received / (sent.bytes_sent + sent.packets_sent * (self.model.framing - ethernet))

    def per_byte(self, seconds: float) -> float:
        """``seconds`` per byte of payload."""
        return seconds / self.transfer.received

    def to_dict(self) -> dict[str, Any]:
        sender, receiver = self.transfer.sender, self.transfer.receiver
        return {
            "operation": "tcp",
            "label": LABEL,
            **self.case._asdict(),
            "congestion_control": self.transfer.congestion_control,
            "bytes": self.transfer.received,
            "seconds": self.transfer.seconds,
            "bits_per_s": self.transfer.goodput,
            "samples": list(self.samples),
            "packets": sender.packets_sent,
            "packets_back": receiver.packets_sent,
            "bytes_per_packet": self.bytes_per_packet,
            "segments_retransmitted": sender.segments_retransmitted,
            "cpu_seconds_per_byte": {
                "sender": self.per_byte(sender.cpu_seconds),
                "receiver": self.per_byte(receiver.cpu_seconds),
                "machine_softirq": self.per_byte(sender.machine_softirq_seconds),
            },
            "efficiency": self.efficiency,
            "efficiency_of_model": float(self.model.efficiency),
            "counters": {"sender": asdict(sender), "receiver": asdict(receiver)},
        }


def bench_tcp(
    mtus: Sequence[int],
    *,
    streams: Sequence[int] = (1,),
    offloads: Sequence[bool] = (True, False),
    size: int | None = None,
    seconds: float | None = None,
    repeats: int = 3,
    progress: Callable[[], None] = lambda: None,
) -> list[Row]:
    """A row for each MTU, offload and number of streams: the cases run in turns, ``repeats`` rounds.

    Each transfer takes ``seconds``, or as long as ``size`` bytes take. ``progress`` is called after each transfer.
    Raises ``ValueError`` for what makes no sense, ``NamespacesRefusedError`` where the machine does not allow it, and
    ``MeasurementError`` when bytes were lost.
    """
    if (size is None) == (seconds is None):
        raise ValueError(phrase("host_network.one_limit", size=size, seconds=seconds))
    cases = [checked(Case(*values), size, seconds) for values in product(mtus, offloads, streams)]
    transfers: dict[Case, list[Transfer]] = {case: [] for case in cases}
    order = list(transfers)
    for _ in range(repeats):
        for case in order:
            transfers[case].append(transfer(case, size=size, seconds=seconds))
            progress()
        order.append(order.pop(0))  # whoever began this round ends the next
    return [_row(case, done) for case, done in transfers.items()]


def checked(case: Case, size: int | None, seconds: float | None) -> Case:
    """``case`` itself, or ``ValueError``."""
    least, most = MTUS
    if not least <= case.mtu <= most:
        raise ValueError(phrase("host_network.bad_mtu", got=case.mtu, least=least, most=most))
    if not 1 <= case.streams <= MOST_STREAMS:
        raise ValueError(phrase("host_network.bad_streams", got=case.streams, most=MOST_STREAMS))
    if size is not None and size < case.streams:
        raise ValueError(phrase("host_network.bad_size", got=size, streams=case.streams))
    if seconds is not None and not 0 < seconds < float("inf"):
        raise ValueError(phrase("host_network.bad_seconds", got=seconds))
    return case


def transfer(case: Case, *, size: int | None, seconds: float | None) -> Transfer:
    """One transfer, in processes and namespaces of its own. Raises as :func:`bench_tcp`."""
    if sys.platform != "linux":
        raise MeasurementError(phrase("host_network.no_linux", got=sys.platform))
    job = json.dumps({**case._asdict(), "size": size, "seconds": seconds, "parent": os.getpid()})
    ran = subprocess.run([sys.executable, "-m", "tpu_kernels.bench.tcp_pair", job], stdout=subprocess.PIPE, check=False)
    if ran.returncode:
        raise MeasurementError(phrase("host_network.broken", status=ran.returncode))
    return parsed(json.loads(ran.stdout))


def parsed(result: dict[str, Any]) -> Transfer:
    """What :mod:`~tpu_kernels.bench.tcp_pair` printed, believed only if every byte that was sent arrived."""
    if "refused" in result:
        refused = result["refused"]
        raise refusal(refused["step"], refused["errno"], root=os.geteuid() == 0, setting=kernel_setting)
    sent = result.pop("sent")
    if sent != result["received"]:
        raise MeasurementError(phrase("host_network.lost", sent=sent, received=result["received"]))
    return Transfer(**{**result, "sender": Counters(**result["sender"]), "receiver": Counters(**result["receiver"])})


def host_cost(rows: Sequence[Row], streams: int) -> PacketCost:
    """The cost of a packet and of a byte (formula F16) behind the rows without offload and with ``streams`` streams.

    ``ValueError`` for fewer than two MTUs, or goodputs that no positive cost explains.
    """
    alone = [row for row in rows if not row.case.offload and row.case.streams == streams]
    return fit_packet_cost((row.payload_per_packet, row.transfer.goodput) for row in alone)


def _row(case: Case, transfers: Sequence[Transfer]) -> Row:
    ordered = sorted(transfers, key=lambda one: one.goodput)
    return Row(case, ordered[(len(ordered) - 1) // 2], tuple(one.goodput for one in transfers))
