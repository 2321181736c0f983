"""Frames against headers packed byte by byte, against the compiled facts, and against a published measurement (V4)."""

import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_kernels import messages
from tpu_kernels.models.network import (
    Frame,
    comparison,
    fact,
    fit_packet_cost,
    goodput,
    largest_path_mtu,
    measurements,
    number,
    packet_cost,
    path_mtus,
    roce_frame,
    tcp_frame,
    udp_frame,
)
from tpu_kernels.models.quantity import Quantity

# The headers themselves, field by field, and not their sizes as the facts give them.
ETHERNET, TAG, FCS = "!6s6sH", "!HH", "!I"
IPV4, IPV6 = "!BBHHHBBHII", "!IHBB16s16s"
TCP, UDP = "!HHIIBBHHH", "!HHHH"
BTH, RETH, ICRC = "!BBHII", "!QII", "!I"
PREAMBLE, GAP = 7 + 1, 12  # not data: what the line is busy or quiet for
MTUS = st.integers(200, 9000)


def size(*headers: str) -> int:
    return sum(map(struct.calcsize, headers))


@settings(deadline=None)
@given(MTUS, st.sampled_from([4, 6]), st.sampled_from([0, 4, 12, 40]), st.integers(0, 2))
def test_a_full_tcp_segment_is_its_headers_and_the_rest(mtu: int, ip: int, options: int, tags: int) -> None:
    frame = tcp_frame(mtu, ip=ip, options=options, vlan_tags=tags)
    headers = size(IPV4 if ip == 4 else IPV6, TCP) + options
    assert frame.packet == mtu
    assert frame.payload == mtu - headers
    assert frame.wire_bytes == PREAMBLE + size(ETHERNET, *[TAG] * tags) + mtu + size(FCS) + GAP
    assert frame.efficiency == pytest.approx(frame.payload / frame.wire_bytes)
    assert frame.padding == 0


@settings(deadline=None)
@given(MTUS, st.sampled_from([4, 6]))
def test_a_full_datagram_is_its_headers_and_the_rest(mtu: int, ip: int) -> None:
    frame = udp_frame(mtu, ip=ip)
    assert frame.payload == mtu - size(IPV4 if ip == 4 else IPV6, UDP)
    assert frame.efficiency > tcp_frame(mtu, ip=ip).efficiency


@pytest.mark.parametrize("path_mtu", path_mtus())
@pytest.mark.parametrize("first", [False, True])
def test_a_roce_packet_is_its_headers_around_the_payload(path_mtu: int, first: bool) -> None:
    frame = roce_frame(path_mtu, first_of_write=first)
    headers = size(IPV4, UDP, BTH, *[RETH] * first, ICRC)
    assert (frame.payload, frame.headers) == (path_mtu, headers)
    assert frame.wire_bytes - path_mtu == PREAMBLE + size(ETHERNET, FCS) + headers + GAP
    assert roce_frame(path_mtu, ip=6).headers - roce_frame(path_mtu).headers == 20
    assert frame.efficiency < 1


def test_the_overhead_of_roce_is_the_published_one() -> None:
    assert roce_frame(1024).wire_bytes - 1024 == number("roce.hdr") == 82


@settings(deadline=None)
@given(st.integers(0, 1460), st.integers(0, 1))
def test_a_short_payload_is_padded_to_the_shortest_frame(payload: int, tags: int) -> None:
    frame = tcp_frame(1500, payload=payload, vlan_tags=tags)
    ethernet = size(ETHERNET, FCS, *[TAG] * tags)
    assert frame.wire_bytes == max(64, payload + 40 + ethernet) + PREAMBLE + GAP


def test_ten_gigabit_is_14_88_million_of_the_shortest_frames() -> None:
    assert udp_frame(1500, payload=0).packets_per_second(10e9) == pytest.approx(14.88e6, rel=1e-3)


# The compiled facts, computed there with the same formulas on other code; packets at 100 Gbit/s are in their notes.
@pytest.mark.parametrize("mtu", [1300, 1460, 1500, 8244, 8896, 9000])
def test_efficiency_and_packets_are_those_of_the_facts(mtu: int) -> None:
    about = fact(f"eff.tcp4.{mtu}")
    assert tcp_frame(mtu).efficiency == pytest.approx(about.known(), abs=5e-5)
    words = str(about.note).split()
    assert tcp_frame(mtu, options=12).efficiency == pytest.approx(float(words[4].rstrip(";")), abs=5e-5)
    assert tcp_frame(mtu).packets_per_second(100e9) == pytest.approx(float(words[-2]) * 1e6, rel=1e-3)


@pytest.mark.parametrize("path_mtu", [1024, 2048, 4096])
def test_the_efficiency_of_roce_is_that_of_the_facts(path_mtu: int) -> None:
    assert roce_frame(path_mtu).efficiency == pytest.approx(fact(f"eff.roce.{path_mtu}").known(), abs=5e-5)


@settings(deadline=None)
@given(st.integers(100, 8000), st.integers(1, 900), st.sampled_from([4, 6]))
def test_a_larger_mtu_is_never_less_efficient_nor_more_packets(mtu: int, more: int, ip: int) -> None:
    small, large = tcp_frame(mtu, ip=ip), tcp_frame(mtu + more, ip=ip)
    assert large.efficiency > small.efficiency
    assert large.packets_per_second(1e9) < small.packets_per_second(1e9)
    assert large.goodput(1e9) > small.goodput(1e9)


def test_jumbo_frames_save_packets_more_than_bytes() -> None:
    usual, jumbo = tcp_frame(1500), tcp_frame(8896)
    assert jumbo.efficiency - usual.efficiency == pytest.approx(0.042, abs=5e-4)
    assert usual.packets_per_second(100e9) / jumbo.packets_per_second(100e9) == pytest.approx(5.8, abs=0.01)


@pytest.mark.parametrize(("mtu", "most"), [(1460, 1024), (1500, 1024), (4096, 2048), (8244, 4096), (8896, 4096)])
def test_the_path_mtu_that_fits_in_a_network(mtu: int, most: int) -> None:
    assert largest_path_mtu(mtu) == most
    assert roce_frame(most, mtu=mtu, first_of_write=True).packet <= mtu
    if most < 4096:
        with pytest.raises(ValueError, match="MTU"):
            roce_frame(2 * most, mtu=mtu)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tcp_frame(40), "se recibió 40 y las cabeceras piden 41"),
        (lambda: tcp_frame(0), "mtu"),
        (lambda: tcp_frame(-1500), "mtu"),
        (lambda: tcp_frame(True), "mtu"),
        (lambda: tcp_frame(1500.5), "mtu"),
        (lambda: tcp_frame(float("nan")), "mtu"),
        (lambda: tcp_frame(1500, ip=5), "se recibió 5 y se esperaba 4 o 6"),
        (lambda: tcp_frame(1500, ip=True), "True"),
        (lambda: tcp_frame(1500, options=44), "44"),
        (lambda: tcp_frame(1500, options=10), "múltiplos de 4"),
        (lambda: tcp_frame(1500, options=-4), "options"),
        (lambda: tcp_frame(1500, vlan_tags=-1), "vlan_tags"),
        (lambda: tcp_frame(1500, payload=1461), "caben 1460"),
        (lambda: udp_frame(1500, payload=-1), "payload"),
        (lambda: udp_frame(28), "28"),
        (lambda: roce_frame(1500), "256, 512, 1024, 2048, 4096"),
        (lambda: roce_frame(True), "True"),
        (lambda: roce_frame(4096, mtu=4096), "4096"),
        (lambda: largest_path_mtu(300), "316"),
        (lambda: tcp_frame(1500).goodput(0), "line_rate"),
        (lambda: tcp_frame(1500).packets_per_second(float("inf")), "line_rate"),
    ],
)
def test_frames_that_cannot_be_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_a_rate_in_bytes_is_the_rate_in_bits_that_it_is() -> None:
    frame = tcp_frame(1500)
    assert frame.goodput(Quantity(12.5e9, "bytes/s")) == frame.goodput(100e9)


# V4: RoCEv2 on a 100 Gbit/s port, Table 2 of J. Synchrotron Rad. 27(5):1297-1306 (2020-07-31).


def test_the_model_of_overhead_is_0_4_to_1_7_gbit_high_on_v4() -> None:
    """Headers are all that the model counts: the measurement loses a little more, always."""
    table = measurements("V4")
    over = {
        (kind, payload): roce_frame(int(payload)).goodput(100e9) - measured
        for kind in ("send", "write")
        for payload, measured in table.pairs("payload", kind)
    }
    assert all(0.4e9 < by < 1.7e9 for by in over.values())
    assert max(over, key=lambda one: over[one]) == ("send", 2048)


def test_the_raw_column_of_v4_is_bound_by_packets_until_the_port_is_full() -> None:
    raw = measurements("V4").pairs("payload", "raw")
    host = fit_packet_cost(raw[:2])
    assert host.per_packet == pytest.approx(number("packet_cost.v4_raw.per_packet"), abs=5e-10)
    assert host.per_byte == pytest.approx(number("packet_cost.v4_raw.per_byte"), abs=5e-13)
    assert [host.goodput(payload) for payload, _ in raw[:2]] == pytest.approx([33.3e9, 60.5e9])
    slow = udp_frame(2048 + 28)
    assert goodput(slow, line_rate=100e9, cost=host) == pytest.approx(raw[0][1])
    assert raw[0][1] < slow.goodput(100e9)
    payload, measured = raw[2]
    assert host.goodput(payload) == pytest.approx(103e9, rel=0.005)  # more than the port: 3.9 % above what was measured
    frame = udp_frame(int(payload) + 28)
    assert goodput(frame, line_rate=100e9, cost=host) == frame.goodput(100e9) == pytest.approx(measured, rel=0.002)


@settings(deadline=None)
@given(st.floats(1e-9, 1e-5), st.floats(0, 1e-9), st.lists(st.floats(64, 9000), min_size=2, max_size=6, unique=True))
def test_a_known_cost_is_found_again(per_packet: float, per_byte: float, payloads: list[float]) -> None:
    host = packet_cost(per_packet=per_packet, per_byte=per_byte)
    if max(payloads) < 1.01 * min(payloads) or per_byte * min(payloads) > 10 * per_packet:
        return  # too close together, or the packet too cheap, to tell the two costs apart
    found = fit_packet_cost([(payload, host.goodput(payload)) for payload in payloads])
    assert found.per_packet == pytest.approx(per_packet, rel=1e-6)
    assert found.per_byte == pytest.approx(per_byte, rel=1e-6, abs=1e-8 * per_packet / max(payloads))
    assert host.packets_per_second(1000) * 8000 == pytest.approx(host.goodput(1000))


@settings(deadline=None)
@given(st.floats(1e-8, 1e-5), st.floats(0, 1e-9), st.floats(1, 100))
def test_a_dearer_packet_is_never_faster(per_packet: float, per_byte: float, more: float) -> None:
    frame = tcp_frame(1500)
    cheap, dear = (packet_cost(per_packet=by * per_packet, per_byte=per_byte) for by in (1, more))
    assert goodput(frame, line_rate=1e11, cost=dear) <= goodput(frame, line_rate=1e11, cost=cheap)
    assert goodput(frame, line_rate=1e11, cost=cheap) <= frame.goodput(1e11)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([], "0 tamaños"),
        ([(1000, 1e9), (1000, 2e9)], "1 tamaños"),
        ([(1000, 1e9), (2000, 4e9)], "negativo"),  # twice the payload in half the time
        ([(1000, 0), (2000, 1e9)], "goodput"),
        ([(-1, 1e9), (2000, 1e9)], "payload"),
    ],
)
def test_costs_that_cannot_be_are_refused(points: list[tuple[float, float]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fit_packet_cost(points)
    with pytest.raises(ValueError, match="per_packet"):
        packet_cost(per_packet=0)


def test_frames_say_what_they_are_in_the_language_in_force() -> None:
    table = comparison((1500, 8896), line_rate=100e9)
    assert [row[1].text for row in table.rows] == ["1460", "8856"]
    assert table.caption == "Tramas de TCP sobre IPv4 en una línea de 100\N{NO-BREAK SPACE}Gbit/s"
    assert "94,93" in repr(tcp_frame(1500))
    messages.use("pt")
    assert "cabo" in repr(Frame(1460, 40, 38))
    assert "por pacote" in repr(packet_cost(per_packet=4e-7))
    assert comparison((1500,), line_rate=1e9).headings[-1] == "Pacotes por segundo"
