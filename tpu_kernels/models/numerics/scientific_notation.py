"""Numbers too large or too small to write out, as the reader's language writes them: ``3,403 × 10³⁸``."""

import math

from tpu_kernels.models.numerals import MINUS, NO_BREAK_SPACE, Number, number, positional, significant

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
PLAIN_FROM, PLAIN_TO = 1e-3, 1e7


def scientific(value: Number, lang: str | None = None, digits: int = 4) -> str:
    """``value`` to ``digits`` significant figures: plain from a thousandth to ten million, else with a power of ten."""
    size = -value if value < 0 else value
    if not math.isfinite(size) or size == 0 or PLAIN_FROM <= size < PLAIN_TO:
        return number(value, lang, digits)
    mantissa, exponent = significant(size, digits)
    shift = len(str(mantissa)) - 1
    figures = positional(mantissa, -shift, lang)
    sign = MINUS if value < 0 else ""
    return f"{sign}{figures}{NO_BREAK_SPACE}×{NO_BREAK_SPACE}{power_of(10, exponent + shift)}"


def power_of(base: int, exponent: int) -> str:
    """``10³⁸`` or ``2⁻¹⁴⁹``, in the same characters for every language."""
    return f"{base}{str(exponent).translate(SUPERSCRIPTS)}"
