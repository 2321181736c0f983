"""A report as text: a summary, a table of kernels, the regions of the kernel that takes longest, what to try next."""

from collections.abc import Iterator

from tpu_kernels.messages import language
from tpu_kernels.models.numerals import number
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.models.table import Table, TableCell
from tpu_kernels.phrases import phrase
from tpu_kernels.xray.diagnosis import advice, beyond_bandwidth, bound
from tpu_kernels.xray.record import SIMULATED, Cycles, Kernel
from tpu_kernels.xray.report import Report
from tpu_kernels.xray.sizes import readable

UNKNOWN = "—"
IN_REGIONS = ("MXU", "XLU", "VALU", "EUP", "VLOAD", "VSTORE", "SALU")


def text(report: Report) -> str:
    """The whole report, in the language in force."""
    parts = ["\n".join(_summary(report))]
    if report.kernels:
        parts.append(repr(kernels_table(report)))
        longest = slowest(report)
        if longest.regions:
            parts.append(repr(regions_table(longest)))
        parts.append("\n".join([*advice(longest), *_left_out(report)]))
    return "\n\n".join(part for part in parts if part)


def slowest(report: Report) -> Kernel:
    """The kernel in which the program spends most of its cycles."""
    return max(report.kernels, key=lambda kernel: (kernel.cycles.value or 0) * (kernel.runs or 1))


def kernels_table(report: Report) -> Table:
    """One row for each kernel, in the order in which they run."""
    headings = [
        phrase("xray.kernel"),
        phrase("xray.where"),
        phrase("xray.runs"),
        phrase("xray.grid"),
        phrase("xray.cycles"),
        phrase("xray.bundles_per_step"),
        phrase("xray.mxu_held"),
        phrase("xray.from_hbm"),
        phrase("xray.to_hbm"),
        phrase("xray.vmem"),
        phrase("xray.spills"),
        phrase("xray.bound"),
    ]
    return Table(phrase("xray.kernels_caption"), headings, [_kernel_row(kernel) for kernel in report.kernels])


def regions_table(kernel: Kernel) -> Table:
    """One row for each region of a kernel's program: how often it is executed, and what it uses of each unit."""
    headings = [
        phrase("xray.region"),
        phrase("xray.loops"),
        phrase("xray.executions"),
        phrase("xray.bundles"),
        *IN_REGIONS,
    ]
    rows = [
        [
            TableCell(f"{region.first}-{region.last}"),
            _count(region.depth),
            _count(region.executions),
            _count(region.last - region.first + 1),
            *(_share(region.use[unit]) for unit in IN_REGIONS),
        ]
        for region in kernel.regions
    ]
    return Table(phrase("xray.regions_caption", kernel=kernel.name), headings, rows)


def _summary(report: Report) -> Iterator[str]:
    yield phrase(
        "xray.title", name=report.name, chip=report.chip, topology=report.topology, libtpu=report.versions["libtpu"]
    )
    if report.cycles.value is None or report.seconds is None:
        yield phrase("xray.no_cycles")
    else:
        yield phrase(
            "xray.takes",
            cycles=number(report.cycles.value, language()),
            label=_label(report.cycles),
            time=Quantity(report.seconds, "s").format(),
            clock=Quantity(report.clock, "Hz").format(),
        )
    if report.of_peak is not None:
        yield phrase("xray.of_peak", share=Quantity(report.of_peak, "share").format())
    if report.of_roofline is not None:
        yield phrase("xray.of_roofline", share=Quantity(report.of_roofline, "share").format())


def _label(cycles: Cycles) -> str:
    if cycles.label == SIMULATED:
        return phrase("xray.supposed") if cycles.reason else phrase("xray.simulated")
    return phrase("xray.modelled", why=_why(cycles.reason))


def _why(reason: str) -> str:
    match reason:
        case "chip":
            return phrase("xray.why_chip")
        case "libtpu":
            return phrase("xray.why_libtpu")
        case "asked":
            return phrase("xray.why_asked")
        case "steps":
            return phrase("xray.why_steps")
        case "time":
            return phrase("xray.why_time")
        case "memory":
            return phrase("xray.why_memory")
        case "died":
            return phrase("xray.why_died")
        case _:
            return phrase("xray.why_unknown")


def _left_out(report: Report) -> Iterator[str]:
    """What the cycles do not include."""
    if report.cycles.label == SIMULATED:
        yield phrase("xray.left_out")
        for kernel in report.kernels:
            if beyond_bandwidth(kernel):
                yield phrase("xray.beyond_bandwidth", kernel=kernel.name)
    for move in report.moves:
        yield phrase(
            "xray.moved", source=move.source.upper(), destination=move.destination.upper(), size=readable(move.bytes)
        )


def _kernel_row(kernel: Kernel) -> list[TableCell]:
    executed, steps = kernel.executed, kernel.steps
    held = None if kernel.mxu_cycles is None or not kernel.cycles.value else kernel.mxu_cycles / kernel.cycles.value
    return [
        TableCell(kernel.name),
        TableCell(kernel.where or UNKNOWN),
        _count(kernel.runs),
        TableCell("x".join(map(str, kernel.grid)) if kernel.grid else UNKNOWN),
        _count(kernel.cycles.value),
        _count(None if executed is None or not steps else round(executed / steps)),
        _share(held),
        _size(kernel.hbm("read")),
        _size(kernel.hbm("written")),
        _size(kernel.vmem),
        _count(kernel.spilled),
        TableCell(_bound(kernel)),
    ]


def _bound(kernel: Kernel) -> str:
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


def _count(value: int | None) -> TableCell:
    return TableCell(UNKNOWN if value is None else number(value, language()), numeric=True)


def _share(value: float | None) -> TableCell:
    return TableCell(UNKNOWN if value is None else Quantity(value, "share").format(), numeric=True)


def _size(value: int | None) -> TableCell:
    return TableCell(UNKNOWN if value is None else readable(value), numeric=True)
