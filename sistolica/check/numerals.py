"""Numbers typed in prose, read as Spanish and Portuguese write them.

The course writes a decimal comma and separates thousands with a point or a space: ``1,5`` is 1.5, ``8.960`` and
``8 960`` are 8960. A point that does not stand before exactly three digits is read as a decimal point, so ``1.5`` is
1.5 too. A run such as ``1.0.4`` is a version and stays as it is.

It cannot see numbers spelled in words, digits glued to letters on their left (``bf16``, ``v5e``), or a number that a
script prints.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

_SPACES = " \u00a0\u2009\u202f"
_SUPERSCRIPTS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
_NUMBER = re.compile(
    rf"""(?<![\w.,])(?P<sign>[-−])?
    (?P<digits>[1-9]\d{{0,2}}(?:[{_SPACES}]\d{{3}})+(?!\d)(?:,\d+)?|\d+(?:[.,]\d+)*)
    (?P<power>⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)?""",
    re.VERBOSE,
)
_THOUSANDS = re.compile(r"[1-9]\d{0,2}(?:([.,])\d{3})(?:\1\d{3})*")


@dataclass(frozen=True)
class Numeral:
    """A number in a text: its ``value`` in canonical form, as ``written``, and where it starts."""

    value: str
    written: str
    offset: int


def numerals(text: str) -> Iterator[Numeral]:
    """Every number in ``text``, in order."""
    for found in _NUMBER.finditer(text):
        value = _value(found["digits"])
        if found["sign"]:
            value = f"-{value}"
        if found["power"]:
            value = f"{value}^{found['power'].translate(_SUPERSCRIPTS)}"
        yield Numeral(value, found.group(), found.start())


def _value(digits: str) -> str:
    digits = re.sub(f"[{_SPACES}]", "", digits)
    marks = [mark for mark in digits if mark in ".,"]
    if len(set(marks)) == 2:  # 1.234,5: whichever comes last, once, is the decimal mark
        if marks.count(marks[-1]) > 1:
            return digits
        whole, fraction = digits.rsplit(marks[-1], 1)
        return _plain(re.sub("[.,]", "", whole) + "." + fraction)
    grouped = _THOUSANDS.fullmatch(digits)
    if grouped and (grouped[1] == "." or len(marks) > 1):
        return _plain(digits.replace(grouped[1], ""))
    if len(marks) > 1:
        return digits
    return _plain(digits.replace(",", "."))


def _plain(number: str) -> str:
    value = Decimal(number)
    return format(value.normalize(), "f")
