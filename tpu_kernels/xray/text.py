"""A report as text: a summary, a table of kernels, the regions of the kernel that takes longest, what to try next."""

from collections.abc import Iterator

from tpu_kernels.messages import language
from tpu_kernels.models.numerals import number
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.models.table import Table, TableCell
from tpu_kernels.phrases import phrase
from tpu_kernels.xray.diagnosis import advice
from tpu_kernels.xray.exchanges import collectives_table, over_devices, try_first
from tpu_kernels.xray.record import Kernel
from tpu_kernels.xray.report import Report
from tpu_kernels.xray.words import UNKNOWN, bound_name, count, label, left_out, no_cycles, share, size, title

IN_REGIONS = ("MXU", "XLU", "VALU", "EUP", "VLOAD", "VSTORE", "SALU")


def text(report: Report) -> str:
    """The whole report, in the language in force."""
    parts = ["\n".join(_summary(report))]
    if report.collectives:
        parts.append(repr(collectives_table(report)))
    if report.kernels:
        parts.append(repr(kernels_table(report)))
        longest = slowest(report)
        if longest.regions:
            parts.append(repr(regions_table(longest)))
        parts.append("\n".join([*try_first(report), *advice(longest), *left_out(report)]))
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
        phrase("xray.bound"),
        phrase("xray.bundles_per_step"),
        phrase("xray.mxu_held"),
        phrase("xray.from_hbm"),
        phrase("xray.to_hbm"),
        phrase("xray.vmem"),
        phrase("xray.spills"),
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
            count(region.depth),
            count(region.executions),
            count(region.last - region.first + 1),
            *(share(region.use[unit]) for unit in IN_REGIONS),
        ]
        for region in kernel.regions
    ]
    return Table(phrase("xray.regions_caption", kernel=kernel.name), headings, rows)


def _summary(report: Report) -> Iterator[str]:
    yield title(report)
    yield from over_devices(report)
    if report.cycles.value is None or report.seconds is None:
        yield no_cycles(report)
    else:
        yield phrase(
            "xray.takes",
            cycles=number(report.cycles.value, language()),
            label=label(report.cycles),
            time=Quantity(report.seconds, "s").format(),
            clock=Quantity(report.clock, "Hz").format(),
        )
        if report.collectives:
            yield phrase("xray.without_collectives")
    if report.of_peak is not None:
        yield phrase("xray.of_peak", share=Quantity(report.of_peak, "share").format())
    elif report.flops == 0:
        yield phrase("xray.no_products")
    if report.of_roofline is not None:
        yield phrase("xray.of_roofline", share=Quantity(report.of_roofline, "share").format())
    elif report.cycles.value is not None:
        yield phrase("xray.no_roofline")


def _kernel_row(kernel: Kernel) -> list[TableCell]:
    return [
        TableCell(kernel.name),
        TableCell(kernel.where or UNKNOWN),
        count(kernel.runs),
        TableCell("x".join(map(str, kernel.grid)) if kernel.grid else UNKNOWN),
        count(kernel.cycles.value),
        TableCell(bound_name(kernel)),
        count(kernel.bundles_per_step),
        share(kernel.mxu_held),
        size(kernel.hbm("read")),
        size(kernel.hbm("written")),
        size(kernel.vmem),
        count(kernel.spilled),
    ]
