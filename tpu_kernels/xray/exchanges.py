"""What a report says of a program for many devices: how many there are, what one of them holds, what they exchange."""

from collections.abc import Iterator

from tpu_kernels.models.quantity import Quantity
from tpu_kernels.models.table import Table, TableCell
from tpu_kernels.phrases import phrase
from tpu_kernels.xray.collectives import Collective
from tpu_kernels.xray.report import Report
from tpu_kernels.xray.sizes import readable
from tpu_kernels.xray.words import UNKNOWN, count, size


def over_devices(report: Report) -> Iterator[str]:
    """Over how many devices a program is spread, and how full each is; nothing for a program for one."""
    if report.devices == 1:
        return
    mesh = ", ".join(f"{name}={side}" for name, side in report.mesh.items())
    yield phrase("xray.spread", devices=report.devices, chips=report.chips, mesh=mesh)
    if report.hbm_used is not None:
        yield phrase(
            "xray.holds",
            used=readable(report.hbm_used),
            hbm=readable(report.hbm),
            arguments=readable(report.memory["argument"]),
            results=readable(report.memory["output"]),
            temporaries=readable(report.memory["temp"]),
            code=readable(report.memory["generated_code"]),
            shared=readable(report.memory["alias"]),
        )


def try_first(report: Report) -> Iterator[str]:
    """What to try before anything in a kernel, when the collectives take longer than all kernels."""
    times = [None if one.seconds is None or one.runs is None else one.seconds * one.runs for one in report.collectives]
    if None in times or report.seconds is None:
        return
    taken = sum(filter(None, times))
    if taken > report.seconds:
        yield phrase("xray.try_collectives", time=Quantity(taken, "s").format())


def collectives_table(report: Report) -> Table:
    """One row for each collective, in the order of the program."""
    headings = [
        phrase("xray.collective"),
        phrase("xray.where"),
        phrase("xray.runs"),
        phrase("xray.dtype"),
        phrase("xray.gives"),
        phrase("xray.gets"),
        phrase("xray.groups"),
        phrase("xray.along"),
        phrase("xray.meanwhile"),
        phrase("xray.modelled_time"),
    ]
    return Table(phrase("xray.collectives_caption"), headings, [_row(one) for one in report.collectives])


def _row(one: Collective) -> list[TableCell]:
    times = "?" if one.group_size is None else str(one.group_size)
    return [
        TableCell(one.operation),
        TableCell(one.where or UNKNOWN),
        count(one.runs),
        TableCell(one.dtype),
        size(one.bytes),
        size(one.result_bytes),
        TableCell(f"{one.groups} x {times}"),
        TableCell(_along(one)),
        TableCell(phrase("xray.yes") if one.asynchronous else phrase("xray.no")),
        TableCell(UNKNOWN if one.seconds is None else Quantity(one.seconds, "s").format(), numeric=True),
    ]


def _along(one: Collective) -> str:
    if one.extents is None:
        return phrase("xray.irregular")
    return " ".join(f"{side}={taken}" for side, taken in one.extents.items()) or UNKNOWN
