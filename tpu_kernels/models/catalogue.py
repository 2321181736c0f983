"""What ``data/hardware.toml`` holds, as typed records: values with unit, source and date; prices; unknowns."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from tpu_kernels.messages import checked, language
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.phrases import phrase

TEXT = "text"


class UnknownValueError(KeyError, AttributeError):
    """A value for which no source was found. It is never guessed.

    A ``KeyError`` and an ``AttributeError``, so that ``.get(…)`` and ``getattr(…, default)`` work.
    """

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError would print its repr


class Text(str):
    """A value that is words, as ``2D torus``; ``format`` writes it in the reader's language, as a quantity's does."""

    __slots__ = ()

    def format(self, lang: str | None = None, digits: int = 3) -> str:  # type: ignore[override]
        """The words in ``lang`` (default: the language in force); ``digits`` is for quantities only."""
        code = checked(lang or language())
        if re.fullmatch(r"\d+(x\d+)*", self):  # the shape of a pod
            return self.replace("x", "×")
        return phrase(f"text.{self}", lang=code)

    def _repr_html_(self) -> str:
        return f"<span>{self.format()}</span>"


class Source(NamedTuple):
    """Where a value comes from; ``published``, ``derived`` and ``value_note`` belong to the value asked about."""

    key: str
    title: str
    address: str
    kind: str
    date: str | None = None  # as far as it is known: "2026", "2025-08" or "2026-04-22"
    note: str | None = None
    published: str | None = None  # the text of the number, as the source prints it
    derived: str | None = None  # the formula, when the value is arithmetic on sourced numbers
    value_note: str | None = None

    @property
    def link(self) -> str:
        """The address for a browser: ``github:owner/name@commit path`` becomes the page of that file."""
        pinned = re.fullmatch(r"github:(\S+?)@(\w+) ([^,]+)(,.*)?", self.address)
        return f"https://github.com/{pinned[1]}/blob/{pinned[2]}/{pinned[3]}" if pinned else self.address

    def format(self, lang: str | None = None) -> str:
        """One line for a reader: title and date, and the formula of a derived value."""
        code = checked(lang or language())
        date = self.date or phrase("source.undated", lang=code)
        line = phrase("source.line", lang=code, title=self.title, date=date)
        return line if self.derived is None else phrase("source.derived", lang=code, line=line, formula=self.derived)


class Alternative(NamedTuple):
    """Another source that disagrees (or confirms); the value beside it is the one to use."""

    value: Quantity | Text
    source: str
    published: str
    note: str | None = None


class Value(NamedTuple):
    """One value of one chip. ``value`` is ``None`` when no source was found; then ``note`` says what was."""

    chip: str
    field: str
    value: Quantity | Text | None
    unit: str
    published: str | None = None
    sources: tuple[str, ...] = ()
    derived: str | None = None
    confidence: str | None = None
    note: str | None = None
    alternatives: tuple[Alternative, ...] = ()

    def known(self) -> Quantity | Text:
        """The value, or :class:`UnknownValueError`."""
        if self.value is None:
            note = self.note or phrase("hardware.no_note")
            raise UnknownValueError(phrase("hardware.unknown_value", chip=self.chip, field=self.field, note=note))
        return self.value


class Price(NamedTuple):
    """A list price per chip and hour in a region; ``amount`` is ``None`` when none is public."""

    amount: Quantity | None
    region: str | None = None
    terms: str | None = None
    slice: str | None = None
    slice_price: Quantity | None = None
    slice_chips: Quantity | None = None
    source: str | None = None
    derived: str | None = None
    note: str | None = None


@cache
def document() -> Mapping[str, Any]:
    """The whole of ``hardware.toml``, parsed on first use."""
    import tomllib
    from importlib.resources import files

    return tomllib.loads(files("tpu_kernels.data").joinpath("hardware.toml").read_text(encoding="utf-8"))


@cache
def sources() -> Mapping[str, Source]:
    """Every source by key."""
    return {key: Source(key=key, **entry) for key, entry in document()["sources"].items()}


def typed(value: float | str, unit: str) -> Quantity | Text:
    """A raw value of the file with its unit."""
    return Text(value) if isinstance(value, str) else Quantity(value, unit)


def read_values(chip: str, tables: Mapping[str, Any], prefix: str = "") -> dict[str, Value]:
    """The values of a chip by field; nested tables get dotted fields, as ``peak_flops.bf16``."""
    found: dict[str, Value] = {}
    for name, entry in tables.items():
        field = prefix + name
        if "unit" not in entry:
            found |= read_values(chip, entry, f"{field}.")
            continue
        rest = {key: entry[key] for key in ("unit", "published", "derived", "confidence", "note") if key in entry}
        cited = entry.get("source", [])
        found[field] = Value(
            chip=chip,
            field=field,
            value=None if entry.get("unknown") else typed(entry["value"], entry["unit"]),
            sources=(cited,) if isinstance(cited, str) else tuple(cited),
            alternatives=tuple(
                Alternative(**(other | {"value": typed(other["value"], entry["unit"])}))
                for other in entry.get("alternatives", [])
            ),
            **rest,
        )
    return found


def read_price(entry: Mapping[str, Any]) -> Price:
    """One ``[[chips.….prices]]`` table."""
    rest = {key: entry[key] for key in ("region", "terms", "slice", "source", "derived", "note") if key in entry}
    if entry.get("unknown"):
        return Price(amount=None, **rest)
    return Price(
        amount=Quantity(entry["value"], entry["unit"]),
        slice_price=Quantity(entry["slice_price_usd_per_hour"], "USD/hour"),
        slice_chips=Quantity(entry["slice_chips"], "count"),
        **rest,
    )
