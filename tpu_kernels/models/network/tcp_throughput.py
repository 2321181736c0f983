"""How fast TCP goes over a long path: the bandwidth-delay product, the window, and what loss leaves.

One flow carries at most a window per round trip (formula F17), at most what losses let its window grow to (Mathis,
Semke, Mahdavi and Floyd, 1997: ``MSS / RTT * C / sqrt(p)``, with C of the facts ``tcp.mathis.*``), and no more than its
line delivers. Parallel flows add up until the line is full. The response function describes Reno-like control: BBR and
CUBIC on long paths do better.
"""

from math import ceil, inf, sqrt
from typing import NamedTuple

from tpu_kernels.models.checked_number import positive_number
from tpu_kernels.models.matrix import whole
from tpu_kernels.models.network.facts import number
from tpu_kernels.models.network.frames import Frame
from tpu_kernels.models.network.link_rates import bits_per_second
from tpu_kernels.models.network.rate_limits import LINE, LOSS, WINDOW, limit_name
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.models.roofline.amounts import not_negative
from tpu_kernels.phrases import phrase


class Throughput(NamedTuple):
    """What ``streams`` flows carry together, ``goodput`` in bit/s, and the ``limit`` that binds: ``line``, ``window``
    or ``loss``. ``limits`` has what each would allow, all flows together."""

    goodput: Quantity
    limit: str
    streams: int
    limits: dict[str, Quantity]

    def __repr__(self) -> str:
        return phrase("tcp.throughput", goodput=self.goodput, streams=self.streams, limit=limit_name(self.limit))


def bandwidth_delay_product(bandwidth: float, rtt: float) -> Quantity:
    """Bytes in flight that fill a path of ``bandwidth`` bit/s and a round trip of ``rtt`` seconds: their product over
    8."""
    return Quantity(bits_per_second("bandwidth", bandwidth) * positive_number("rtt", rtt) / 8, "bytes")


def window_limited(window: float, rtt: float) -> Quantity:
    """What one flow with a window of ``window`` bytes carries over a round trip of ``rtt`` seconds, bit/s.

    ``ValueError`` for a window that TCP cannot announce: 65,535 bytes, or 65,535 * 2**14 with the window scale option.
    """
    size, most = positive_number("window", window), number("tcp.window.scaled")
    if size > most:
        raise ValueError(phrase("tcp.large_window", got=Quantity(size, "bytes"), most=int(most)))
    return Quantity(8 * size / positive_number("rtt", rtt), "bit/s")


def loss_limited(mss: float, rtt: float, loss: float, *, delayed_ack: bool = False) -> Quantity:
    """What one flow carries when a share ``loss`` of its segments is lost, bit/s: the response function of Mathis et
    al.

    ``mss`` in bytes, ``rtt`` in seconds; ``delayed_ack``: the receiver acknowledges every other segment. Infinite
    without loss. ``ValueError`` for a loss outside 0 to 1.
    """
    share = not_negative("loss", loss)
    if share > 1:
        raise ValueError(phrase("tcp.bad_loss", got=repr(loss)))
    segment, trip = positive_number("mss", mss), positive_number("rtt", rtt)
    if share == 0:
        return Quantity(inf, "bit/s")
    constant = number("tcp.mathis.delayed_ack" if delayed_ack else "tcp.mathis.every_segment")
    return Quantity(8 * segment / trip * constant / sqrt(share), "bit/s")


def tcp_throughput(
    frame: Frame,
    *,
    line_rate: float,
    rtt: float,
    window: float,
    loss: float = 0.0,
    streams: int = 1,
    delayed_ack: bool = False,
) -> Throughput:
    """What ``streams`` equal flows of full ``frame`` s carry over a line of ``line_rate`` bit/s, and what binds.

    ``window`` in bytes and ``loss`` are those of each flow, ``rtt`` in seconds. Raises as the functions above do.
    """
    count = whole("streams", streams)
    limits = {
        LINE: frame.goodput(line_rate),
        WINDOW: Quantity(count * window_limited(window, rtt), "bit/s"),
        LOSS: Quantity(count * loss_limited(frame.payload, rtt, loss, delayed_ack=delayed_ack), "bit/s"),
    }
    limit = min(limits, key=lambda name: limits[name])
    return Throughput(limits[limit], limit, count, limits)


def streams_to_fill(frame: Frame, *, line_rate: float, rtt: float, window: float, loss: float = 0.0) -> int:
    """How many such flows fill the line. Raises as :func:`tcp_throughput` does."""
    one = tcp_throughput(frame, line_rate=line_rate, rtt=rtt, window=window, loss=loss)
    alone = min(one.limits[WINDOW], one.limits[LOSS])
    return max(1, ceil(one.limits[LINE] / alone))
