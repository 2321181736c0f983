"""The facts and measured tables of ``data/network.toml``: ``number("vpn.pps")``, ``measurements("V1").pairs("size",
"time")``.

A fact is a value with what it says, its status, source and date. One that bundles several values has ``parts``, each a
fact of its own: ``pod.v6e.chips``. A value for which no source was found raises :class:`UnknownValueError`.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple, TypeAlias

from tpu_kernels.models.catalogue import Source, Text, UnknownValueError, typed
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.models.table import Table, TableCell
from tpu_kernels.phrases import phrase

FactValue: TypeAlias = Quantity | Text | tuple[Quantity | Text, ...]
STATEMENT = "statement"
UNKNOWN = "unknown"


class UnknownFactError(LookupError):
    """An id that no fact or measured table has."""


class Fact(NamedTuple):
    """One fact. ``name`` says it in English; for a statement it is the value too.

    ``status``: ``verified`` (read in the primary source), ``secondary-only`` (a third party restates it),
    ``conflicting`` (copies disagree, see ``note``), ``derived`` (arithmetic on other facts). ``bound`` is ``over``,
    ``under`` or ``up to`` when the source gives a limit and not a value. ``parts`` are the ids of its parts.
    """

    id: str
    name: str
    status: str
    value: FactValue | None = None
    unit: str | None = None
    source_key: str | None = None
    published: str | None = None
    bound: str | None = None
    note: str | None = None
    parts: tuple[str, ...] = ()

    def known(self) -> FactValue:
        """The value, or :class:`UnknownValueError`."""
        if self.value is None:
            reason = ", ".join(self.parts) or self.note or phrase("hardware.no_note")
            if self.parts:
                raise UnknownValueError(phrase("fact.has_parts", id=self.id, reason=reason))
            raise UnknownValueError(phrase("fact.unknown_value", id=self.id, reason=reason))
        return self.value

    @property
    def source(self) -> Source:
        """Where it comes from; :class:`UnknownValueError` for arithmetic, which has no source of its own."""
        if self.source_key is None:
            raise UnknownValueError(phrase("fact.only_derived", id=self.id, name=self.name))
        return sources()[self.source_key]._replace(published=self.published, value_note=self.note)


class Formula(NamedTuple):
    """One formula as its source gives it; ``status`` is that of a fact, or ``standard`` for a textbook form."""

    key: str
    name: str
    formula: str
    status: str
    source_key: str | None = None
    note: str | None = None


class Column(NamedTuple):
    """A column of measurements and the unit of its cells (``text`` for words)."""

    name: str
    unit: str


Cell: TypeAlias = Quantity | Text | None


class Measurements(NamedTuple):
    """A published table. ``rows`` hold a :class:`Quantity`, a :class:`Text`, or ``None`` where nothing was published.

    ``grade`` says how strong the evidence is, ``line_rate`` is in bytes/s where the source gives one, ``note`` is what
    a check of the table found.
    """

    id: str
    title: str
    source: Source
    grade: str
    note: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    line_rate: Quantity | None = None

    def column(self, name: str) -> list[Quantity]:
        """The numbers of a column; :class:`UnknownValueError` when the source leaves one of them out."""
        place = self._place(name)
        found = [row[place] for row in self.rows]
        if not all(isinstance(cell, Quantity) for cell in found):
            raise UnknownValueError(phrase("fact.gap", table=self.id, column=name))
        return [cell for cell in found if isinstance(cell, Quantity)]

    def pairs(self, x: str, y: str) -> list[tuple[float, float]]:
        """The two columns side by side, without the rows in which one of them is not known."""
        left, right = self._place(x), self._place(y)
        cells = [(row[left], row[right]) for row in self.rows]
        return [(float(a), float(b)) for a, b in cells if isinstance(a, Quantity) and isinstance(b, Quantity)]

    def table(self) -> Table:
        """The measurements for a reader, in the language in force."""
        headings = [_headings()[column.name] for column in self.columns]
        rows = [[_table_cell(cell) for cell in row] for row in self.rows]
        return Table(self.source.format(), headings, rows)

    def __repr__(self) -> str:
        return repr(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def _place(self, name: str) -> int:
        names = [column.name for column in self.columns]
        if name not in names:
            raise UnknownFactError(phrase("fact.no_column", table=self.id, got=repr(name), known=", ".join(names)))
        return names.index(name)


@cache
def document() -> Mapping[str, Any]:
    """The whole of ``network.toml``, parsed on first use."""
    import tomllib
    from importlib.resources import files

    return tomllib.loads(files("tpu_kernels.data").joinpath("network.toml").read_text(encoding="utf-8"))


@cache
def sources() -> Mapping[str, Source]:
    """Every source of the file by key."""
    return {key: Source(key=key, **entry) for key, entry in document()["sources"].items()}


@cache
def facts() -> Mapping[str, Fact]:
    """Every fact by id, parts included, in the order of the file."""
    found: dict[str, Fact] = {}
    for name, entry in document()["facts"].items():
        about = {key: entry[key] for key in ("name", "status", "note") if key in entry}
        about["source_key"] = entry.get("source")
        parts = {f"{name}.{part}": values for part, values in entry.get("parts", {}).items()}
        found[name] = _fact(name, about, entry, tuple(parts))
        for part, values in parts.items():
            found[part] = _fact(part, about, values)
    return found


def fact(name: str) -> Fact:
    """The fact with this id; :class:`UnknownFactError`, with the closest ids, when there is none."""
    try:
        return facts()[name]
    except KeyError:
        from difflib import get_close_matches

        near = ", ".join(get_close_matches(name, facts(), n=3, cutoff=0.5)) or "—"
        raise UnknownFactError(phrase("fact.unknown", got=repr(name), near=near)) from None


@cache
def formulas() -> Mapping[str, Formula]:
    """The formulas that the models are made of, by key, as ``F14``."""
    entries = document()["formulas"].items()
    return {
        key: Formula(key, entry["name"], entry["formula"], entry["status"], entry.get("source"), entry.get("note"))
        for key, entry in entries
    }


def number(name: str) -> Quantity:
    """The number of a fact with one numeric value; ``TypeError`` when it has another kind of value."""
    value = fact(name).known()
    if not isinstance(value, Quantity):
        raise TypeError(f"expected one number in the fact {name!r}, got {value!r}; read it with fact({name!r}).known()")
    return value


def numbers(name: str) -> tuple[Quantity, ...]:
    """The numbers of a fact with a list of them; ``TypeError`` when it has another kind of value."""
    value = fact(name).known()
    if not isinstance(value, tuple):
        raise TypeError(f"expected a list in the fact {name!r}, got {value!r}; read it with fact({name!r}).known()")
    found = tuple(item for item in value if isinstance(item, Quantity))
    if len(found) != len(value):
        raise TypeError(f"expected numbers in the fact {name!r}, got {value!r}; read it with fact({name!r}).known()")
    return found


def measurements(name: str) -> Measurements:
    """The measured table with this id, as ``V1``; :class:`UnknownFactError` when there is none."""
    tables = document()["tables"]
    if name not in tables:
        raise UnknownFactError(phrase("fact.unknown", got=repr(name), near=", ".join(tables)))
    entry = tables[name]
    columns = tuple(Column(**column) for column in entry["columns"])
    rows = tuple(tuple(_cell(cell, column) for cell, column in zip(row, columns, strict=True)) for row in entry["rows"])
    rate = entry.get("line_rate")
    return Measurements(
        id=name,
        source=sources()[entry["source"]],
        columns=columns,
        rows=rows,
        line_rate=None if rate is None else Quantity(rate, "bytes/s"),
        **{key: entry[key] for key in ("title", "grade", "note")},
    )


def _fact(name: str, about: Mapping[str, Any], entry: Mapping[str, Any], parts: tuple[str, ...] = ()) -> Fact:
    unit = entry.get("unit")
    value: FactValue | None = None
    if unit == STATEMENT:
        value = Text(about["name"])
    elif isinstance(entry.get("value"), list):
        value = tuple(typed(item, entry["unit"]) for item in entry["value"])
    elif "value" in entry:
        value = typed(entry["value"], entry["unit"])
    rest = {key: entry[key] for key in ("published", "bound") if key in entry}
    return Fact(id=name, value=value, unit=unit, parts=parts, **about, **rest)


def _headings() -> dict[str, str]:
    """What each column of the tables is called."""
    return {
        "size": phrase("measured.size"),
        "time": phrase("measured.time"),
        "busbw": phrase("measured.busbw"),
        "payload": phrase("measured.payload"),
        "send": phrase("measured.send"),
        "write": phrase("measured.write"),
        "raw": phrase("measured.raw"),
        "cause": phrase("measured.cause"),
        "count": phrase("measured.count"),
        "reported": phrase("measured.reported"),
        "case": phrase("measured.case"),
        "model": phrase("measured.model"),
        "model_no_wrap": phrase("measured.model_no_wrap"),
        "measured": phrase("measured.measured"),
        "gpus": phrase("measured.gpus"),
        "geomean_error": phrase("measured.geomean_error"),
        "offered": phrase("measured.offered"),
        "throughput": phrase("measured.throughput"),
        "output": phrase("measured.output"),
        "latency_mean": phrase("measured.latency_mean"),
        "latency_p90": phrase("measured.latency_ninetieth"),
        "latency_p99": phrase("measured.latency_ninety_ninth"),
        "input_length": phrase("measured.input_length"),
        "output_length": phrase("measured.output_length"),
    }


def _cell(cell: float | str, column: Column) -> Cell:
    return None if cell == UNKNOWN else typed(cell, column.unit)


def _table_cell(cell: Cell) -> TableCell:
    if cell is None:
        return TableCell(phrase("hardware.no_source"))
    if isinstance(cell, Text):
        return TableCell(str(cell))
    return TableCell(cell.format(digits=4), numeric=True)
