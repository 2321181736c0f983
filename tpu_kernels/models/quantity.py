"""A number with its unit: it computes as a float and prints as the reader's language writes it."""

import math
from typing import NamedTuple, Never

from tpu_kernels.messages import checked, language
from tpu_kernels.models.numerals import MINUS, NO_BREAK_SPACE, number, positional, significant
from tpu_kernels.phrases import phrase

BYTES = "bytes"
SI_PREFIXES = ("", "k", "M", "G", "T", "P", "E")
SMALL_PREFIXES = {-1: "m", -2: "µ", -3: "n", -4: "p"}
BINARY_PREFIXES = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
MEBIBYTE = 2**20


class Unit(NamedTuple):
    """How a unit is written: its ``symbol``, and which prefixes it takes (``small``: also m, µ, n and p)."""

    symbol: str
    prefixed: bool = True
    small: bool = False


UNITS = {
    "FLOP/s": Unit("FLOP/s"),
    "OP/s": Unit("OP/s"),
    "MAC/s": Unit("MAC/s"),
    "FLOP": Unit("FLOP"),
    "OP": Unit("OP"),
    "MAC": Unit("MAC"),
    BYTES: Unit("B"),
    "bytes/s": Unit("B/s"),
    "Hz": Unit("Hz"),
    "W": Unit("W"),
    "s": Unit("s", small=True),
    "bit/s": Unit("bit/s"),
    "pps": Unit("pps"),
    "req/s": Unit("req/s", prefixed=False),
    "tokens": Unit("tokens", prefixed=False),
    "tokens/s": Unit("tokens/s", prefixed=False),
    "FLOP/byte": Unit("FLOP/B", prefixed=False),
    "OP/byte": Unit("OP/B", prefixed=False),
    # The words in these depend on the language: messages.toml, [unit].
    "FLOP/cycle": Unit("flop_per_cycle", prefixed=False),
    "OP/cycle": Unit("op_per_cycle", prefixed=False),
    "bytes/cycle": Unit("bytes_per_cycle", prefixed=False),
    "cycles": Unit("cycles", prefixed=False),
    "hours": Unit("hours", prefixed=False),
    "days": Unit("days", prefixed=False),
    "USD/chip/hour": Unit("usd_per_chip_hour", prefixed=False),
    "USD/hour": Unit("usd_per_hour", prefixed=False),
    "count": Unit("", prefixed=False),
    "share": Unit("%", prefixed=False),
}
WORDED = {"FLOP/cycle", "OP/cycle", "bytes/cycle", "cycles", "hours", "days", "USD/chip/hour", "USD/hour"}
MONEY = {"USD/chip/hour", "USD/hour"}


class Quantity(float):
    """An immutable number with a ``unit`` (one of :data:`UNITS`).

    It is a float: arithmetic gives plain floats, and equality, order and hash are the number's. A whole ``count`` also
    serves where Python wants an integer (``range(chip.mxu_rows)``). ``share`` is a part of one, written in percent.

    Raises ``ValueError`` for an unknown unit.
    """

    __slots__ = ("unit",)

    unit: str

    def __new__(cls, value: float, unit: str) -> "Quantity":
        if unit not in UNITS:
            raise ValueError(phrase("quantity.unknown_unit", got=repr(unit), known=", ".join(UNITS)))
        self = super().__new__(cls, value)
        object.__setattr__(self, "unit", unit)
        return self

    def __setattr__(self, name: str, value: object) -> Never:
        raise AttributeError(phrase("quantity.immutable", name=name))

    def __delattr__(self, name: str) -> Never:
        raise AttributeError(phrase("quantity.immutable", name=name))

    def __reduce__(self) -> tuple[type["Quantity"], tuple[float, str]]:
        return (Quantity, (float(self), self.unit))

    def __index__(self) -> int:
        if self.unit != "count" or not self.is_integer():
            raise TypeError(phrase("quantity.not_a_count", got=repr(self)))
        return int(self)

    def __repr__(self) -> str:
        return f"Quantity({float(self)!r}, {self.unit!r})"

    def __str__(self) -> str:
        return self.format()

    def _repr_html_(self) -> str:
        return f"<span>{self.format()}</span>"

    def format(self, lang: str | None = None, digits: int = 3) -> str:
        """The number and its unit, as ``819 GB/s``, ``16 GiB`` or ``1,5 GHz``.

        ``digits`` significant figures without trailing zeros; a decimal prefix that leaves a mantissa from 1 to under
        1000, and a binary one for bytes that are whole mebibytes. Counts are written whole, money with two decimals.
        """
        code = checked(lang or language())
        if not math.isfinite(self):
            return number(float(self), code)
        sign = MINUS if self < 0 else ""
        return sign + _magnitude(abs(float(self)), self.unit, code, digits)


def _magnitude(value: float, unit: str, lang: str, digits: int) -> str:
    if unit == "count":
        return number(value, lang, digits)
    if unit == "share":
        return number(100 * value, lang, digits) + phrase("unit.percent", lang=lang)
    if unit in MONEY:
        text = positional(math.floor(value * 100 + 0.5), -2, lang, places=2)
    elif not UNITS[unit].prefixed:
        text = number(value, lang, digits)
    else:
        text, prefix = _prefixed(value, UNITS[unit].small, unit == BYTES, lang, digits)
        return f"{text}{NO_BREAK_SPACE}{prefix}{UNITS[unit].symbol}"
    symbol = UNITS[unit].symbol
    return f"{text}{NO_BREAK_SPACE}{phrase(f'unit.{symbol}', lang=lang) if unit in WORDED else symbol}"


def _prefixed(value: float, small: bool, is_bytes: bool, lang: str, digits: int) -> tuple[str, str]:
    if value == 0:
        return "0", ""
    if is_bytes and value >= MEBIBYTE and value % MEBIBYTE == 0:
        step = min((int(value).bit_length() - 1) // 10, len(BINARY_PREFIXES) - 1)
        return number(value / 1024**step, lang, digits), BINARY_PREFIXES[step]
    mantissa, exponent = significant(value, digits)
    order = (len(str(mantissa)) - 1 + exponent) // 3  # of the rounded number: 999.96 GB/s is 1 TB/s
    order = max(min(order, len(SI_PREFIXES) - 1), min(SMALL_PREFIXES) if small else 0)
    prefix = SI_PREFIXES[order] if order >= 0 else SMALL_PREFIXES[order]
    return positional(mantissa, exponent - 3 * order, lang), prefix
