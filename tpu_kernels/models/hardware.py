"""Accelerators with every number sourced: ``chip("v5e").hbm_bandwidth`` and ``chip("v5e").source("hbm_bandwidth")``.

Rates are dense and per chip. A value for which no source was found raises :class:`UnknownValueError`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from tpu_kernels.models.catalogue import (
    Alternative,
    Price,
    Source,
    Text,
    UnknownValueError,
    Value,
    document,
    read_price,
    read_values,
    sources,
)
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.models.table import Table, TableCell
from tpu_kernels.phrases import phrase

__all__ = [
    "Alternative",
    "Chip",
    "PeakRates",
    "Price",
    "Quantity",
    "Source",
    "Text",
    "UnknownChipError",
    "UnknownFieldError",
    "UnknownValueError",
    "Value",
    "chip",
    "chips",
    "compiled",
    "get",
    "sources",
    "table",
]

PEAK = "peak_flops"


class UnknownChipError(LookupError):
    """A name that no accelerator of the catalogue has."""


class UnknownFieldError(AttributeError, KeyError):
    """A field that the catalogue does not record for this accelerator."""

    def __str__(self) -> str:
        return str(self.args[0])


class PeakRates(Mapping[str, Quantity]):
    """Dense peak rates by format: ``peak_flops["bf16"]``. Iterates over the formats whose rate is known."""

    def __init__(self, of: "Chip") -> None:
        self._of = of

    def __getitem__(self, dtype: str) -> Quantity:
        return _quantity(self._of.value(f"{PEAK}.{dtype}").known())

    def __iter__(self) -> Iterator[str]:
        fields = (field for field, value in self._of.values.items() if value.value is not None)
        return (field.removeprefix(f"{PEAK}.") for field in fields if field.startswith(f"{PEAK}."))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return repr(dict(self))


class Chip:
    """One accelerator. Every recorded field is an attribute that gives a :class:`Quantity`; words give a :class:`Text`.

    ``values`` maps each field, as ``hbm_bandwidth`` or ``peak_flops.bf16``, to its full record, unknowns included.
    """

    def __init__(self, key: str, entry: Mapping[str, Any]) -> None:
        self.id = key
        self.name: str = entry["name"]
        self.vendor: str = entry["vendor"]
        self.status: str = entry["status"]
        self.aliases: tuple[str, ...] = tuple(entry["aliases"])
        self.jax_device_kind: str | None = entry.get("jax_device_kind")
        self.naming_counts: str | None = entry.get("naming_counts")
        self.confidence: str | None = entry.get("confidence")
        self.prices_note: str | None = entry.get("prices_note")
        self.values: Mapping[str, Value] = read_values(self.name, entry["values"])
        self.prices: tuple[Price, ...] = tuple(read_price(price) for price in entry.get("prices", []))

    def __repr__(self) -> str:
        return f"hardware.chip({self.id!r})"

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return (chip, (self.id,))

    def __getattr__(self, field: str) -> Quantity:
        if field.startswith("_") or field == "values":  # asked for by copy and pickle before there is any value
            raise AttributeError(field)
        return _quantity(self.value(field).known())

    def __setattr__(self, field: str, value: object) -> None:
        if field in self.__dict__.get("values", {}) or field in document()["field_aliases"]:
            raise AttributeError(phrase("hardware.read_only", chip=self.name, field=field))
        super().__setattr__(field, value)

    def __dir__(self) -> Iterable[str]:
        fields = {field.partition(".")[0] for field in self.values}
        return sorted({*super().__dir__(), *fields, *document()["field_aliases"]})

    @property
    def peak_flops(self) -> PeakRates:
        """Dense peak rates by number format; ``KeyError``-like :class:`UnknownValueError` when no source was found."""
        return PeakRates(self)

    @property
    def ici_topology(self) -> Text:
        """How the chips of a pod are wired."""
        return _text(self.value("ici_topology").known())

    @property
    def pod_shape(self) -> Text:
        """The sides of a full pod, as ``16x16``."""
        return _text(self.value("pod_shape").known())

    def value(self, field: str) -> Value:
        """The full record of a field, unknown or not; :class:`UnknownFieldError` when the catalogue has none."""
        field = str(field)
        name = document()["field_aliases"].get(field, field)
        try:
            return self.values[name]
        except KeyError:
            near = _near(field, self.values) or ", ".join(self.values)
            raise UnknownFieldError(phrase("hardware.unknown_field", chip=self.name, field=field, near=near)) from None

    def sources(self, field: str) -> tuple[Source, ...]:
        """Every source of a value, first the main one, each with what it printed. Empty for arithmetic without one."""
        value = self.value(field)
        value.known()
        return tuple(
            sources()[key]._replace(published=value.published, derived=value.derived, value_note=value.note)
            for key in value.sources
        )

    def source(self, field: str) -> Source:
        """The main source of a value; :class:`UnknownValueError` when the value, or a source for it, is unknown."""
        for found in self.sources(field):
            return found
        formula = self.value(field).derived or ""
        raise UnknownValueError(phrase("hardware.only_derived", chip=self.name, field=field, formula=formula))

    def alternatives(self, field: str) -> tuple[Alternative, ...]:
        """What other sources say of the same value."""
        return self.value(field).alternatives

    def price(self, region: str | None = None) -> Price:
        """The first public price, in ``region`` if one is named; :class:`UnknownValueError` when there is none."""
        for price in self.prices:
            if price.amount is not None and region in (None, price.region):
                return price
        places = ", ".join(dict.fromkeys(price.region for price in self.prices if price.region)) or "—"
        raise UnknownValueError(phrase("hardware.no_price", chip=self.name, region=region or "—", places=places))


def chips() -> tuple[Chip, ...]:
    """Every accelerator of the catalogue, in its order."""
    return tuple(_chips().values())


def chip(name: str | Chip) -> Chip:
    """The accelerator with this id, name, alias or JAX device kind, whatever its case, spaces and dashes.

    A chip is returned as it is. Raises :class:`UnknownChipError`, with the closest names, when there is none.
    """
    if isinstance(name, Chip):
        return name
    found = _names().get(_plain(name)) if isinstance(name, str) else None
    if found is None:
        given, name = repr(name)[:60], str(name)[:60]
        near = _near(name, [alias for one in chips() for alias in one.aliases])
        known = ", ".join(one.aliases[0] for one in chips())
        raise UnknownChipError(phrase("hardware.unknown_chip", got=given, near=near or "—", known=known))
    return found


def get(path: str) -> Quantity | Text:
    """A value by dotted path, as ``v5e.peak_flops.bf16``; raises what :func:`chip` and :meth:`Chip.value` raise."""
    name, dot, field = str(path).partition(".")
    if not dot or not field:
        raise UnknownFieldError(phrase("hardware.bad_path", got=repr(path)))
    return chip(name).value(field).known()


def compiled() -> str:
    """The date on which the catalogue was compiled, as ``2026-11-30``."""
    return str(document()["meta"]["compiled"])


def table(which: Sequence[str | Chip] | str | Chip, fields: Sequence[str] | str, caption: str | None = None) -> Table:
    """Chips as rows, fields as columns, in the language in force; each cell carries its source, unknowns say so.

    Raises :class:`UnknownChipError`, and :class:`UnknownFieldError` for a field that no chip at all has.
    """
    which = [which] if isinstance(which, str | Chip) else which
    fields = [fields] if isinstance(fields, str) else fields
    rows = []
    for found in map(chip, which):
        rows.append([TableCell(found.name), *(_table_cell(found, field) for field in fields)])
    headings = [phrase("hardware.chip"), *(_heading(field) for field in fields)]
    return Table(caption or phrase("hardware.caption", date=compiled()), headings, rows)


def _table_cell(of: Chip, field: str) -> TableCell:
    try:
        value = of.value(field)
    except UnknownFieldError:
        name = document()["field_aliases"].get(field, field)
        if not any(name in one.values for one in chips()):
            raise
        return TableCell("—", phrase("hardware.not_recorded"))
    if value.value is None:
        return TableCell(phrase("hardware.no_source"), numeric=isinstance(value.value, float))
    cited = of.sources(field)
    title = cited[0].format() if cited else value.derived
    return TableCell(value.value.format(), title, numeric=isinstance(value.value, float))


def _heading(field: str) -> str:
    if field.startswith(f"{PEAK}."):
        return phrase("hardware.peak", dtype=field.removeprefix(f"{PEAK}."))
    return phrase(f"field.{document()['field_aliases'].get(field, field)}")


def _quantity(value: Quantity | Text) -> Quantity:
    if isinstance(value, Quantity):
        return value
    raise TypeError(f"expected a number, got the text {value!r}; read it with hardware.get")


def _text(value: Quantity | Text) -> Text:
    if isinstance(value, Text):
        return value
    raise TypeError(f"expected a text, got {value!r}; correct the catalogue")


@cache
def _chips() -> Mapping[str, Chip]:
    return {key: Chip(key, entry) for key, entry in document()["chips"].items()}


@cache
def _names() -> Mapping[str, Chip]:
    found: dict[str, Chip] = {}
    for one in chips():
        for name in (one.id, one.name, one.jax_device_kind or one.id, *one.aliases):
            if found.setdefault(_plain(name), one) is not one:
                raise ValueError(
                    f"hardware.toml: {name!r} names both {found[_plain(name)].id} and {one.id}; drop one alias"
                )
    return found


def _plain(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum() or letter == "+")


def _near(name: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    plain: dict[str, str] = {}
    for candidate in known:
        plain.setdefault(_plain(candidate), candidate)
    return ", ".join(plain[match] for match in get_close_matches(_plain(name), plain, n=3, cutoff=0.5))
