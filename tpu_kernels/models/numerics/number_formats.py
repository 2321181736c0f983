"""The number formats by name, as ``data/number_formats.toml`` defines them, each with its sources."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from tpu_kernels.models.catalogue import Source
from tpu_kernels.models.numerics.float_format import FloatFormat
from tpu_kernels.models.numerics.integer_format import IntegerFormat
from tpu_kernels.models.numerics.scientific_notation import power_of, scientific
from tpu_kernels.models.table import Table, TableCell
from tpu_kernels.phrases import phrase


@cache
def document() -> Mapping[str, Any]:
    """The whole of ``number_formats.toml``, parsed on first use."""
    import tomllib
    from importlib.resources import files

    return tomllib.loads(files("tpu_kernels.data").joinpath("number_formats.toml").read_text(encoding="utf-8"))


@cache
def float_formats() -> tuple[FloatFormat, ...]:
    """Every floating-point format, widest first."""
    return tuple(FloatFormat(name, entry) for name, entry in document()["floats"].items())


@cache
def integer_formats() -> tuple[IntegerFormat, ...]:
    """Every integer format, widest first."""
    return tuple(IntegerFormat(name, entry) for name, entry in document()["integers"].items())


def float_format(dtype: str | FloatFormat) -> FloatFormat:
    """The floating-point format of a name (``"bf16"``, ``"float32"``, ``"e4m3fn"``); ``ValueError`` if unknown."""
    if isinstance(dtype, FloatFormat):
        return dtype
    found = _named().get(dtype.casefold()) if isinstance(dtype, str) else None
    return found if isinstance(found, FloatFormat) else _unknown(dtype, float_formats())


def integer_format(dtype: str | IntegerFormat) -> IntegerFormat:
    """The integer format of a name (``"int8"``, ``"int4"``); ``ValueError`` if unknown."""
    if isinstance(dtype, IntegerFormat):
        return dtype
    found = _named().get(dtype.casefold()) if isinstance(dtype, str) else None
    return found if isinstance(found, IntegerFormat) else _unknown(dtype, integer_formats())


def number_format(dtype: str | FloatFormat | IntegerFormat) -> FloatFormat | IntegerFormat:
    """The format of a name, floating-point or integer; ``ValueError`` if unknown."""
    if isinstance(dtype, FloatFormat | IntegerFormat):
        return dtype
    found = _named().get(dtype.casefold()) if isinstance(dtype, str) else None
    return found or _unknown(dtype, (*float_formats(), *integer_formats()))


def format_sources(dtype: str | FloatFormat | IntegerFormat) -> tuple[Source, ...]:
    """Where the definition of a format was read, first the main source."""
    return cited(number_format(dtype).source_keys)


def cited(keys: Iterable[str]) -> tuple[Source, ...]:
    """The sources of the data file with these keys."""
    return tuple(Source(key=key, **document()["sources"][key]) for key in keys)


def format_table(dtypes: Sequence[str | FloatFormat] | None = None) -> Table:
    """Floating-point formats (default: all) side by side: fields, range and precision, in the language in force."""
    headings = [
        phrase("number_format.name"),
        phrase("number_format.bits"),
        phrase("number_format.exponent_bits"),
        phrase("number_format.fraction_bits"),
        phrase("number_format.largest"),
        phrase("number_format.smallest_normal"),
        phrase("number_format.smallest"),
        phrase("number_format.epsilon"),
    ]
    chosen = float_formats() if dtypes is None else [float_format(dtype) for dtype in dtypes]
    rows = []
    for one in chosen:
        widths = (one.bits, one.exponent_bits, one.fraction_bits)
        powers = (one.min_exponent, one.min_exponent - one.fraction_bits, -one.fraction_bits)
        cells = [TableCell(one.name, "; ".join(source.format() for source in format_sources(one)))]
        cells += [TableCell(str(width), numeric=True) for width in widths]
        cells += [TableCell(scientific(one.max), numeric=True)]
        cells += [TableCell(power_of(2, power), scientific(2.0**power), numeric=True) for power in powers]
        rows.append(cells)
    return Table(phrase("number_format.caption"), headings, rows)


@cache
def _named() -> Mapping[str, FloatFormat | IntegerFormat]:
    found: dict[str, FloatFormat | IntegerFormat] = {}
    formats: tuple[FloatFormat | IntegerFormat, ...] = (*float_formats(), *integer_formats())
    for one in formats:
        for name in (one.name, *one.aliases):
            if found.setdefault(name, one) is not one:
                raise ValueError(
                    f"number_formats.toml: {name!r} names both {found[name].name} and {one.name}; drop one"
                )
    return found


def _unknown(dtype: object, known: Iterable[FloatFormat | IntegerFormat]) -> Any:
    names = ", ".join(one.name for one in known)
    raise ValueError(phrase("number_format.unknown", got=repr(dtype)[:60], known=names))
