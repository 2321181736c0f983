"""TCP over distance: against a window that really grows and halves, and against the numbers of the sources."""

from math import inf, isinf
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_kernels import messages
from tpu_kernels.models.network import (
    bandwidth_delay_product,
    loss_limited,
    number,
    streams_to_fill,
    tcp_frame,
    tcp_throughput,
    window_limited,
)

FRAME = tcp_frame(1500)
RTTS, RATES = st.floats(1e-4, 1.0), st.floats(1e6, 1e12)


def sawtooth(peak: int, segments_per_ack: int = 1) -> tuple[float, float]:
    """A window that grows a segment a round trip, or every ``segments_per_ack`` of them, and halves at ``peak``.

    Returns the share of segments lost, one a cycle, and the segments sent per round trip.
    """
    window, sent, trips = peak / 2, 0.0, 0
    while window < peak:
        sent += window
        trips += 1
        window += 1 / segments_per_ack
    return 1 / sent, sent / trips


@pytest.mark.parametrize("peak", [100, 1000])
@pytest.mark.parametrize("delayed", [False, True])
def test_the_response_function_is_that_of_the_sawtooth(peak: int, delayed: bool) -> None:
    loss, window = sawtooth(peak, int(number("tcp.segments_per_ack")) if delayed else 1)
    found = loss_limited(1460, 0.05, loss, delayed_ack=delayed)
    assert found == pytest.approx(8 * 1460 * window / 0.05, rel=2 / peak)


# The example of draft-floyd-tcp-highspeed-00 (2002-06), later RFC 3649: 1500-byte packets, 100 ms and 10 Gbit/s
# need a window of 83,333 segments and one loss in 5,000,000,000 packets.
def test_the_loss_that_ten_gigabit_over_100_ms_allows() -> None:
    assert bandwidth_delay_product(10e9, 0.1) / 1500 == pytest.approx(83_333, rel=1e-4)
    assert loss_limited(1500, 0.1, 1 / 5e9) == pytest.approx(10e9, rel=0.05)


def test_the_bandwidth_delay_products_of_the_sources() -> None:
    assert bandwidth_delay_product(100e6, 0.005) == number("bdp.example")  # Oracle Database Net docs
    assert bandwidth_delay_product(10e9, 0.05) == number("bdp.10g50ms")
    assert bandwidth_delay_product(100e9, 0.05) == number("bdp.100g50ms")


@settings(deadline=None)
@given(RATES, RTTS)
def test_a_window_of_the_product_fills_the_path(rate: float, rtt: float) -> None:
    window = bandwidth_delay_product(rate, rtt)
    if window <= number("tcp.window.scaled"):
        assert window_limited(window, rtt) == pytest.approx(rate)


def test_a_window_without_scaling_is_no_match_for_distance() -> None:
    assert window_limited(number("tcp.window.unscaled"), 0.05) == pytest.approx(10.5e6, rel=0.01)
    found = tcp_throughput(FRAME, line_rate=10e9, rtt=0.05, window=number("tcp.window.unscaled"), streams=4)
    assert (found.limit, found.goodput) == ("window", 4 * 8 * 65_535 / 0.05)
    assert streams_to_fill(FRAME, line_rate=10e9, rtt=0.05, window=65_535) == 906


@pytest.mark.parametrize(
    ("change", "limit"),
    [({}, "line"), ({"window": 1e5}, "window"), ({"loss": 1e-3}, "loss"), ({"streams": 64}, "line")],
)
def test_the_limit_that_binds_is_named(change: dict[str, float], limit: str) -> None:
    given: dict[str, Any] = {"line_rate": 1e9, "rtt": 0.01, "window": 2**24} | change
    found = tcp_throughput(FRAME, **given)
    assert found.limit == limit
    assert found.goodput == min(found.limits.values()) == found.limits[limit]
    assert isinf(tcp_throughput(FRAME, line_rate=1e9, rtt=0.01, window=2**24).limits["loss"])


@settings(deadline=None)
@given(RATES, RTTS, st.floats(1e3, 1e9), st.floats(1e-9, 1.0), st.integers(1, 100), st.floats(1, 10))
def test_more_of_what_helps_never_hurts(
    rate: float, rtt: float, window: float, loss: float, streams: int, more: float
) -> None:
    def carried(**change: float) -> float:
        given: dict[str, Any] = {"line_rate": rate, "rtt": rtt, "window": window, "loss": loss, "streams": streams}
        return float(tcp_throughput(FRAME, **(given | change)).goodput)

    here = carried()
    assert carried(line_rate=rate * more) >= here
    assert carried(streams=streams + 1) >= here
    assert carried(rtt=rtt * more) <= here
    assert carried(loss=min(1.0, loss * more)) <= here
    assert carried(window=window / more) <= here
    assert here <= FRAME.goodput(rate)


@settings(deadline=None)
@given(RATES, RTTS, st.floats(1e4, 1e9), st.floats(0, 0.1))
def test_the_flows_that_fill_a_line_fill_it_and_one_less_does_not(
    rate: float, rtt: float, window: float, loss: float
) -> None:
    path: dict[str, Any] = {"line_rate": rate, "rtt": rtt, "window": window, "loss": loss}
    count = streams_to_fill(FRAME, **path)
    assert tcp_throughput(FRAME, **path, streams=count).goodput == pytest.approx(FRAME.goodput(rate))
    if count > 1:
        assert tcp_throughput(FRAME, **path, streams=count - 1).limit != "line"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: bandwidth_delay_product(0, 0.1), "bandwidth"),
        (lambda: bandwidth_delay_product(1e9, 0), "rtt"),
        (lambda: window_limited(-1, 0.1), "window"),
        (lambda: window_limited(2**31, 0.1), "1073725440"),
        (lambda: loss_limited(1460, 0.1, 1.5), "1.5"),
        (lambda: loss_limited(1460, 0.1, -0.1), "loss"),
        (lambda: loss_limited(0, 0.1, 0.1), "mss"),
        (lambda: loss_limited(1460, inf, 0.1), "rtt"),
        (lambda: tcp_throughput(FRAME, line_rate=1e9, rtt=0.1, window=1e6, streams=0), "streams"),
        (lambda: tcp_throughput(FRAME, line_rate=True, rtt=0.1, window=1e6), "line_rate"),
    ],
)
def test_paths_that_cannot_be_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_a_throughput_says_what_limits_it_in_the_language_in_force() -> None:
    found = tcp_throughput(FRAME, line_rate=1e9, rtt=0.1, window=1e6, streams=2)
    assert repr(found) == "160\N{NO-BREAK SPACE}Mbit/s con 2 flujos; limita: la ventana de TCP"
    messages.use("pt")
    assert repr(found).endswith("limita: a janela do TCP")
