"""Numbers quoted in prose, as text: from the hardware catalogue, or from what the lesson's cells computed."""

import re
from collections.abc import Mapping
from typing import Any

from sistolica.phrases import phrase
from tpu_kernels.models import hardware
from tpu_kernels.models.numerals import MINUS, positional
from tpu_kernels.models.quantity import Quantity

_FIXED_POINT = re.compile(r"(?P<sign>-?)(?P<whole>\d+)(?:\.(?P<decimals>\d+))?")

_ENDLESS = re.compile(r"\d{3}")  # of a form: so many decimals, or so wide


class QuoteError(ValueError):
    """A number that cannot be quoted: unknown name, unknown value, or a format that does not fit."""


def format_spec(path: str, lang: str) -> str:
    """The catalogue value at a dotted path such as ``v5e.peak_flops.bf16``, written for a reader of ``lang``."""
    try:
        return hardware.get(path).format(lang)
    except LookupError as error:
        raise QuoteError(f"{{spec}}`{path}`: {error}") from None


def spec_source(path: str, lang: str) -> str:
    """Where the value at a dotted path comes from: title and date of its source, or the formula that gives it."""
    name, _, field = path.partition(".")
    found = hardware.chip(name)
    cited = found.sources(field)
    return cited[0].format(lang) if cited else phrase("spec.derived", lang=lang, formula=found.value(field).derived)


def format_calc(text: str, values: Mapping[str, Mapping[str, Any]], lang: str) -> str:
    """The value of a lesson's variable: ``name``, or ``name:.1f`` with a format of Python's for a bare number."""
    name, _, form = text.partition(":")
    try:
        found = values[name]
    except KeyError:
        raise QuoteError(f"{{calc}}`{text}`: no cell of this page defines {name!r}") from None
    value, unit = found["value"], found["unit"]
    if form and unit:
        raise QuoteError(f"{{calc}}`{text}`: {name} has the unit {unit} and is written with it; drop the format")
    if form:
        return _in_form(text, value, form, lang)
    try:
        return Quantity(value, unit or "count").format(lang)
    except (OverflowError, ValueError) as error:
        raise QuoteError(f"{{calc}}`{text}`: {error}") from None


def _in_form(text: str, value: float, form: str, lang: str) -> str:
    """With the decimals that the form asks for, but grouped, signed and pointed as the language does."""
    try:
        written = None if _ENDLESS.search(form) else _FIXED_POINT.fullmatch(format(value, form))
    except (OverflowError, ValueError):
        written = None
    if written is None:
        raise QuoteError(f"{{calc}}`{text}`: {form!r} does not write a number with decimals; use one such as .1f")
    decimals = written["decimals"] or ""
    digits = positional(int(written["whole"] + decimals), -len(decimals), lang, places=len(decimals))
    nonzero = digits.strip("0,")
    return f"{MINUS}{digits}" if written["sign"] and nonzero else digits
