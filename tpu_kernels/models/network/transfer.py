"""How long a data set takes to move, and what binds: ``plan_transfer(10**15, over=interconnect(100e9), rtt=0.05, …)``.

Every stage is a pipe of its own rate and the narrowest decides: the wire with its headers, the packets of VPN tunnels,
the window and the losses of TCP, the egress of the virtual machine, the requests and streams of the object store.
Stages overlap and start at once, so the time is a lower bound.
"""

from typing import NamedTuple

from tpu_kernels.models.checked_number import positive_number
from tpu_kernels.models.matrix import whole
from tpu_kernels.models.network.link_rates import bits_per_second
from tpu_kernels.models.network.rate_limits import LINE, LOSS, MACHINE, PACKETS, REQUESTS, STREAMS, WINDOW, limit_name
from tpu_kernels.models.network.storage_limits import StorageLoad, checked_object_size
from tpu_kernels.models.network.tcp_throughput import loss_limited, window_limited
from tpu_kernels.models.network.transfer_paths import TransferPath
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.models.table import Table, TableCell
from tpu_kernels.phrases import phrase

HOUR, DAY = 3600.0, 86_400.0


class Plan(NamedTuple):
    """``size`` bytes over ``path``: ``limits`` has what each stage allows in bit/s of payload, and ``binding`` names
    the narrowest."""

    size: Quantity
    path: TransferPath
    limits: dict[str, Quantity]

    @property
    def binding(self) -> str:
        """The stage that decides; of equals the first."""
        return min(self.limits, key=lambda name: self.limits[name])

    @property
    def goodput(self) -> Quantity:
        """Payload a second, bit/s."""
        return self.limits[self.binding]

    @property
    def time(self) -> Quantity:
        """Seconds for all of it."""
        return Quantity(8 * self.size / self.goodput, "s")

    @property
    def duration(self) -> Quantity:
        """The time in the unit that reads best: seconds, hours or days."""
        return readable(self.time)

    def __repr__(self) -> str:
        limit = limit_name(self.binding)
        return phrase(
            "transfer.summary",
            size=self.size,
            duration=self.duration,
            goodput=self.goodput,
            limit=limit,
            path=self.path,
        )

    def table(self) -> Table:
        """Every stage with its rate and the time that it alone would take, the narrowest first."""
        headings = [phrase("transfer.stage"), phrase("transfer.rate"), phrase("transfer.alone")]
        rows = [
            [
                TableCell(limit_name(name)),
                TableCell(str(rate), numeric=True),
                TableCell(str(readable(8 * self.size / rate)), numeric=True),
            ]
            for name, rate in sorted(self.limits.items(), key=lambda item: item[1])
        ]
        return Table(repr(self), headings, rows)

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def plan_transfer(
    size: float,
    *,
    over: TransferPath,
    rtt: float,
    window: float,
    streams: int = 1,
    loss: float = 0.0,
    delayed_ack: bool = True,
    machine_rate: float | None = None,
    machines: int = 1,
    storage: StorageLoad | None = None,
) -> Plan:
    """The plan to move ``size`` bytes over a path.

    ``streams`` TCP flows in all, each with a ``window`` in bytes and a share ``loss`` of lost segments over a round
    trip of ``rtt`` seconds; ``machines`` that send at most ``machine_rate`` bit/s each, whatever their NICs (fact
    ``vm.bw.per_vm``); ``storage``: what the object store is asked for, each stream one request at a time. Raises
    ``ValueError`` for amounts that cannot be, and for objects above the store's limit.
    """
    total, flows = positive_number("size", size), whole("streams", streams)
    limits: dict[str, Quantity] = {}
    for name, rate in ((LINE, over.line_goodput()), (PACKETS, over.packet_goodput())):
        if rate is not None:
            limits[name] = rate
    limits[WINDOW] = Quantity(flows * window_limited(window, rtt), "bit/s")
    lossy = loss_limited(over.frame.payload, rtt, loss, delayed_ack=delayed_ack)
    if loss:
        limits[LOSS] = Quantity(flows * lossy, "bit/s")
    if machine_rate is not None:
        egress = whole("machines", machines) * bits_per_second("machine_rate", machine_rate)
        limits[MACHINE] = Quantity(egress * over.frame.efficiency, "bit/s")
    if storage is not None:
        checked_object_size(total, storage.objects)
        limits[REQUESTS] = Quantity(8 * total / (storage.requests / storage.request_rate), "bit/s")
        if storage.stream_rate is not None:
            limits[STREAMS] = Quantity(min(flows, storage.requests) * storage.stream_rate, "bit/s")
    return Plan(Quantity(total, "bytes"), over, limits)


def readable(seconds: float) -> Quantity:
    """``seconds`` as seconds, or as hours from two on, or as days from two on."""
    if seconds >= 2 * DAY:
        return Quantity(seconds / DAY, "days")
    return Quantity(seconds / HOUR, "hours") if seconds >= 2 * HOUR else Quantity(seconds, "s")
