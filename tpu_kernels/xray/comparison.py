"""Several functions, or one on several chips, X-rayed side by side."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tpu_kernels.xray.errors import MissingCompilerError, UnknownTargetError, XrayError
from tpu_kernels.xray.record import SCHEMA
from tpu_kernels.xray.report import Report


@dataclass(frozen=True)
class Entry:
    """One column of a comparison: a report, or the message that says why there is none."""

    name: str
    chip: str
    report: Report | None
    error: str


@dataclass(frozen=True)
class Comparison:
    """Entries in the order in which they were given; the first one is what the others are compared with."""

    entries: tuple[Entry, ...]

    def ratio(self, entry: Entry) -> float | None:
        """The entry's time over that of the first one.

        ``None`` when one of them is not known, and when one is simulated and the other modelled: their difference would
        be that of two ways of counting.
        """
        first, report = self.entries[0].report, entry.report
        if first is None or report is None or not first.seconds or report.seconds is None:
            return None
        return report.seconds / first.seconds if first.cycles.label == report.cycles.label else None

    @property
    def mixed(self) -> bool:
        """Whether some times are simulated and others modelled."""
        return len({one.report.cycles.label for one in self.entries if one.report and one.report.seconds}) > 1

    @property
    def titles(self) -> tuple[str, ...]:
        """What tells the entries apart: their names, their chips, or both."""
        names, chips = ({entry.name for entry in self.entries}, {entry.chip for entry in self.entries})
        if len(chips) == 1:
            return tuple(entry.name for entry in self.entries)
        return tuple(entry.chip if len(names) == 1 else f"{entry.name} {entry.chip}" for entry in self.entries)

    def to_dict(self) -> dict[str, Any]:
        """For JSON: each entry with its ratio, its report as :meth:`Report.to_dict` gives it, and its error."""
        entries = [
            {
                "name": entry.name,
                "chip": entry.chip,
                "ratio": self.ratio(entry),
                "report": entry.report.to_dict() if entry.report else None,
                "error": entry.error,
            }
            for entry in self.entries
        ]
        return {"schema": SCHEMA, "entries": entries}

    def text(self) -> str:
        """For people, in the language in force."""
        from tpu_kernels.xray.side_by_side import text

        return text(self)

    def html(self) -> str:
        """A page that stands by itself, in the language in force: no request, no script."""
        from tpu_kernels.xray.page import page
        from tpu_kernels.xray.side_by_side import contents, title

        return page(title(self), contents(self))

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        from tpu_kernels.xray.side_by_side import markup

        return markup(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """What IPython shows in a terminal."""
        printer.text(self.text())


def compare(
    contestants: Mapping[str, Callable[..., Any] | Report],
    *specs: Any,
    chip: str | Sequence[str] = "v5e",
    **options: Any,
) -> Comparison:
    """X-ray each contestant for arguments like ``specs``, on each chip; a :class:`Report` among them stays as it is.

    ``options`` are those of :func:`~tpu_kernels.xray.examine.xray`. A contestant that the compiler refuses has its
    error in its column, and the others their report.

    Raises ``ValueError`` without contestants or chips, :class:`~tpu_kernels.xray.errors.MissingCompilerError` and
    :class:`~tpu_kernels.xray.errors.UnknownTargetError`, which none of them could do anything about.
    """
    chips = [chip] if isinstance(chip, str) else list(chip)
    found = []
    for name, contestant in contestants.items():
        if isinstance(contestant, Report):
            found.append(Entry(name, contestant.chip, contestant, ""))
        else:
            found += [examined(name, contestant, specs, one, **options) for one in chips]
    if not found:
        raise ValueError(f"{len(contestants)} contestants on {len(chips)} chips: expected at least one of each")
    return Comparison(tuple(found))


def examined(name: str, function: Callable[..., Any], specs: Sequence[Any], chip: str, **options: Any) -> Entry:
    """One entry: the function's report for a chip, or its error."""
    from tpu_kernels.xray.examine import xray

    try:
        report = xray(function, *specs, chip=chip, **options)
    except (MissingCompilerError, UnknownTargetError):
        raise
    except XrayError as error:
        return Entry(name, chip, None, str(error))
    return Entry(name, report.chip, report, "")


def name_of(function: Callable[..., Any]) -> str:
    """What a function is called where it is written; that of the function inside, for ``functools.partial``."""
    while hasattr(function, "func"):
        function = function.func
    return getattr(function, "__name__", type(function).__name__)
