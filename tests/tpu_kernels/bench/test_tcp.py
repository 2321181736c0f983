"""Rows of the benchmark of TCP: figures from counts, the model beside them, rounds in turns, and what is refused."""

import re
import sys

import pytest

from tpu_kernels.bench import tcp
from tpu_kernels.bench.measurement_error import MeasurementError
from tpu_kernels.bench.tcp import Case, Row, Transfer, bench_tcp, host_cost, parsed
from tpu_kernels.bench.tcp_counters import Counters
from tpu_kernels.bench.tcp_report import lines, table, to_dict
from tpu_kernels.models.network import tcp_frame


def counted(packets=0, size=0):
    return Counters(packets, size, 0, 0, 0, packets, 0, cpu_seconds=0.5, machine_softirq_seconds=0.25)


def full_packets(mtu, packets, seconds=1.0):
    """What full packets of that MTU look like to the counters of a device, Ethernet headers included."""
    frame = tcp_frame(mtu, options=12)
    sender = counted(packets, packets * (frame.packet + 14))
    return Transfer(seconds, packets * frame.payload, "cubic", sender, counted(packets // 2))


def row(mtu, packets, seconds=1.0, *, offload=False, streams=1):
    return Row(Case(mtu, offload, streams), full_packets(mtu, packets, seconds), (1.0,))


@pytest.mark.parametrize("mtu", [576, 1500, 9000])
def test_full_packets_are_as_efficient_as_the_model_says(mtu):
    assert row(mtu, 1000).efficiency == pytest.approx(tcp_frame(mtu, options=12).efficiency)


def test_packets_that_no_wire_carries_have_no_efficiency():
    large = Row(Case(1500, True, 1), full_packets(9000, 10), (1.0,))
    assert large.efficiency is None
    assert large.to_dict()["efficiency"] is None


def test_time_of_the_processors_is_per_byte_of_payload():
    found = row(1500, 1000).to_dict()
    assert found["bytes"] == 1000 * 1448
    assert found["cpu_seconds_per_byte"]["sender"] == pytest.approx(0.5 / 1_448_000)
    assert found["cpu_seconds_per_byte"]["machine_softirq"] == pytest.approx(0.25 / 1_448_000)
    assert found["bytes_per_packet"] == 1514


def test_the_cost_of_a_packet_is_found_again():
    """Hosts of 5 microseconds a packet and 2 nanoseconds a byte; rows with offload say nothing of it."""
    packets = 1000
    times = {mtu: packets * (5e-6 + 2e-9 * tcp_frame(mtu, options=12).payload) for mtu in (1500, 4000, 9000)}
    rows = [row(mtu, packets, seconds) for mtu, seconds in times.items()]
    cost = host_cost([*rows, row(1500, packets, 9.0, offload=True), row(1500, packets, 9.0, streams=4)], 1)
    assert cost.per_packet == pytest.approx(5e-6)
    assert cost.per_byte == pytest.approx(2e-9)


def test_a_record_names_the_cost_only_where_there_is_one():
    slower_when_larger = [row(1500, 1000, 1.0), row(9000, 1000, 100.0)]
    assert to_dict([row(1500, 1000)])["packet_costs"] == []
    assert to_dict(slower_when_larger)["packet_costs"] == [{"streams": 1, "per_packet": None, "per_byte": None}]
    assert "Ningún costo" in lines(to_dict(slower_when_larger))[-1]


def test_every_row_says_that_there_was_no_wire():
    record = to_dict([row(1500, 1000)])
    assert record["rows"][0]["label"] == "measured: kernel TCP over veth, one machine; no wire"
    assert "no hay red física" in "\n".join(lines(record))


def test_the_table_shows_measured_and_modelled_efficiency():
    cells = dict(zip(table([row(1500, 10).to_dict()]).headings, table([row(1500, 10).to_dict()]).rows[0], strict=True))
    assert cells["eficiencia, %"].text == cells["modelo, %"].text == "94,15"
    assert cells["offload"].text == "no"


def test_cases_run_in_turns_and_the_median_transfer_is_shown(monkeypatch):
    ran = []

    def one(case, *, size, seconds):
        ran.append((case.mtu, case.streams))
        return full_packets(case.mtu, 100, seconds=(3.0, 1.0, 2.0)[(len(ran) - 1) // 2])

    monkeypatch.setattr(tcp, "transfer", one)
    rows = bench_tcp([1500, 9000], offloads=[False], size=1000, repeats=3)
    assert ran == [(1500, 1), (9000, 1), (9000, 1), (1500, 1), (1500, 1), (9000, 1)]
    assert [found.transfer.seconds for found in rows] == [2.0, 2.0]
    assert rows[0].samples == tuple(8 * 144_800 / seconds for seconds in (3.0, 1.0, 2.0))


def result(**changed):
    side = vars(counted())
    return {"seconds": 1.0, "sent": 10, "received": 10, "congestion_control": "bbr"} | {
        "sender": side,
        "receiver": side,
        **changed,
    }


def test_bytes_that_do_not_arrive_are_no_measurement():
    assert parsed(result()).received == 10
    with pytest.raises(MeasurementError, match=re.escape("Se enviaron 10 bytes y se recibieron 9")):
        parsed(result(received=9))


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ({"mtus": [575]}, "575"),
        ({"mtus": [65536]}, "65536"),
        ({"streams": [0]}, "0 conexiones"),
        ({"streams": [257]}, "257"),
        ({"streams": [4], "size": 3}, "Bytes: 3; conexiones: 4"),
        ({"size": None, "seconds": 0}, "--seconds 0"),
        ({"size": None, "seconds": float("nan")}, "nan"),
        ({"size": None}, "size=None"),
        ({"seconds": 1}, "seconds=1"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_runs(monkeypatch, words, named):
    monkeypatch.setattr(tcp, "transfer", lambda *_, **__: pytest.fail("ran"))
    with pytest.raises(ValueError, match=re.escape(named)):
        bench_tcp(**{"mtus": [1500], "size": 1000, **words})


def test_only_linux_has_namespaces(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(MeasurementError, match="darwin"):
        bench_tcp([1500], size=1000)
