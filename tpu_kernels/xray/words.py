"""What a report's figures are called, and how a cell of a table writes them, in the language in force."""

from collections.abc import Iterator

from tpu_kernels.messages import language
from tpu_kernels.models.numerals import number
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.models.table import TableCell
from tpu_kernels.phrases import phrase
from tpu_kernels.xray.diagnosis import beyond_bandwidth, bound
from tpu_kernels.xray.record import SIMULATED, Cycles, Kernel
from tpu_kernels.xray.report import Report
from tpu_kernels.xray.sizes import readable

UNKNOWN = "—"


def title(report: Report) -> str:
    """What was compiled, for what, by what."""
    names = {"name": report.name, "chip": report.chip, "libtpu": report.versions["libtpu"]}
    if report.devices == 1:
        return phrase("xray.title", **names)
    return phrase("xray.title_of_slice", topology=report.topology, **names)


def label(cycles: Cycles) -> str:
    """Who found the cycles, and why not the simulator."""
    if cycles.label == SIMULATED:
        return phrase("xray.supposed") if cycles.reason else phrase("xray.simulated")
    return phrase("xray.modelled", why=_why(cycles.reason))


def no_cycles(report: Report) -> str:
    """Why the cycles of a program are not known."""
    return phrase("xray.no_cycles") if report.kernels else phrase("xray.no_kernels")


def _why(reason: str) -> str:
    match reason:
        case "chip":
            return phrase("xray.why_chip")
        case "libtpu":
            return phrase("xray.why_libtpu")
        case "asked":
            return phrase("xray.why_asked")
        case "devices":
            return phrase("xray.why_devices")
        case "steps":
            return phrase("xray.why_steps")
        case "time":
            return phrase("xray.why_time")
        case "memory":
            return phrase("xray.why_memory")
        case "killed":
            return phrase("xray.why_killed")
        case "died":
            return phrase("xray.why_died")
        case _:
            return phrase("xray.why_unknown")


def bound_name(kernel: Kernel) -> str:
    """What holds the kernel up."""
    match bound(kernel):
        case "mxu":
            return phrase("xray.bound_mxu")
        case "hbm":
            return phrase("xray.bound_hbm")
        case "latency":
            return phrase("xray.bound_latency")
        case "issue":
            return phrase("xray.bound_issue")
        case "stalls":
            return phrase("xray.bound_stalls")
        case None:
            return UNKNOWN
        case slot:
            return phrase("xray.bound_slot", unit=slot.upper())


def count(value: int | None) -> TableCell:
    """A whole number, grouped."""
    return TableCell(UNKNOWN if value is None else number(value, language()), numeric=True)


def share(value: float | None) -> TableCell:
    """A part of one, in percent."""
    return TableCell(UNKNOWN if value is None else Quantity(value, "share").format(), numeric=True)


def size(value: int | None) -> TableCell:
    """Bytes, as ``2,5 MiB``."""
    return TableCell(UNKNOWN if value is None else readable(value), numeric=True)


def left_out(report: Report) -> Iterator[str]:
    """What else the cycles do not include."""
    if report.cycles.label == SIMULATED:
        yield phrase("xray.left_out")
        for kernel in report.kernels:
            if beyond_bandwidth(kernel):
                yield phrase("xray.beyond_bandwidth", kernel=kernel.name)
    for move in report.moves:
        ends = {"source": move.source.upper(), "destination": move.destination.upper(), "size": readable(move.bytes)}
        yield phrase("xray.moved_ahead", **ends) if move.ahead else phrase("xray.moved", **ends)
