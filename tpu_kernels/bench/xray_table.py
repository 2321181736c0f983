"""What ``bench xray`` and ``bench chooser`` print: lines that can be read as they come, each as soon as it is known."""

from collections.abc import Sequence
from dataclasses import dataclass

from tpu_kernels.bench.chooser import Choice
from tpu_kernels.bench.fairness import BUNDLES, CYCLES, MODEL, Side
from tpu_kernels.bench.xray import Row
from tpu_kernels.messages import decimal, language
from tpu_kernels.models.numerals import number
from tpu_kernels.phrases import phrase

UNKNOWN = "—"


@dataclass(frozen=True)
class Column:
    """``width`` is enough for every cell; numbers stand to the right."""

    heading: str
    width: int
    numeric: bool = False

    def padded(self, text: str) -> str:
        return text.rjust(self.width) if self.numeric else text.ljust(self.width)


def line(columns: Sequence[Column], cells: Sequence[str]) -> str:
    """One line of a table of which the other lines are not known yet."""
    return "  ".join(column.padded(cell) for column, cell in zip(columns, cells, strict=True)).rstrip()


def header(columns: Sequence[Column]) -> list[str]:
    """The headings, ruled off."""
    return [line(columns, [column.heading for column in columns]), line(columns, ["-" * c.width for c in columns])]


def contest_columns() -> list[Column]:
    """Of :func:`contest_line`."""
    return [
        Column(phrase("bench.chip"), 5),
        Column(phrase("bench.shape"), 14),
        Column(phrase("bench.dtype"), 8),
        Column(phrase("bench.start"), 6),
        Column(phrase("bench.block"), 24),
        Column(phrase("bench.our_cycles"), 10, numeric=True),
        Column(phrase("bench.of_peak"), 10, numeric=True),
        Column(phrase("bench.xla_cycles"), 10, numeric=True),
        Column(phrase("bench.of_peak"), 10, numeric=True),
        Column(phrase("bench.cycle_ratio"), 8, numeric=True),
        Column(phrase("bench.compared_by"), 10),
        Column(phrase("xray.bundles"), 8, numeric=True),
        Column(phrase("xray.spills"), 13, numeric=True),
        Column(phrase("bench.vmem_mib"), 9, numeric=True),
    ]


def contest_line(row: Row) -> str:
    """A comparison with XLA, or why there is none."""
    names = [row.contest.chip, row.contest.size, row.contest.dtype, row.contest.start]
    cells = [*names, UNKNOWN if row.block is None else str(row.block)]
    cells += [*_cycles(row.ours), *_cycles(row.xla), *_ratio(row)]
    cells += (
        ["", "", ""] if row.ours is None else [whole(row.ours.bundles), whole(row.ours.spilled), _mebibytes(row.ours)]
    )
    written = line(contest_columns(), cells)
    return f"{written}\n    {row.reason}" if row.reason else written


def contest_notes(rows: Sequence[Row]) -> list[str]:
    """What the classes mean, how rows without XLA's cycles are compared, and what the simulator does not know."""
    notes = [phrase("bench.classes")]
    ways = {row.compared_by for row in rows}
    if BUNDLES in ways:
        notes.append(phrase("bench.by_bundles_note"))
    if MODEL in ways:
        notes.append(phrase("bench.by_model_note"))
    return [*notes, phrase("bench.simulator_note")]


def choice_columns() -> list[Column]:
    """Of :func:`choice_line`."""
    return [
        Column(phrase("bench.chip"), 5),
        Column(phrase("bench.shape"), 16),
        Column(phrase("bench.dtype"), 8),
        Column(phrase("bench.pick"), 22),
        Column(phrase("xray.cycles"), 9, numeric=True),
        Column(phrase("bench.best"), 22),
        Column(phrase("xray.cycles"), 9, numeric=True),
        Column(phrase("bench.cycle_ratio"), 7, numeric=True),
        Column(phrase("bench.tried"), 10, numeric=True),
    ]


def choice_line(choice: Choice) -> str:
    """What the model chose beside the best, or why that is not known."""
    best = choice.best
    tried = f"{len(choice.trials)}/{len(choice.trials) + choice.beaten}"
    cells = [choice.case.chip, choice.case.size, choice.case.dtype, str(choice.pick.block), whole(choice.pick.cycles)]
    cells += [UNKNOWN, UNKNOWN] if best is None else [str(best.block), whole(best.cycles)]
    cells += [UNKNOWN if choice.ratio is None else decimal(f"{choice.ratio:.3f}"), tried]
    written = line(choice_columns(), cells)
    return f"{written}\n    {choice.pick.reason}" if choice.pick.reason else written


def choice_notes() -> list[str]:
    """Which candidates were not tried, and what the simulator does not know."""
    return [phrase("bench.beaten_note"), phrase("bench.simulator_note")]


def whole(value: int | None) -> str:
    """A count, as the language writes it."""
    return UNKNOWN if value is None else number(value, language())


def _cycles(side: Side | None) -> list[str]:
    return [UNKNOWN, UNKNOWN] if side is None else [whole(side.cycles), decimal(f"{100 * side.of_peak:.1f}")]


def _ratio(row: Row) -> list[str]:
    if row.ratio is None or row.compared_by is None:
        return [UNKNOWN, UNKNOWN]
    shown = decimal(f"{row.ratio:.3f}")
    if row.compared_by == CYCLES:
        return [shown, phrase("bench.by_cycles")]
    if row.compared_by == BUNDLES:
        return [f"≤ {shown}", phrase("bench.by_bundles")]
    return [shown, phrase("bench.by_model")]


def _mebibytes(side: Side) -> str:
    return UNKNOWN if side.vmem is None else decimal(f"{side.vmem / 2**20:.1f}")
