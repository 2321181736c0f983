"""What the benchmark of collectives shows: a table for people, JSON for programs."""

from collections.abc import Mapping, Sequence
from typing import Any

from tpu_kernels.bench.collective_case import NO_ROOT
from tpu_kernels.bench.collective_fit import FORMS, form_title
from tpu_kernels.bench.collective_row import Row
from tpu_kernels.bench.collective_run import Found
from tpu_kernels.bench.report import SCHEMA, environment, machine_line, number
from tpu_kernels.models.table import Table, TableCell
from tpu_kernels.phrases import phrase


def to_dict(found: Found) -> dict[str, Any]:
    """The whole result: ``schema``, ``environment``, ``rows``, ``fits``, and ``notes`` on what is missing."""
    return {
        "schema": SCHEMA,
        "environment": {**environment(found.seen), "load": found.load, "peers": found.peers},
        "rows": [row.to_dict() for row in found.rows],
        "fits": [one.to_dict() for one in found.fits],
        "notes": found.notes,
    }


def lines(found: Found) -> list[str]:
    """The same for people, in the language in force."""
    said = [machine_line(found.seen), phrase("collective_bench.load", load=number(found.load, 1).text)]
    said += [phrase("collective_bench.peer", peer=name, version=version) for name, version in found.peers.items()]
    return [*said, *found.notes, "", repr(table(found.rows)), "", *map(repr, found.fits)]


def table(rows: Sequence[Row]) -> Table:
    """A row for each contestant on each case, in columns of the NCCL tests."""
    headings = [
        phrase("collective_bench.size"),
        phrase("collective_bench.count"),
        phrase("bench.dtype"),
        phrase("collective_bench.op"),
        phrase("collective_bench.root"),
        phrase("bench.implementation"),
        phrase("collective_bench.place"),
    ]
    for form in FORMS:
        headings += [
            phrase("collective_bench.time", form=form_title(form)),
            phrase("collective_bench.algbw"),
            phrase("collective_bench.busbw"),
            phrase("collective_bench.wrong"),
        ]
    case = rows[0].case
    factor = number(case.factor, 2).text
    caption = phrase("collective_bench.caption", collective=case.collective, ranks=case.ranks, factor=factor)
    return Table(caption, headings, [_cells(row.to_dict()) for row in rows])


def place(row: Mapping[str, Any]) -> str:
    """What a row was measured on, in the language in force."""
    if row["label"] == "interpreted":
        return phrase("bench.interpreted")
    match row["place"]:
        case "cpu":
            return phrase("collective_bench.threads")
        case "gloo":
            return phrase("collective_bench.gloo")
        case "mpi":
            return phrase("collective_bench.mpi")
        case _:
            return str(row["kind"])


def _cells(row: Mapping[str, Any]) -> list[TableCell]:
    cells = [
        number(row["size"], 0),
        number(row["count"], 0),
        TableCell(row["dtype"]),
        TableCell(row["op"] or phrase("collective_bench.none")),
        number(None if row["root"] == NO_ROOT else row["root"], 0),
        TableCell(row["contestant"]),
        TableCell(place(row)),
    ]
    for form in FORMS:
        found = row[form]
        if found is None:
            cells += [number(None, 0)] * 4
            continue
        seconds, algorithm, bus = found["seconds"], found["algbw"], found["busbw"]
        cells += [
            number(None if seconds is None else seconds * 1e6, 1),
            number(None if algorithm is None else algorithm * 1e-9, 2),
            number(None if bus is None else bus * 1e-9, 2),
            number(found["wrong"], 0),
        ]
    return cells
