"""Numbers as the reader's language writes them: decimal comma in both, thousands grouped from five digits on.

Spanish groups with a narrow no-break space, Brazilian Portuguese with a point.
"""

import math
from fractions import Fraction
from typing import TypeAlias

from tpu_kernels.messages import checked, decimal, language
from tpu_kernels.phrases import phrase

Number: TypeAlias = float | Fraction

NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"
MINUS = "\N{MINUS SIGN}"
GROUP_SEPARATOR = {"es": "\N{NARROW NO-BREAK SPACE}", "pt": "."}
GROUP_FROM = 10_000  # 8960 chips stay together, 57 344 do not


def significant(value: Number, digits: int) -> tuple[int, int]:
    """``value > 0`` as ``(m, e)``, meaning ``m * 10**e`` with ``digits`` figures in ``m``; a half rounds up.

    Exact integer arithmetic on the ratio behind the number: ``format(2.765e12, ".3g")`` would round that tie to even.
    """
    if digits < 1:
        raise ValueError(phrase("quantity.digits", got=digits))
    numerator, denominator = value.as_integer_ratio()
    exponent = int(f"{float(value):.17e}".partition("e")[2])
    shift = digits - 1 - exponent
    if shift >= 0:
        numerator *= 10**shift
    else:
        denominator *= 10**-shift
    mantissa = (2 * numerator + denominator) // (2 * denominator)
    if mantissa == 10**digits:  # 999.9 became 1000
        mantissa, shift = mantissa // 10, shift - 1
    return mantissa, -shift


def positional(mantissa: int, exponent: int, lang: str | None = None, *, places: int = 0) -> str:
    """``mantissa * 10**exponent`` in the language, without trailing zeros but with at least ``places`` decimals."""
    code = checked(lang or language())
    digits = str(mantissa) + "0" * max(exponent, 0)
    decimals = max(-exponent, 0)
    digits = digits.rjust(decimals + 1, "0")
    whole, fraction = (digits[:-decimals], digits[-decimals:]) if decimals else (digits, "")
    fraction = fraction.rstrip("0").ljust(places, "0")
    if int(whole) >= GROUP_FROM:
        whole = f"{int(whole):,}".replace(",", GROUP_SEPARATOR[code])
    return whole + decimal(f".{fraction}", code) if fraction else whole  # the point of a group is no comma


def number(value: Number, lang: str | None = None, digits: int = 4) -> str:
    """A plain number: an integer whole, anything else to ``digits`` significant figures, never dropping whole units.

    ``251.34`` is ``251,3``; ``57344`` is ``57 344`` in Spanish and ``57.344`` in Portuguese; ``1e-7`` is ``0,0000001``.
    """
    checked(lang or language())
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else (MINUS if value < 0 else "") + "∞"
    if value < 0:
        return MINUS + number(-value, lang, digits)
    if value == 0:
        return "0"
    if value == int(value):
        return positional(int(value), 0, lang)
    if value >= 1:
        digits = max(digits, len(str(int(value))))
    return positional(*significant(value, digits), lang)
