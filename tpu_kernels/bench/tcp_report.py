"""What the benchmark of TCP shows: a table for people, JSON for programs, and on what both were measured."""

import os
import platform
from collections.abc import Mapping, Sequence
from typing import Any

from tpu_kernels.bench.report import SCHEMA, number
from tpu_kernels.bench.tcp import Row, host_cost
from tpu_kernels.machine.distributions import installed_versions
from tpu_kernels.messages import decimal
from tpu_kernels.models.network import packet_cost
from tpu_kernels.models.table import Table, TableCell
from tpu_kernels.phrases import phrase


def environment() -> dict[str, Any]:
    """The machine behind a result; ``load`` is the average of the last minute, of which this benchmark is a part."""
    return {
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "load": os.getloadavg()[0],
        "kernel": platform.release(),
        "python": platform.python_version(),
        "versions": installed_versions(["sistolica"]),
    }


def to_dict(rows: Sequence[Row]) -> dict[str, Any]:
    """The whole result: ``schema``, ``environment``, ``rows``, ``packet_costs`` in seconds per packet and per byte."""
    return {
        "schema": SCHEMA,
        "environment": environment(),
        "rows": [row.to_dict() for row in rows],
        "packet_costs": [_cost(rows, streams) for streams in _streams(rows)],
    }


def lines(record: Mapping[str, Any]) -> list[str]:
    """The record of :func:`to_dict` for people, in the language in force."""
    known = record["environment"]
    first = phrase(
        "host_network.machine",
        kernel=known["kernel"],
        machine=known["machine"],
        cpus=known["cpus"],
        load=decimal(f"{known['load']:.1f}"),
        control=record["rows"][0]["congestion_control"],
    )
    return [first, "", repr(table(record["rows"])), *map(_cost_line, record["packet_costs"])]


def table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Rows of :mod:`~tpu_kernels.bench.tcp`, as dicts."""
    headings = [
        phrase("host_network.mtu"),
        phrase("host_network.offload"),
        phrase("host_network.streams"),
        phrase("host_network.rate"),
        phrase("host_network.packets"),
        phrase("host_network.bytes_per_packet"),
        phrase("host_network.packets_back"),
        phrase("host_network.resent"),
        phrase("host_network.cpu_sender"),
        phrase("host_network.cpu_receiver"),
        phrase("host_network.softirq"),
        phrase("host_network.efficiency"),
        phrase("host_network.model"),
    ]
    return Table(phrase("host_network.caption"), headings, [_cells(row) for row in rows])


def _cells(row: Mapping[str, Any]) -> list[TableCell]:
    cpu = row["cpu_seconds_per_byte"]
    measured = row["efficiency"]
    return [
        number(row["mtu"], 0),
        TableCell(phrase("host_network.yes") if row["offload"] else phrase("host_network.no")),
        number(row["streams"], 0),
        number(row["bits_per_s"] * 1e-9, 2),
        number(row["packets"], 0),
        number(row["bytes_per_packet"], 0),
        number(row["packets_back"], 0),
        number(row["segments_retransmitted"], 0),
        number(cpu["sender"] * 1e9, 2),
        number(cpu["receiver"] * 1e9, 2),
        number(cpu["machine_softirq"] * 1e9, 2),
        number(None if measured is None else 100 * measured, 2),
        number(100 * row["efficiency_of_model"], 2),
    ]


def _streams(rows: Sequence[Row]) -> list[int]:
    """The numbers of streams that have a cost to show: those with several MTUs without offload."""
    mtus: dict[int, set[int]] = {}
    for row in rows:
        if not row.case.offload:
            mtus.setdefault(row.case.streams, set()).add(row.case.mtu)
    return [streams for streams, found in mtus.items() if len(found) > 1]


def _cost(rows: Sequence[Row], streams: int) -> dict[str, Any]:
    try:
        cost = host_cost(rows, streams)
    except ValueError:
        return {"streams": streams, "per_packet": None, "per_byte": None}
    return {"streams": streams, "per_packet": float(cost.per_packet), "per_byte": float(cost.per_byte)}


def _cost_line(cost: Mapping[str, Any]) -> str:
    if cost["per_packet"] is None:
        return phrase("host_network.no_cost", streams=cost["streams"])
    found = packet_cost(per_packet=cost["per_packet"], per_byte=cost["per_byte"])
    return phrase("host_network.cost", streams=cost["streams"], cost=found)
