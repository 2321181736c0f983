"""A comparison as text and as HTML: one table with a column for each entry, the errors, the pictures of each."""

from collections.abc import Callable, Sequence
from html import escape

from tpu_kernels.messages import decimal
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.models.table import Table, TableCell
from tpu_kernels.phrases import phrase
from tpu_kernels.xray.comparison import Comparison, Entry
from tpu_kernels.xray.markup import framed, gallery, paragraph, pictures
from tpu_kernels.xray.record import SIMULATED, Kernel
from tpu_kernels.xray.report import Report
from tpu_kernels.xray.text import slowest
from tpu_kernels.xray.words import UNKNOWN, bound_name, count, share, size

NUMERIC_UNKNOWN = TableCell(UNKNOWN, numeric=True)


def title(comparison: Comparison) -> str:
    """What is compared."""
    return phrase("xray.comparison", entries=", ".join(comparison.titles))


def text(comparison: Comparison) -> str:
    """The whole comparison, in the language in force."""
    return "\n".join([title(comparison), "", repr(table(comparison)), *_notes(comparison)])


def markup(comparison: Comparison) -> str:
    """The comparison under its title, as a notebook shows it."""
    return framed(f"<h2>{escape(title(comparison))}</h2>{contents(comparison)}")


def contents(comparison: Comparison) -> str:
    """The comparison without its title; everything that comes from the learner is escaped."""
    parts = [table(comparison)._repr_html_(), *map(paragraph, _notes(comparison))]
    for name, entry in zip(comparison.titles, comparison.entries, strict=True):
        if entry.report and entry.report.kernels:
            parts.append(f"<h2>{escape(name)}</h2>{gallery(pictures(slowest(entry.report)))}")
    return "".join(parts)


def table(comparison: Comparison) -> Table:
    """A row for each figure, a column for each entry."""
    return Table(
        phrase("xray.comparison_caption"),
        [phrase("xray.figure"), *comparison.titles],
        [
            _row(comparison, phrase("xray.cycles"), lambda report: count(report.cycles.value)),
            _row(comparison, phrase("xray.counted"), lambda report: TableCell(_counted(report), numeric=True)),
            _row(comparison, phrase("xray.time"), _time),
            [TableCell(phrase("xray.ratio")), *(_ratio(comparison, entry) for entry in comparison.entries)],
            _row(comparison, phrase("xray.peak"), lambda report: share(report.of_peak)),
            _row(comparison, phrase("xray.roof"), lambda report: share(report.of_roofline)),
            _of_slowest(comparison, phrase("xray.bundles_per_step"), lambda one: count(one.bundles_per_step)),
            _of_slowest(comparison, phrase("xray.mxu_held"), lambda one: share(one.mxu_held)),
            _row(comparison, phrase("xray.from_hbm"), lambda report: size(report.hbm_read)),
            _row(comparison, phrase("xray.to_hbm"), lambda report: size(report.hbm_written)),
            _of_slowest(comparison, phrase("xray.vmem"), lambda one: size(one.vmem)),
            _of_slowest(comparison, phrase("xray.spills"), lambda one: count(one.spilled)),
            _of_slowest(comparison, phrase("xray.bound"), lambda one: TableCell(bound_name(one), numeric=True)),
        ],
    )


def _row(comparison: Comparison, name: str, cell: Callable[[Report], TableCell]) -> Sequence[TableCell]:
    return [TableCell(name), *(cell(one.report) if one.report else _refused(one) for one in comparison.entries)]


def _of_slowest(comparison: Comparison, name: str, cell: Callable[[Kernel], TableCell]) -> Sequence[TableCell]:
    return _row(comparison, name, lambda report: cell(slowest(report)) if report.kernels else NUMERIC_UNKNOWN)


def _refused(entry: Entry) -> TableCell:
    return TableCell(phrase("xray.no_report"), entry.error, numeric=True)


def _counted(report: Report) -> str:
    if report.cycles.value is None:
        return UNKNOWN
    return phrase("xray.by_compiler") if report.cycles.label == SIMULATED else phrase("xray.by_model")


def _time(report: Report) -> TableCell:
    if report.seconds is None:
        return NUMERIC_UNKNOWN
    return TableCell(Quantity(report.seconds, "s").format(), numeric=True)


def _ratio(comparison: Comparison, entry: Entry) -> TableCell:
    ratio = comparison.ratio(entry)
    return NUMERIC_UNKNOWN if ratio is None else TableCell(decimal(f"{ratio:.2f}") + "×", numeric=True)


def _notes(comparison: Comparison) -> list[str]:
    notes = [phrase("xray.mixed")] if comparison.mixed else []
    return notes + [
        phrase("xray.entry_refused", entry=name, error=entry.error)
        for name, entry in zip(comparison.titles, comparison.entries, strict=True)
        if entry.error
    ]
