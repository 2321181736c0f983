"""Moving data sets: published limits and examples, the narrowest stage, and a simulation of stages in a row."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpu_kernels import messages
from tpu_kernels.models.network import (
    TransferPath,
    download,
    interconnect,
    line,
    number,
    numbers,
    parallel_upload_time,
    plan_transfer,
    upload,
    vpn,
    vpn_tunnels,
)
from tpu_kernels.models.network.transfer import readable
from tpu_kernels.models.quantity import Quantity

PB, TB, TIB = 10**15, 10**12, 2**40
FAST: dict[str, Any] = {"rtt": 0.01, "window": 2**28, "streams": 64}  # TCP that fills any line of these tests


# Notes of the compilation: 1 PB at line rate takes 9.26 days, 22 h and 5.5 h; real frames take a little longer.
@pytest.mark.parametrize(("rate", "fact"), [(10e9, "at_10g"), (100e9, "at_100g"), (400e9, "at_400g")])
def test_a_petabyte_takes_what_the_facts_say_over_the_efficiency(rate: float, fact: str) -> None:
    plan = plan_transfer(PB, over=line(rate, mtu=8896), **FAST)
    days = number(f"xfer.1pb.{fact}")
    assert plan.binding == "line"
    assert plan.time / 86_400 * plan.path.frame.efficiency == pytest.approx(days, rel=0.003)
    assert plan.time / 86_400 > days


# Cloud VPN (docs, 2025-08-12): 250,000 packets/s a tunnel, both ways together, 1 to 3 Gbit/s by packet size.
def test_a_vpn_tunnel_is_bound_by_packets() -> None:
    assert number("vpn.pps") * 8 * number("vpn.mtu.gw") == number("vpn.bw.calc")
    assert number("vpn.bw.least") < number("vpn.bw.calc") < number("vpn.bw.most")
    plan = plan_transfer(TB, over=vpn(), **FAST)
    assert plan.binding == "packets"
    # a third of the packets are acknowledgements; the payload is the 1406 bytes of the tunnel less 40
    assert plan.goodput == pytest.approx(250_000 * 2 / 3 * 1366 * 8)
    assert plan.goodput < number("vpn.bw.most")
    assert plan_transfer(TB, over=vpn(ip=6), **FAST).path.frame.payload == 1386 - 60
    assert plan_transfer(TB, over=vpn(line_rate=1e9), **FAST).binding == "line"


def test_the_documented_sizing_example() -> None:
    found = vpn_tunnels(number("vpn.example.pps"))
    assert (found.tunnels, found.pairs) == (number("vpn.example.tunnels"), number("vpn.example.ha_pairs"))
    assert vpn_tunnels(250_000) == (1, 1, 2)
    assert vpn_tunnels(250_001) == (2, 2, 4)


@settings(deadline=None)
@given(st.floats(1, 1e8))
def test_the_tunnels_are_enough_and_no_more(packets: float) -> None:
    active = vpn_tunnels(packets).active
    assert (active - 1) * number("vpn.pps") < packets <= active * number("vpn.pps")


# Compute API (VLAN attachments): sizes, and MTUs of 1440 (default), 1460, 1500 and 8896.
def test_attachments_have_the_sizes_and_mtus_that_are_sold() -> None:
    for size in numbers("ic.attach.sizes"):
        assert interconnect(size).line_rate == size
    assert (interconnect().mtu, interconnect().line_rate) == (1440, 10e9)
    assert interconnect(50e9, attachments=4, mtu=8896).line_rate == 200e9
    tagged, plain = interconnect(10e9, mtu=1500), line(10e9, mtu=1500)
    assert tagged.frame.wire_bytes == plain.frame.wire_bytes + 4


def test_every_stage_can_be_the_narrowest() -> None:
    def binding(**change: Any) -> str:
        given: dict[str, Any] = {"over": line(100e9), **FAST} | change
        return plan_transfer(PB, **given).binding

    assert binding() == "line"
    assert binding(over=vpn(tunnels=4)) == "packets"
    assert binding(window=2**20) == "window"
    assert binding(loss=1e-4) == "loss"
    assert binding(machine_rate=number("vm.bw.c3_22")) == "machine"
    assert binding(machine_rate=number("vm.bw.c3_22"), machines=5) == "line"
    assert binding(storage=upload(10**9)) == "requests"
    assert binding(storage=upload(10**6, stream_rate=200e6)) == "streams"
    alone = plan_transfer(TB, over=line(100e9), storage=download(1, stream_rate=200e6), **FAST)
    assert alone.goodput == 200e6  # one object is one request, however many streams there are


def test_small_objects_are_bound_by_requests_and_not_by_bytes() -> None:
    plan = plan_transfer(10**9 * 1000, over=line(10e9), storage=upload(10**9), **FAST)
    assert plan.binding == "requests"
    assert plan.time == pytest.approx(10**9 / number("gcs.rate.write"))
    assert plan_transfer(10**12, over=line(10e9), storage=download(10**9), **FAST).time == pytest.approx(2e5)


PATHS = st.one_of(
    st.builds(line, st.floats(1e6, 1e12)),
    st.builds(interconnect, st.sampled_from(numbers("ic.attach.sizes")), attachments=st.integers(1, 8)),
    st.builds(vpn, tunnels=st.integers(1, 16)),
)


@settings(deadline=None)
@given(PATHS, st.floats(1e6, 1e15), st.floats(1e-3, 0.5), st.integers(1, 64), st.floats(0, 0.01), st.integers(1, 10**6))
def test_the_plan_is_as_slow_as_its_slowest_stage(
    path: TransferPath, size: float, rtt: float, streams: int, loss: float, objects: int
) -> None:
    objects = max(objects, int(size / (5 * TIB)) + 1)
    given: dict[str, Any] = {"over": path, "rtt": rtt, "window": 2**22, "streams": streams, "loss": loss}
    plan = plan_transfer(size, **given, storage=upload(objects))
    assert plan.time == pytest.approx(max(8 * size / rate for rate in plan.limits.values()))
    assert plan.goodput == min(plan.limits.values())
    assert plan_transfer(size, **(given | {"streams": streams + 1}), storage=upload(objects)).time <= plan.time
    assert plan_transfer(size, **(given | {"rtt": 2 * rtt}), storage=upload(objects)).time >= plan.time
    assert plan_transfer(size / 2, **given).time <= plan.time


def pipeline(blocks: int, rates: list[float]) -> float:
    """Seconds for ``blocks`` of a bit each through stages in a row, each with one block at a time, event by event."""
    free = [0.0] * len(rates)
    for _ in range(blocks):
        ready = 0.0
        for stage, rate in enumerate(rates):
            ready = free[stage] = max(ready, free[stage]) + 1 / rate
    return free[-1]


@settings(deadline=None, max_examples=25)
@given(PATHS, st.floats(1e-3, 0.5), st.integers(1, 64), st.floats(1e7, 1e11), st.integers(1, 10**6))
def test_the_time_is_that_of_stages_in_a_row(
    path: TransferPath, rtt: float, streams: int, egress: float, objects: int
) -> None:
    blocks = 2000
    given: dict[str, Any] = {"over": path, "rtt": rtt, "window": 2**22, "streams": streams, "machine_rate": egress}
    plan = plan_transfer(TB, **given, storage=upload(objects, stream_rate=1e9))
    stages = [rate / (8 * TB) * blocks for rate in plan.limits.values()]  # blocks a second
    assert pipeline(blocks, stages) == pytest.approx(plan.time, rel=len(stages) / blocks)


# Cloud Storage (docs): up to 32 parts an object, composed with crc32c; objects up to 5 TiB.
def test_an_upload_in_parts() -> None:
    whole, parts = (parallel_upload_time(TB, line_rate=10e9, stream_rate=1e9, parts=count) for count in (1, 8))
    assert whole == pytest.approx(8e12 / 1e9)
    assert parts == pytest.approx(8e12 / 8 / 1e9)
    most = parallel_upload_time(TB, line_rate=10e9, stream_rate=1e9, parts=32, setup=1, compose=2)
    assert most == pytest.approx(8e12 / 10e9 + 3)  # the line is full
    assert upload(10, parts=4).requests == 50  # four parts and one compose each
    assert upload(10).requests == 10


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: interconnect(30e9), "30.*50"),
        (lambda: interconnect(10e9, mtu=9000), "1440, 1460, 1500, 8896"),
        (lambda: interconnect(10e9, attachments=0), "attachments"),
        (lambda: interconnect(10e9, mtu=True), "True"),
        (lambda: vpn(tunnels=0), "tunnels"),
        (lambda: vpn(ip=5), "se recibió 5"),
        (lambda: vpn_tunnels(0), "packet_rate"),
        (lambda: line(0), "rate"),
        (lambda: line(1e9, mtu=20), "MTU"),
        (lambda: upload(0), "objects"),
        (lambda: upload(1, parts=33), "32"),
        (lambda: parallel_upload_time(1e9, line_rate=1e9, stream_rate=1e9, parts=33), "32"),
        (lambda: parallel_upload_time(6 * TIB, line_rate=1e9, stream_rate=1e9, parts=2), "5"),
        (lambda: upload(1, stream_rate=-1), "stream_rate"),
        (lambda: plan_transfer(0, over=line(1e9), **FAST), "size"),
        (lambda: plan_transfer(1e9, over=line(1e9), rtt=0, window=1e6), "rtt"),
        (lambda: plan_transfer(1e9, over=line(1e9), rtt=0.1, window=1e6, machine_rate=0), "machine_rate"),
        (lambda: plan_transfer(6 * TIB, over=line(1e9), storage=download(1), **FAST), "más objetos"),
        (lambda: plan_transfer(1e9, over=line(1e9), rtt=0.1, window=1e6, loss=2), "2"),
    ],
)
def test_transfers_that_cannot_be_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(90, "90\N{NO-BREAK SPACE}s"), (36_000, "10\N{NO-BREAK SPACE}horas"), (864_000, "10\N{NO-BREAK SPACE}días")],
)
def test_a_duration_is_written_in_the_unit_that_reads_best(seconds: float, text: str) -> None:
    assert str(readable(seconds)) == text


def test_a_plan_names_the_limit_that_binds_in_the_language_in_force() -> None:
    plan = plan_transfer(10 * TB, over=vpn(tunnels=2), **FAST)
    assert repr(plan).endswith("limita: los paquetes por segundo")
    assert plan.table().rows[0][0].text == "los paquetes por segundo"
    assert "<table" in plan._repr_html_()
    messages.use("pt")
    assert repr(plan).endswith("limita: os pacotes por segundo")
    assert "Cloud Interconnect de 10\N{NO-BREAK SPACE}Gbit/s" in repr(interconnect())
    assert Quantity(3, "days").format("pt") == "3\N{NO-BREAK SPACE}dias"
