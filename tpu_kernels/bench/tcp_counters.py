"""What the kernel counts of one network namespace and of the process that asks.

TCP counts segments as a wire would carry them; the device counts what TCP handed over, which with offload is up to
64 KiB at once. The processor's time includes softirq work that the kernel did on the process's turn: over veth, a
packet that is sent goes up the receiver's stack on the sender's processor, and mostly on the sender's account.
"""

import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Counters:
    """Packets and bytes that a device sent and received, Ethernet headers included, and what it dropped; TCP segments
    sent and sent again; seconds of processor, of this process and of the whole machine in softirq (in steps of a tick,
    mostly 0.01 s)."""

    packets_sent: int
    bytes_sent: int
    packets_received: int
    bytes_received: int
    dropped: int
    segments_sent: int
    segments_retransmitted: int
    cpu_seconds: float
    machine_softirq_seconds: float

    def since(self, before: "Counters") -> "Counters":
        """What was counted between the two."""
        earlier = asdict(before)
        return Counters(**{name: now - earlier[name] for name, now in asdict(self).items()})


def counters(device: str) -> Counters:
    """All counters now. Of the namespace that the process's main thread is in."""
    return Counters(
        **parsed_device(Path("/proc/self/net/dev").read_text(encoding="ascii"), device),
        **parsed_tcp(Path("/proc/self/net/snmp").read_text(encoding="ascii")),
        cpu_seconds=time.process_time(),
        machine_softirq_seconds=parsed_softirq(Path("/proc/stat").read_text(encoding="ascii")),
    )


def parsed_device(text: str, device: str) -> dict[str, int]:
    """The line of ``device`` in ``/proc/net/dev``. Raises ``ValueError`` when there is none."""
    for line in text.splitlines():
        name, colon, values = line.partition(":")
        if colon and name.strip() == device:
            # received: bytes packets errs drop fifo frame compressed multicast; sent: bytes packets errs drop …
            column = [int(value) for value in values.split()]
            return {
                "packets_sent": column[9],
                "bytes_sent": column[8],
                "packets_received": column[1],
                "bytes_received": column[0],
                "dropped": column[3] + column[11],
            }
    raise ValueError(f"no device {device!r} in {text!r}")


def parsed_tcp(text: str) -> dict[str, int]:
    """The TCP lines of ``/proc/net/snmp``, names over values."""
    names, values = (line.split()[1:] for line in text.splitlines() if line.startswith("Tcp:"))
    count = dict(zip(names, map(int, values), strict=True))
    # OutSegs is without what was sent again (RFC 4022).
    return {"segments_sent": count["OutSegs"], "segments_retransmitted": count["RetransSegs"]}


def parsed_softirq(text: str) -> float:
    """Seconds that all processors spent in softirq, from ``/proc/stat``."""
    ticks = text.split(maxsplit=8)[7]  # cpu, user, nice, system, idle, iowait, irq, softirq
    return int(ticks) / os.sysconf("SC_CLK_TCK")
